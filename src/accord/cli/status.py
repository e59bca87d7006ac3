"""The exit codes, and the failures of a command: one line for people, one record for programs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

__all__ = ["CommandFailure", "Status", "UsageFailure", "spelled"]


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
    """Why the command cannot go on.

    `phase` says at what it was (`usage`, `config`, `start`, `session`, `settings`, `prompt`, `login`); `advice` what to
    do; `agent_stderr` is the end of what the agent wrote there.
    """

    def __init__(
        self, status: Status, phase: str, message: str, *, advice: str = "", agent_stderr: str = "", cause: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.phase = phase
        self.message = message
        self.advice = advice
        self.agent_stderr = agent_stderr
        self.cause = cause or phase

    @property
    def line(self) -> str:
        """The one line for people."""
        sentence = " ".join(f"{self.phase}: {self.message}".split())
        return f"{sentence}. {self.advice}" if self.advice else sentence

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
    """The line that was typed cannot be understood."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(Status.USAGE, "usage", message, advice=advice)


def spelled(arguments: Sequence[str]) -> str:
    """A command as it would be typed."""
    return shlex.join(arguments)
