"""Knows how to talk to whoever started this program, over its own stdin and stdout."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING

from accord.transport.guard import StdioGuard, private_copy
from accord.transport.streams import StreamTransport
from accord.wire import DEFAULT_MAX_BYTES

if TYPE_CHECKING:
    from accord.wire import Framing

__all__ = ["StdioTransport", "open_stdio"]


def open_stdio(framing: Framing = "auto", max_bytes: int = DEFAULT_MAX_BYTES, *, guard: bool = True) -> StdioTransport:
    """The program's own stdin and stdout as a transport; to be called in a running loop.

    The framing is the peer's, recognised by its first bytes, unless it is given.

    With the guard, nothing else of this program or its subprocesses can write to stdout (it goes to stderr)
    or read from stdin (it is empty) until `close`.

    Raises:
        ConnectFailed: stdin or stdout is closed, or already taken by another transport.
    """
    return StdioTransport(framing, max_bytes, guard=guard)


class StdioTransport(StreamTransport):
    """A `Transport` over pipes, sockets, files or a terminal, whatever the program was started with.

    `close` leaves stdin, stdout and their blocking mode as they were found.
    """

    def __init__(
        self,
        framing: Framing = "auto",
        max_bytes: int = DEFAULT_MAX_BYTES,
        *,
        guard: bool = True,
        force_threads: bool = False,
    ) -> None:
        self._guard = StdioGuard() if guard else None
        if self._guard is not None:
            read_from, write_to = self._guard.read_from, self._guard.write_to
        else:
            read_from, write_to = _private_copies()
        super().__init__(read_from, write_to, framing=framing, max_bytes=max_bytes, force_threads=force_threads)
        # The blocking mode belongs to whoever shares the pipe with us: also a program that never closes gives
        # it back.
        atexit.register(self._release)

    def _release(self) -> None:
        atexit.unregister(self._release)
        super()._release()
        if self._guard is not None:
            self._guard.restore()


def _private_copies() -> tuple[int, int]:
    read_from = private_copy(0)
    try:
        return read_from, private_copy(1)
    except BaseException:
        os.close(read_from)
        raise
