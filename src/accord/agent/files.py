"""The text files of a session, with one interface: the client's where it offers them, else those on the local disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from accord.agent.client import ClientCaller
from accord.agent.request_errors import client_reason
from accord.agent.session_paths import SessionPaths
from accord.errors import PermissionDenied, ResourceNotFound
from accord.session.agent_requests import FileRead, ReadFile, WriteFile
from accord.workspace import AccessDenied, NoSuchFile, Workspace

__all__ = ["Files"]


class Files:
    """Text files inside the directories of a session. Made by the session.

    Reading and writing go to the client, each where it offers that: a client has buffers that are not saved yet, and
    tracks changes. Otherwise they use this machine's disk.

    The exceptions are the same on both ways: `NoSuchFile` and `AccessDenied` also stand for the client's -32002 and
    -32003 (its own error is then the cause). Any other refusal of a client is a `RequestError`. Both kinds have a
    `code`.
    """

    def __init__(
        self, session_id: str, roots: Sequence[str], caller: ClientCaller, workspace: Callable[[], Workspace]
    ) -> None:
        self._session_id = session_id
        self._caller = caller
        self._paths = SessionPaths(roots, workspace)
        self._writing = asyncio.Lock()

    async def read(self, path: str | os.PathLike[str], line: int | None = None, limit: int | None = None) -> str:
        """The text from line `line` (from 1; 0 is the start too) on, `limit` lines of it.

        A relative path starts at the session's directory. Beyond the end there is nothing: an empty text, no error,
        unless a client sees that otherwise.

        Raises:
            PathOutsideRoots: It leads out of the roots; the client was not asked.
            NoSuchFile: The file does not exist.
            WorkspaceError: Any other fault of a file on this machine, such as a directory or a binary file; see
                `accord.workspace.errors`.
            RequestError: The client answered with another error.
            ConnectionLost: The client is gone.
            ValueError: A negative `line` or `limit`.
        """
        if (line or 0) < 0 or (limit or 0) < 0:
            raise ValueError("line and limit cannot be negative")
        place = self._paths.file(path)
        if not self._caller.capabilities.read_files:
            return await self._paths.workspace.read_text(place, line, limit)
        await self._paths.check(place)
        with _translated(place):
            answer: FileRead = await self._caller.call(ReadFile(self._session_id, place, line or None, limit))
        return answer.content

    async def write(self, path: str | os.PathLike[str], text: str) -> None:
        """Replace the file's text, or create the file.

        A relative path starts at the session's directory. Writes happen one after the other, in the order in which
        they were asked for. One that is cancelled may still happen. Half a character is written as U+FFFD.

        Raises:
            PathOutsideRoots: It leads out of the roots; the client was not asked.
            WorkspaceError: Any other fault of a file on this machine; see `accord.workspace.errors`.
            RequestError: The client answered with another error.
            ConnectionLost: The client is gone.
        """
        place = self._paths.file(path)
        if not self._caller.capabilities.write_files:
            await self._paths.workspace.write_text(place, text)
            return
        # Held until the client has answered: it may handle two requests in any order.
        async with self._writing:
            await self._paths.check(place)
            with _translated(place):
                await self._caller.call(WriteFile(self._session_id, place, text))


@contextmanager
def _translated(place: str) -> Iterator[None]:
    try:
        yield
    except ResourceNotFound as error:
        raise NoSuchFile("there is no such file", path=place) from error
    except PermissionDenied as error:
        raise AccessDenied(f"the client does not allow it: {client_reason(error)}", path=place) from error
