"""Lines beside the screens: remarks on stderr, results on stdout, why it does not go on; nothing into a dead pipe."""

from __future__ import annotations

import os
import sys
from typing import Any

from accord.cli.status import Failure
from accord.display import SafeText, exact, filled, json_line, printed, safe_lines

__all__ = ["complain", "put", "put_json", "remark", "silence"]

STDERR_LINES = 12


def complain(failure: Failure) -> None:
    """One line, and the end of what the agent said on its stderr."""
    remark(exact(failure.line))
    for line in safe_lines(printed(failure.agent_stderr.strip()))[-STDERR_LINES:]:
        sys.stderr.write(filled("  | {}\n", line))
    sys.stderr.flush()


def remark(text: SafeText) -> None:
    """One line on stderr."""
    sys.stderr.write(filled("accord: {}\n", text))
    sys.stderr.flush()


def put(text: SafeText) -> None:
    """One line on stdout."""
    sys.stdout.write(filled("{}\n", text))


def put_json(value: Any, indent: int | None = None) -> None:
    """A JSON value on stdout, in ASCII: a terminal shows it, a program reads the same value back."""
    put(json_line(value, indent))


def silence() -> None:
    """Let nothing more be written to stdout, also not when Python ends."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
