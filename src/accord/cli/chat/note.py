"""What the program itself has to say in the conversation: how a turn ended, what failed and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from accord.cli.chat.widgets import BREAK, MUTED, Words, label
from accord.cli.status import Status
from accord.display import EMPTY, SafeText, clip, filled, joined, json_text, own, printed, prose, safe_lines
from accord.errors import (
    AccordError,
    AuthRequired,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    LocalProtocolError,
    NegotiationFailed,
    RateLimited,
    RequestError,
    ResourceNotFound,
)

__all__ = ["Note", "NotePart", "ending_note", "failure_note", "status_of"]

STDERR_LINES = 12
DETAIL_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Note:
    """A remark; `advice` is what can be done, `detail` what a curious reader wants to see."""

    text: SafeText
    level: Literal["info", "warning", "error"] = "info"
    advice: SafeText = EMPTY
    detail: SafeText = EMPTY


class NotePart(Words):
    """A note on the screen."""

    DEFAULT_CSS = """
    NotePart { width: 1fr; height: auto; color: $text-muted; padding-left: 1; }
    NotePart.-warning { border-left: thick $warning; color: $text; }
    NotePart.-error { border-left: thick $error; color: $text; }
    """

    def __init__(self, note: Note) -> None:
        lines = [label((note.text, "" if note.level == "info" else "bold"))]
        if note.detail:
            lines.append(label((note.detail, MUTED)))
        if note.advice:
            lines.append(label((note.advice, "italic")))
        super().__init__(BREAK.join(lines), classes=f"-{note.level}")

    async def follow(self, *, rewritten: bool = False) -> None:
        """A note never changes."""


_ENDINGS = {
    "cancelled": Note(own("cancelled")),
    "max_tokens": Note(
        own("the model's limit of tokens is reached"), "warning", own("Ask it to go on, or begin anew (Ctrl+N).")
    ),
    "max_turn_requests": Note(own("the agent's limit of steps is reached"), "warning", own("Ask it to go on.")),
    "refusal": Note(
        own("the agent refused"),
        "warning",
        own("It does not remember this prompt and what followed; say it in another way."),
    ),
}


def ending_note(stop_reason: str | None) -> Note | None:
    """How a turn ended, where that is not plain to see."""
    if stop_reason in {None, "end_turn", "error"}:
        return None
    return _ENDINGS.get(stop_reason or "", Note(filled("ended: {}", stop_reason)))


_ADVICE: tuple[tuple[type[Exception], SafeText], ...] = (
    (ConnectFailed, own("Is the command right and installed? Enter sends your message again, Ctrl+Q leaves.")),
    (
        NegotiationFailed,
        own("It speaks no edition of the protocol that this program knows. Is there a newer one of either?"),
    ),
    (AuthRequired, own("Send the message again to choose how to log in.")),
    (RateLimited, own("Wait a little and send it again.")),
    (ResourceNotFound, own("Ctrl+R lists the sessions, Ctrl+N begins a new one.")),
    (RequestError, own("The session goes on: say it again or in another way.")),
    (LocalProtocolError, own("Nothing was sent.")),
    (OSError, own("Nothing was sent.")),
)


def failure_note(error: Exception, phase: str) -> Note:
    """What failed at what, and what to do now."""
    if isinstance(error, ConnectionLost):
        return _loss_note(error, phase)
    advice = next(
        (said for kind, said in _ADVICE if isinstance(error, kind)), own("Send it again, or leave with Ctrl+Q.")
    )
    detail = _pretty(error.data) if isinstance(error, RequestError) and error.data is not None else EMPTY
    words = str(error)
    if isinstance(error, OSError) and error.strerror:
        words = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return Note(filled("{} failed: {}", phase, prose(words)), "error", advice, detail)


def _loss_note(error: ConnectionLost, phase: str) -> Note:
    status = EMPTY if error.exit_status is None else filled(" (exit status {})", error.exit_status)
    advice = own("The next message starts it again and goes on with the session.")
    if "session is lost" in error.message:
        advice = own("Ctrl+N begins a new session.")
    words = filled("the agent is gone while {}: {}{}", phase, prose(error.message), status)
    return Note(words, "error", advice, _stderr(error))


def _pretty(value: Any) -> SafeText:
    return clip(prose(value), DETAIL_CHARACTERS) if isinstance(value, str) else json_text(value, 2, DETAIL_CHARACTERS)


def _stderr(error: ConnectionLost) -> SafeText:
    tail = safe_lines(printed(error.stderr_tail.strip()))[-STDERR_LINES:]
    return joined([own("stderr ended with:"), *tail], own("\n")) if tail else EMPTY


def status_of(error: Exception) -> Status:
    """The exit status of a conversation that never began."""
    if isinstance(error, AuthRequired):
        return Status.LOGIN
    if isinstance(error, ConnectFailed | ConnectionLost):
        return Status.NO_AGENT
    if isinstance(error, DeadlineExceeded):
        return Status.TIMEOUT
    if isinstance(error, ResourceNotFound):
        return Status.NO_SESSION
    return Status.FAILED if isinstance(error, AccordError) else Status.USAGE
