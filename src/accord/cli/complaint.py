"""What is said when it does not go on: one line for people; and nothing more into a pipe that nobody reads."""

from __future__ import annotations

import os
import sys

from accord.cli.show.safe import safe_line, safe_text
from accord.cli.status import Failure

__all__ = ["complain", "silence"]

STDERR_LINES = 12


def complain(failure: Failure) -> None:
    """One line, and the end of what the agent said on its stderr."""
    sys.stderr.write(f"accord: {safe_line(failure.line)}\n")
    for line in safe_text(failure.agent_stderr).splitlines()[-STDERR_LINES:]:
        sys.stderr.write(f"  | {line}\n")
    sys.stderr.flush()


def silence() -> None:
    """Let nothing more be written to stdout, also not when Python ends."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
