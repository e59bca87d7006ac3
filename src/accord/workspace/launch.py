"""The start of a command: its own session and group, no input, and one stream for all it writes.

`accord.transport.process` ends it together with its descendants.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from accord.display import whole
from accord.transport import lineage
from accord.transport.interpreter import has_interpreter, own_command
from accord.transport.process import ChildProcess
from accord.workspace.errors import StartFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TerminalSize", "command_argv", "launch"]

SHELL = "/bin/sh"

_TERM = "xterm-256color"

# Started by its path: it is not imported in this process.
_CONTROLLING_TERMINAL = Path(__file__).with_name("controlling_terminal.py")

# Held until their process is released: the collector could otherwise finalise one of them before the command that ends
# it, which would raise.
_held: WeakKeyDictionary[ChildProcess, subprocess.Popen[bytes]] = WeakKeyDictionary()


class TerminalSize(NamedTuple):
    """Width and height in character cells."""

    columns: int = 80
    rows: int = 24


def launch(
    argv: Sequence[str],
    cwd: str | None,
    changes: Mapping[str, str | None],
    pty: TerminalSize | None,
) -> tuple[ChildProcess, int]:
    """Start it in a running loop; returns the descriptor of its output, which the caller closes.

    A lone surrogate in an argument or a variable becomes U+FFFD.

    Raises:
        StartFailed: There is no such program or directory, or it may not be run.
    """
    argv = [whole(argument) for argument in argv]
    try:
        environment = _environment(changes)
        marker, environment = lineage.mark(environment)
        line = _line(argv, environment, cwd, pty)
        reading, writing = _open_stream(pty)
    except (OSError, ValueError) as error:
        raise _failed(argv, error) from error
    # Before the process exists: this one may be killed right after it.
    lineage.adopt(marker, 0)
    try:
        popen = subprocess.Popen(
            line,
            bufsize=0,
            stdin=subprocess.DEVNULL if pty is None else writing,
            stdout=writing,
            stderr=writing,
            cwd=cwd,
            env=environment if pty is None else {"TERM": _TERM, **environment},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(reading)
        lineage.disown(marker)
        raise _failed(argv, error) from error
    finally:
        os.close(writing)
    process = ChildProcess(popen, marker)
    _held[process] = popen
    return process, reading


def command_argv(
    command: str, args: Sequence[str], cwd: str, changes: Mapping[str, str | None], *, platform: str = sys.platform
) -> list[str]:
    """The argv that a request for a command means: its own, or that of a shell for a whole line.

    Several agents send a line where the protocol has a program and its arguments: a text with whitespace, no arguments,
    and no program of that name. The rules judge this result, and it is shown and run. Windows has no `/bin/sh`.
    """
    argv = [command, *args]
    if args or platform == "win32" or not any(character.isspace() for character in command.strip()):
        return argv
    path = changes.get("PATH", os.environ.get("PATH", os.defpath))
    if shutil.which(Path(cwd, command) if "/" in command else command, path=path) is not None:
        return argv
    return [SHELL, "-c", command]


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    for name, value in changes.items():
        # The system accepts `=x` and `A=B=x` unchanged, and a program would parse them differently.
        if not name or "=" in name or "\0" in name:
            raise ValueError(f"{name!r} is no name of an environment variable")
        if value is not None and "\0" in value:
            raise ValueError(f"the environment variable {name} has a null character in its value")
    # Without this marker our own parent could not find the command's processes.
    wanted = {whole(name): value and whole(value) for name, value in changes.items() if name != lineage.VARIABLE}
    merged: dict[str, str | None] = {**os.environ, **wanted}
    return {name: value for name, value in merged.items() if value is not None}


def _line(
    argv: Sequence[str], environment: Mapping[str, str], cwd: str | None, pty: TerminalSize | None
) -> Sequence[str]:
    if not argv or not argv[0]:
        raise ValueError("no program was named")
    if any("\0" in argument for argument in argv):
        raise ValueError("a null character is in its words")
    if pty is None and sys.platform != "win32":
        return argv
    # Windows finds no `npx.cmd` for `npx`; and with a program in between, the system's error does not name the missing
    # one.
    program = shutil.which(Path(cwd or ".", argv[0]) if "/" in argv[0] else argv[0], path=environment.get("PATH"))
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    if pty is None:
        return [str(program), *argv[1:]]
    # A terminal that controls no process still works, without job control.
    return own_command(_CONTROLLING_TERMINAL, *argv) if has_interpreter() else argv


def _open_stream(pty: TerminalSize | None) -> tuple[int, int]:
    if pty is None:
        return os.pipe()
    if sys.platform == "win32":
        raise ValueError("there are no pseudo-terminals here")
    import termios  # noqa: PLC0415 - not on every system

    reading, writing = os.openpty()
    termios.tcsetwinsize(writing, (pty.rows, pty.columns))
    return reading, writing


def _failed(argv: Sequence[str], error: Exception) -> StartFailed:
    if not isinstance(error, OSError):
        return StartFailed(f"the command cannot be started: {error}", argv=tuple(argv))
    where = "the program" if error.filename in {None, *argv[:1]} else "its directory"
    return StartFailed(f"the command cannot be started: {where}: {error.strerror}", argv=tuple(argv))
