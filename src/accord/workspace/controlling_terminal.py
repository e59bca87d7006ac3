"""A program that makes the terminal on stdin its controlling terminal, and then executes its arguments.

A process can take a terminal as its own only by itself, after it has a session and before it is the program that was
requested. It imports nothing of Accord, so that it starts fast.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios

# The exit statuses of a shell for a program that it cannot find or may not run.
_CANNOT_RUN = 126
_NOT_FOUND = 127


def _main(argv: list[str]) -> int:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # Python ignores these signals from its start, and the next program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - argv as given, no shell
    except FileNotFoundError:
        return _NOT_FOUND
    except OSError:
        return _CANNOT_RUN


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
