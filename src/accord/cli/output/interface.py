"""What every form of output is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accord.cli.permission import Verdict
from accord.cli.status import Failure
from accord.cli.target import Target
from accord.client import ClientSession, PermissionQuestion, RemoteAgent
from accord.display import own
from accord.session.event import Event, UsageChanged

__all__ = ["Ending", "Opening", "Output"]


@dataclass(frozen=True)
class Opening:
    """A session is there and can be prompted."""

    agent: RemoteAgent
    session: ClientSession
    target: Target
    resumed: bool
    name: str | None


@dataclass(frozen=True)
class Ending:
    """The turn is over."""

    stop_reason: str
    seconds: float
    answer: str
    usage: UsageChanged | None
    denied_unasked: int = 0


class Output:
    """One form. What it does not want to tell it leaves as it is here: untold."""

    is_broken = False
    """Whether nobody reads any more, where that was noticed in `observe`."""
    progress_is_shown = False
    """Whether a line of progress would disturb nobody."""
    doing = own("working")
    """What goes on, for the line of progress."""

    def observe(self, direction: Any, text: bytes | bytearray) -> None:
        """A text went over the wire. Must not raise."""

    def opened(self, opening: Opening) -> None:
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
        """A question was answered."""

    def respawned(self, reason: str) -> None:
        """The agent was lost and started again."""

    def ended(self, ending: Ending) -> None:
        """The turn is over."""

    def failed(self, failure: Failure) -> None:
        """It did not get to its end."""
