"""File descriptors: whether a loop may watch one, how much it holds, whether its other end is closed."""

from __future__ import annotations

import contextlib
import os
import stat
import sys

__all__ = ["can_poll", "enlarge_pipe", "has_hung_up", "unread_bytes"]

# Four times the default, which saves wake-ups of both sides when many messages are sent at once. A megabyte measured no
# better, and all pipes of a user share 64 MiB: many large ones would make those of other programs small.
PIPE_BYTES = 256 * 1024


def can_poll(descriptor: int) -> bool:
    """Whether a loop can say when this is ready, and it may be made non-blocking.

    True for pipes and sockets only. A regular file is refused by epoll. A terminal is shared with whoever
    started us: the flag would be theirs too.
    """
    if sys.platform == "win32":
        return False
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def enlarge_pipe(descriptor: int) -> None:
    """Let a pipe hold more, where the system knows how and lets us."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on every system

        # No pipe, or the user's share of pipe memory is spent: the size it has will do.
        with contextlib.suppress(OSError):
            if fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ) < PIPE_BYTES:
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def has_hung_up(descriptor: int) -> bool:
    """Whether the other end of a pipe or socket is closed everywhere; False where the system does not say it."""
    import select  # noqa: PLC0415 - asked by few

    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)  # for no event: a hang-up is reported in any case
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


def unread_bytes(descriptor: int) -> int:
    """How much stands in a pipe or socket right now; 0 where the system does not say it."""
    if sys.platform == "win32":
        return 0
    import fcntl  # noqa: PLC0415 - not on every system
    import termios  # noqa: PLC0415

    try:
        answer = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0")
    except OSError:
        return 0
    return int.from_bytes(answer, sys.byteorder)
