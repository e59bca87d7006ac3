"""The transport over this program's own stdin and stdout, and the guard that keeps other reads and writes off them.

While the guard is active, the protocol has private copies of both descriptors. Descriptor 1 leads to stderr, so a
`print`, a C library or a subprocess that writes there breaks nothing; descriptor 0 leads to the null device, so
`input()` or a subprocess takes nothing from the protocol.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

from accord.errors import ConnectFailed
from accord.transport.streams import StreamTransport
from accord.wire import DEFAULT_MAX_BYTES

if TYPE_CHECKING:
    from accord.transport.interface import Transport
    from accord.wire import Framing

__all__ = ["StdioGuard", "StdioTransport", "open_stdio"]

_STDIN, _STDOUT, _STDERR = 0, 1, 2


class StdioGuard:
    """Takes stdin and stdout away from the rest of the program until `restore`.

    `read_from` and `write_to` are the private copies; their user closes them.

    Raises:
        ConnectFailed: stdin or stdout is closed, or another guard is active.
    """

    _standing = False

    def __init__(self) -> None:
        if StdioGuard._standing:
            raise ConnectFailed("stdin and stdout are already used for another connection")
        self._plugged = _plug(_STDERR)
        self.read_from = private_copy(_STDIN)
        try:
            self.write_to = private_copy(_STDOUT)
        except ConnectFailed:
            os.close(self.read_from)
            raise
        # Copies that the transport does not close: restoring must not depend on the order in which things end.
        self._stdin, self._stdout = private_copy(_STDIN), private_copy(_STDOUT)
        StdioGuard._standing = True
        # First the descriptor, then the flush: what was printed before goes to stderr too, not into the
        # protocol.
        if was_open(_STDERR):
            os.dup2(_STDERR, _STDOUT)
        else:
            _replace_by_nothing(_STDOUT, os.O_WRONLY)
        _flush_stdout()
        self._by_line = _print_by_line(wanted=True)
        _replace_by_nothing(_STDIN, os.O_RDONLY)

    def restore(self) -> None:
        """Give both back; what was printed meanwhile still goes to stderr."""
        if self._stdin < 0:
            return
        _flush_stdout()
        _print_by_line(wanted=self._by_line)
        os.dup2(self._stdin, _STDIN)
        os.dup2(self._stdout, _STDOUT)
        os.close(self._stdin)
        os.close(self._stdout)
        self._stdin = self._stdout = -1
        if self._plugged:
            os.close(_STDERR)
        StdioGuard._standing = False


def private_copy(descriptor: int) -> int:
    """A copy that no subprocess inherits and that is none of the three standard ones.

    Raises:
        ConnectFailed: It is closed.
    """
    name = "stdin" if descriptor == _STDIN else "stdout"
    if not was_open(descriptor):
        raise ConnectFailed(f"{name} is closed")
    try:
        return _copy(descriptor)
    except OSError as error:
        raise ConnectFailed(f"{name} is closed") from error


def was_open(descriptor: int) -> bool:
    """Whether a standard descriptor is what its name says.

    One that was closed when the program started may be anything by now: the loop's own, for example.
    """
    return (sys.__stdin__, sys.__stdout__, sys.__stderr__)[descriptor] is not None


def _copy(descriptor: int) -> int:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - only there

        copy = os.dup(descriptor)
        msvcrt.setmode(copy, os.O_BINARY)
        return copy
    import fcntl  # noqa: PLC0415 - only there

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)


def _plug(descriptor: int) -> bool:
    """Open the null device on a closed descriptor: the next file that is opened would get its number."""
    try:
        os.fstat(descriptor)
    except OSError:
        _replace_by_nothing(descriptor, os.O_WRONLY)
        return True
    return False


def _replace_by_nothing(descriptor: int, flags: int) -> None:
    nothing = os.open(os.devnull, flags)
    os.dup2(nothing, descriptor)
    if nothing != descriptor:
        os.close(nothing)


def _flush_stdout() -> None:
    # Closed, replaced or broken: nothing of it can reach the protocol then.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _print_by_line(*, wanted: bool) -> bool:
    """Switch whether a printed line shows at once, as everything on stderr does; returns how it was."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return wanted
    before = sys.stdout.line_buffering
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.reconfigure(line_buffering=wanted)
    return before


def open_stdio(framing: Framing = "auto", max_bytes: int = DEFAULT_MAX_BYTES, *, guard: bool = True) -> Transport:
    """The program's own stdin and stdout as a transport; to be called in a running loop.

    The framing is the peer's, recognised by its first bytes, unless it is given.

    With the guard, nothing else of this program or its subprocesses can write to stdout (it goes to stderr)
    or read from stdin (it is empty) until `close`.

    Raises:
        ConnectFailed: stdin or stdout is closed, or already taken by another transport.
    """
    return StdioTransport(framing, max_bytes, guard=guard)


class StdioTransport(StreamTransport):
    """A `Transport` over the program's stdin and stdout, which may be pipes, sockets, files or a terminal.

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
        # The blocking mode belongs to every process that shares the pipe: also a program that never closes gives
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
