"""Tool calls and their content: blocks, file changes, terminals, locations in files."""

from typing import Any, Literal, TypeAlias

from accord.protocol.model import Unknown
from accord.session.content import Block, Part
from accord.session.custom import Custom

__all__ = [
    "Diff",
    "FileChange",
    "FileOperation",
    "Location",
    "Shown",
    "TerminalView",
    "ToolContent",
    "ToolKind",
    "ToolStatus",
]

ToolKind: TypeAlias = (
    Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"] | Custom
)
"""The kind of a tool's work."""
FileOperation: TypeAlias = Literal["add", "delete", "modify", "move", "copy"] | Custom
"""The operation of a change on its file."""
ToolStatus: TypeAlias = Literal["pending", "in_progress", "paused", "completed", "failed", "cancelled"] | Custom
"""The status of a tool call; an edition without `paused` or `cancelled` sends the closest status it has."""

FINISHED: frozenset[str] = frozenset({"completed", "failed", "cancelled"})


class Location(Part):
    """A place in a file that the agent works on; lines count from 1."""

    path: str
    line: int | None = None
    meta: dict[str, Any] | None = None


class FileChange(Part):
    """One file before and after. `old` is None for a new file, `new` for one that is gone or was not given.

    An `operation` that a peer sent may be an edition's further word; `payload` is then the whole.
    """

    path: str
    old: str | None = None
    new: str | None = None
    operation: FileOperation = "modify"
    old_path: str | None = None
    file_type: str | None = None
    mime_type: str | None = None
    meta: dict[str, Any] | None = None
    payload: dict[str, Any] | None = None


class Shown(Part, tag_field="type", tag="content"):
    """A block among the results of a tool."""

    block: Block
    meta: dict[str, Any] | None = None


class Diff(Part, tag_field="type", tag="diff"):
    """Changes of files that a tool made or would make; `patch` is in Git's format where the agent gave one."""

    changes: list[FileChange]
    patch: str | None = None
    patch_format: str = "git_patch"
    meta: dict[str, Any] | None = None


class TerminalView(Part, tag_field="type", tag="terminal"):
    """A terminal among the results of a tool."""

    terminal_id: str
    meta: dict[str, Any] | None = None


ToolContent: TypeAlias = Shown | Diff | TerminalView | Unknown
"""An item that a tool call shows."""
