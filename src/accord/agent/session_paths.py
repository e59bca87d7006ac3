"""The directories and MCP servers of a session: validation of a client's params, and the paths inside the roots.

A path means the same on this machine and on the client's: relative paths start at the session's directory, and dots
are removed from the text alone. Nothing here reads or writes a file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from accord.errors import InvalidParams
from accord.jsonrpc.plain import plain_text
from accord.protocol.model import Unknown
from accord.session.client_requests import McpServer
from accord.workspace import (
    AccessDenied,
    Disk,
    FileFailed,
    InvalidPath,
    NoSuchFile,
    NotAFile,
    PathOutsideRoots,
    Workspace,
    WorkspaceError,
)
from accord.workspace.roots import parse_path

__all__ = ["SessionPaths", "check_path", "check_session_params", "name_of_uri", "same_directory"]


class SessionParams(Protocol):
    """The directories and servers of every request that opens a session."""

    @property
    def cwd(self) -> str: ...
    @property
    def roots(self) -> list[str]: ...
    @property
    def servers(self) -> list[McpServer | Unknown]: ...


def check_session_params(request: SessionParams, transports: frozenset[str]) -> tuple[list[str], list[McpServer]]:
    """The roots and the servers of a session. `transports` are those of MCP servers that it may be given.

    Raises:
        InvalidParams: A root is relative, or a server is one that this agent cannot reach.
    """
    check_path(request.cwd, "cwd")
    for place, root in enumerate(request.roots):
        check_path(root, f"additionalDirectories.{place}")
    servers: list[McpServer] = []
    for place, server in enumerate(request.servers):
        if isinstance(server, Unknown) or server.type not in transports:
            # A kind that we know and that was decoded as unknown does not exist in this edition.
            known = transports - {server.tag} if isinstance(server, Unknown) else transports
            expected = f"one of {', '.join(sorted(known))}" if known else "no MCP servers: this agent uses none"
            raise InvalidParams(
                "This agent cannot reach such an MCP server",
                {"field": f"mcpServers.{place}.type", "expected": expected},
            )
        servers.append(server)
    return [request.cwd, *request.roots], servers


def check_path(path: str, field: str) -> None:
    """Refuse a path that is not absolute, by the name of its field."""
    if not Path(path).is_absolute() or "\0" in path:
        raise InvalidParams("The path must be absolute", {"field": field, "expected": "an absolute path"})


def same_directory(one: str, other: str) -> bool:
    """Whether two paths are the same but for dots and slashes."""
    return os.path.normpath(one) == os.path.normpath(other)


_DIRECTORY_ENDINGS = tuple({"/", "/.", os.sep, f"{os.sep}."})


class SessionPaths:
    """The roots of a session; the first is its directory.

    `workspace` makes, or returns, the same roots on this machine; it is called when it is needed, and raises
    `NotADirectory` where they are not here.
    """

    def __init__(self, roots: Sequence[str], workspace: Callable[[], Workspace]) -> None:
        self._roots = [_normal(root) for root in roots]
        self._workspace = workspace
        self._disk: Disk | None = None

    def set_roots(self, roots: Sequence[str]) -> None:
        """Bound all later paths to other roots."""
        self._roots = [_normal(root) for root in roots]
        self._disk = None

    @property
    def cwd(self) -> str:
        return self._roots[0]

    @property
    def workspace(self) -> Workspace:
        """The roots on this machine.

        Raises:
            NotADirectory: They are not here.
        """
        return self._workspace()

    def directory(self, path: str | os.PathLike[str] | None) -> str:
        """The absolute path of a directory; None is the session's own.

        Raises:
            InvalidPath: No system could have it.
        """
        if path is None:
            return self.cwd
        text = plain_text(os.fspath(path))
        if not text:
            raise InvalidPath("a path cannot be empty", path=text)
        return _normal(os.path.join(self.cwd, text))  # noqa: PTH118 - a Path would hide how it ends

    def file(self, path: str | os.PathLike[str]) -> str:
        """The absolute path of a file.

        Raises:
            InvalidPath: No system could have it.
            NotAFile: It is written as that of a directory.
        """
        place = self.directory(path)
        text = plain_text(os.fspath(path))
        if text.endswith(_DIRECTORY_ENDINGS):
            raise NotAFile("this is a directory's path", path=text, kind="directory")
        return place

    async def check(self, place: str) -> None:
        """Refuse a path that leads out of the roots, by its text or through a link on this machine.

        A path that does not exist here, or that may not be read, is left to the client to judge.

        Raises:
            PathOutsideRoots: It leads out.
            InvalidPath: Its links form a loop.
        """
        try:
            disk = self._local_disk()
        except WorkspaceError:
            if not any(Path(place).is_relative_to(root) for root in self._roots):
                raise PathOutsideRoots("the path is outside the roots", path=place) from None
            return
        try:
            await asyncio.to_thread(disk.resolve, place)
        except (NoSuchFile, AccessDenied, FileFailed):
            return

    def _local_disk(self) -> Disk:
        if self._disk is None:
            self._disk = Disk(self._workspace().roots)
        return self._disk


def name_of_uri(uri: str, cwd: str) -> str:
    """The name of a link for a model: a file by its path, relative inside `cwd`; anything else by its URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # brackets that hold no address
        return uri
    path = unquote(parts.path)
    if parts.scheme != "file" or not path:
        return uri
    inside = os.path.relpath(path, cwd)
    return path if inside.startswith("..") else inside


def _normal(text: str) -> str:
    # POSIX lets two slashes at the beginning mean something else; nowhere else can there be two after this.
    return os.path.normpath(parse_path(text)).replace("//", "/", 1)
