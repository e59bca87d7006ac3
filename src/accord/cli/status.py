"""Exit codes, the failures of a command, and the lines on stderr: failures, remarks, and the log.

A failure is one line for people and one record for programs. The log goes nowhere unless `ACCORD_LOG` names a level.
Log records and tracebacks quote foreign texts: both are sanitized here.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any

from accord.display import SafeText, exact, filled, printed, prose, safe_lines


class Status(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    TIMEOUT = 3
    NO_SESSION = 4
    DENIED = 5
    LOGIN = 6
    NO_AGENT = 7
    INTERRUPTED = 130


class CommandFailure(Exception):
    """A failure that ends the command.

    `phase` is the step that failed (`usage`, `config`, `start`, `session`, `settings`, `prompt`, `login`); `advice`
    says what to do, and `examine` names the agent for `accord agents doctor`; `agent_stderr` is the end of the agent's
    stderr, which people do not see where the message is the whole explanation (`is_explained`).
    """

    def __init__(
        self,
        status: Status,
        phase: str,
        message: str,
        *,
        advice: str = "",
        examine: str = "",
        agent_stderr: str = "",
        cause: str = "",
        is_explained: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.phase = phase
        self.message = message
        self._advice = advice
        self.examine = examine
        self.agent_stderr = agent_stderr
        self.cause = cause or phase
        self.is_explained = is_explained

    @property
    def advice(self) -> str:
        """The advice, in a sentence or two."""
        if not self.examine:
            return self._advice
        see = f"accord agents doctor {self.examine}"
        if not self._advice:
            return f"See: {see}"
        return f"{self._advice} See: {see}" if self._advice.endswith((".", "?")) else f"{self._advice}, or see: {see}"

    @property
    def line(self) -> str:
        """The one line for people."""
        sentence = " ".join(f"{self.phase}: {self.message}".split())
        if not self.advice:
            return sentence
        return f"{sentence}{'' if sentence.endswith(('.', '?', '!')) else '.'} {self.advice}"

    @property
    def record(self) -> dict[str, Any]:
        return {
            "code": int(self.status),
            "cause": self.cause,
            "message": self.message,
            "advice": self.advice,
            "agent_stderr": self.agent_stderr,
        }


class UsageFailure(CommandFailure):
    """An invalid command line."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(Status.USAGE, "usage", message, advice=advice)


def spelled(arguments: Sequence[str]) -> str:
    """A command as it would be typed."""
    return shlex.join(arguments)


STDERR_LINES = 12
FRAME = '  File "'
# Frames of Accord, and of what was not written for the agent.
_PACKAGE = str(Path(__file__).parents[1])
_LIBRARY = re.compile(r"[/\\](site-packages|lib[/\\]python3\.\d+)[/\\]|<frozen")


def complain(failure: CommandFailure) -> None:
    """One line, and the end of the agent's stderr."""
    quote_stderr(exact(failure.line), stderr_tail(failure))


def quote_stderr(text: SafeText, lines: Sequence[SafeText]) -> None:
    """A remark, and lines of the agent's stderr."""
    remark(text)
    for line in lines:
        sys.stderr.write(filled("  | {}\n", line))
    sys.stderr.flush()


def stderr_tail(failure: CommandFailure) -> list[SafeText]:
    """The last lines that the agent wrote to its stderr, where they may explain the failure."""
    return [] if failure.is_explained else last_lines(failure.agent_stderr)


def last_lines(stderr: str) -> list[SafeText]:
    """The last lines of an agent's stderr; what is too long loses the frames of tracebacks in Accord and in Python."""
    lines = safe_lines(printed(stderr.strip()))
    return (lines if len(lines) <= STDERR_LINES else _own_frames(lines))[-STDERR_LINES:]


def _own_frames(lines: list[SafeText]) -> list[SafeText]:
    """The lines without the frames of libraries, where a frame of the agent itself is among them."""
    kept: list[SafeText] = []
    is_left_out = False
    for line in lines:
        if line.startswith(FRAME):
            is_left_out = _PACKAGE in line or _LIBRARY.search(line) is not None
        elif not line.startswith("    "):
            is_left_out = False
        if not is_left_out:
            kept.append(line)
    return kept if any(line.startswith(FRAME) for line in kept) else lines


def remark(text: SafeText) -> None:
    sys.stderr.write(filled("accord: {}\n", text))
    sys.stderr.flush()


def show_line(text: SafeText) -> None:
    """A line for people that can be copied as a whole: nothing stands before it."""
    sys.stderr.write(filled("{}\n", text))
    sys.stderr.flush()


LINE = "%(asctime)s %(name)s %(levelname)s %(message)s"


class SafeFormatter(logging.Formatter):
    """Any record as text for a terminal."""

    def format(self, record: logging.LogRecord) -> SafeText:
        """The lines of one record."""
        return prose(super().format(record))


def direct_logs(*, warnings: bool = False) -> None:
    """Direct the log of this process. Messages for the user are printed by the command itself, not logged.

    `warnings` are shown also without a level, each as its message alone: for a program that an editor starts.
    """
    level = os.environ.get("ACCORD_LOG", "").upper()
    is_named = level in logging.getLevelNamesMapping()
    if not is_named and not warnings:
        logging.getLogger().addHandler(logging.NullHandler())
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(SafeFormatter(LINE if is_named else None))
    logging.basicConfig(level=level if is_named else logging.WARNING, handlers=[handler])


def direct_tracebacks() -> None:
    """Sanitize the traceback of an uncaught exception."""

    def show(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        sys.stderr.write(prose("".join(traceback.format_exception(kind, error, where))))

    sys.excepthook = show
