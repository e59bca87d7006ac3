"""Files bounded to roots, and commands that leave no process behind; agents and clients use it alike.

It knows nothing of the protocol: no session, no terminal's id, no message. What it raises is a `WorkspaceError`,
whose `code` is the one for the other side. Each half is imported when it is first used: what reads a file
pays nothing for processes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from accord.workspace.errors import (
    AccessDenied,
    FileFailed,
    FileTooLarge,
    InvalidPath,
    NoSuchFile,
    NotADirectory,
    NotAFile,
    NotText,
    PathChanged,
    PathOutsideRoots,
    StartFailed,
    WorkspaceError,
)

if TYPE_CHECKING:
    from accord.workspace.commands import CommandResult, RunningCommand, run_command, start_command
    from accord.workspace.disk import Disk
    from accord.workspace.files import Workspace
    from accord.workspace.launch import TerminalSize
    from accord.workspace.output import CommandOutput, Exit

__all__ = [
    "AccessDenied",
    "CommandOutput",
    "CommandResult",
    "Disk",
    "Exit",
    "FileFailed",
    "FileTooLarge",
    "InvalidPath",
    "NoSuchFile",
    "NotADirectory",
    "NotAFile",
    "NotText",
    "PathChanged",
    "PathOutsideRoots",
    "RunningCommand",
    "StartFailed",
    "TerminalSize",
    "Workspace",
    "WorkspaceError",
    "run_command",
    "start_command",
]

_HOMES = {
    "RunningCommand": "commands",
    "Disk": "disk",
    "Exit": "output",
    "CommandResult": "commands",
    "CommandOutput": "output",
    "TerminalSize": "launch",
    "Workspace": "files",
    "run_command": "commands",
    "start_command": "commands",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
