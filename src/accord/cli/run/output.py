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
    """The facts of a session that is ready for its prompt."""

    agent: ConnectedAgent
    session: Session
    target: Target
    resumed: bool
    name: str | None
    short_id: str
    """The shortest unique beginning of the session's id."""
    is_noted: bool = True
    """Whether a later run can find the session."""


@dataclass(frozen=True)
class ConsentCounts:
    """How often requests were refused, and how often this client served the agent."""

    denied_unasked: int = 0
    refused_requests: int = 0
    completed_unasked: int = 0
    completed_refused: int = 0
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
    """The base of the output forms. A method that is not overridden writes nothing."""

    is_broken = False
    """Whether stdout was closed by its reader, where that was noticed in `observe`."""
    progress_is_shown = False
    """Whether a line of progress may be shown beside it."""
    doing = own("working")
    """The current activity, for the line of progress."""

    def observe(self, direction: Any, text: bytes | bytearray) -> None:
        """A text went over the wire. Must not raise."""

    def opened(self, opening: RunOpening) -> None:
        """The session is open."""

    def happened(self, event: Event) -> None:
        """An event of the session."""

    def step_aside(self) -> None:
        """Other code is about to write on the screen."""

    def noise(self, text: str) -> None:
        """The agent printed a line that is no message."""

    def shows(self, question: PermissionQuestion) -> bool:  # noqa: ARG002 - for those who can
        """Show the subject of a question on the screen where it is asked; returns whether that was done."""
        return False

    def judged(self, verdict: Verdict) -> None:
        """A question was answered, or a request for a file or a terminal decided."""

    def completed_unasked(self, call: ToolCall, rule: Rule, *, refused: bool = False) -> None:
        """The agent completed a call that a rule denies, without having been allowed to; or reported it as done."""

    def respawned(self, reason: str) -> None:
        """The agent was lost and started again."""

    def ended(self, ending: Ending) -> None:
        """The turn is over."""

    def failed(self, failure: CommandFailure) -> None:
        """The run failed."""


class FinalOutput(RunOutput):
    """Writes the agent's last message, when the turn is over."""

    progress_is_shown = True

    def ended(self, ending: Ending) -> None:
        """Write the message: sanitized on a terminal, unchanged into a file."""
        answer = prose(ending.answer) if is_terminal(sys.stdout) else whole(ending.answer)
        if answer:
            sys.stdout.write(answer if answer.endswith("\n") else f"{answer}\n")
            sys.stdout.flush()
