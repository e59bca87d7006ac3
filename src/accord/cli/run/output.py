"""The interface that every form of `accord run`'s output implements, and the form that is only the answer."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from accord.cli.show.screen import is_terminal
from accord.cli.status import CommandFailure
from accord.cli.target import Target
from accord.client import ConnectedAgent, PermissionQuestion, Session, Verdict
from accord.display import own, prose, whole
from accord.session.entry import ToolCall
from accord.session.event import Event, TokenUsage, UsageChanged
from accord.session.rules import Rule


@dataclass(frozen=True)
class RunOpening:
    """A session is there and can be prompted."""

    agent: ConnectedAgent
    session: Session
    target: Target
    resumed: bool
    name: str | None
    short_id: str
    """The beginning of the session's id that names no other one."""


@dataclass(frozen=True)
class ConsentCounts:
    """How often requests were refused, and how often this client served the agent."""

    denied_unasked: int = 0
    refused_requests: int = 0
    completed_unasked: int = 0
    files_read: int = 0
    files_written: int = 0
    commands_run: int = 0


@dataclass(frozen=True)
class Ending:
    stop_reason: str
    seconds: float
    answer: str
    usage: UsageChanged | None
    token_usage: TokenUsage | None = None
    consent: ConsentCounts = ConsentCounts()


class RunOutput:
    """One form. The methods that it does not override write nothing."""

    is_broken = False
    """Whether stdout was closed by its reader, where that was noticed in `observe`."""
    progress_is_shown = False
    """Whether a line of progress may be shown beside it."""
    doing = own("working")
    """What goes on, for the line of progress."""

    def observe(self, direction: Any, text: bytes | bytearray) -> None:
        """A text went over the wire. Must not raise."""

    def opened(self, opening: RunOpening) -> None:
        """A session is there."""

    def happened(self, event: Event) -> None:
        """Something happened in it."""

    def step_aside(self) -> None:
        """Somebody else writes on the screen."""

    def noise(self, text: str) -> None:
        """The agent printed a line that is no message."""

    def shows(self, question: PermissionQuestion) -> bool:  # noqa: ARG002 - for those who can
        """Show what a question is about, on the screen where it is asked; whether that was done."""
        return False

    def judged(self, verdict: Verdict) -> None:
        """A question was answered, or a request for a file or a terminal decided."""

    def completed_unasked(self, call: ToolCall, rule: Rule) -> None:
        """The agent completed a call that a rule denies, without having been allowed to."""

    def respawned(self, reason: str) -> None:
        """The agent was lost and started again."""

    def ended(self, ending: Ending) -> None:
        """The turn is over."""

    def failed(self, failure: CommandFailure) -> None:
        """It did not get to its end."""


class FinalOutput(RunOutput):
    """Writes the agent's last message, when the turn is over."""

    progress_is_shown = True

    def ended(self, ending: Ending) -> None:
        """Write it; on a terminal nothing in it can do harm, in a file it is what the agent wrote."""
        answer = prose(ending.answer) if is_terminal(sys.stdout) else whole(ending.answer)
        if answer:
            sys.stdout.write(answer if answer.endswith("\n") else f"{answer}\n")
            sys.stdout.flush()
