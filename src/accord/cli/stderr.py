"""Lines on stderr: remarks, why a command does not go on, and the log.

The log goes nowhere unless `ACCORD_LOG` names a level. Log records and tracebacks quote what others wrote: both are
made safe here.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from types import TracebackType

from accord.cli.status import CommandFailure
from accord.display import SafeText, exact, filled, printed, prose, safe_lines

__all__ = ["complain", "direct_logs", "direct_tracebacks", "remark", "stderr_tail"]

STDERR_LINES = 12


def complain(failure: CommandFailure) -> None:
    """One line, and the end of the agent's stderr."""
    remark(exact(failure.line))
    for line in stderr_tail(failure):
        sys.stderr.write(filled("  | {}\n", line))
    sys.stderr.flush()


def stderr_tail(failure: CommandFailure) -> list[SafeText]:
    """The last lines that the agent wrote to its stderr."""
    return safe_lines(printed(failure.agent_stderr.strip()))[-STDERR_LINES:]


def remark(text: SafeText) -> None:
    sys.stderr.write(filled("accord: {}\n", text))
    sys.stderr.flush()


LINE = "%(asctime)s %(name)s %(levelname)s %(message)s"


class SafeFormatter(logging.Formatter):
    """Any record as text for a terminal."""

    def format(self, record: logging.LogRecord) -> SafeText:
        """The lines of one record."""
        return prose(super().format(record))


def direct_logs(*, warnings: bool = False) -> None:
    """Direct the log of this process. What a user must know is printed by the command itself, and once.

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
    """Let the traceback of an uncaught exception be safe text."""

    def show(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        sys.stderr.write(prose("".join(traceback.format_exception(kind, error, where))))

    sys.excepthook = show
