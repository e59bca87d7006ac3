"""What the program itself has to say in the conversation: how a turn ended, what failed and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual.content import Content
from textual.widgets import Static

from accord.cli.chat.plain import MUTED, label, plain, pretty
from accord.cli.status import Status
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


@dataclass(frozen=True, slots=True)
class Note:
    """A remark; `advice` is what can be done, `detail` what a curious reader wants to see."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    advice: str = ""
    detail: str = ""


class NotePart(Static):
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
        super().__init__(Content("\n").join(lines), classes=f"-{note.level}", markup=False)

    async def follow(self, *, rewritten: bool = False) -> None:
        """A note never changes."""


_ENDINGS = {
    "cancelled": Note("cancelled"),
    "max_tokens": Note("the model's limit of tokens is reached", "warning", "Ask it to go on, or begin anew (Ctrl+N)."),
    "max_turn_requests": Note("the agent's limit of steps is reached", "warning", "Ask it to go on."),
    "refusal": Note(
        "the agent refused", "warning", "It does not remember this prompt and what followed; say it in another way."
    ),
}


def ending_note(stop_reason: str | None) -> Note | None:
    """How a turn ended, where that is not plain to see."""
    if stop_reason in {None, "end_turn", "error"}:
        return None
    return _ENDINGS.get(stop_reason or "", Note(f"ended: {stop_reason}"))


_ADVICE: tuple[tuple[type[Exception], str], ...] = (
    (ConnectFailed, "Is the command right and installed? Enter sends your message again, Ctrl+Q leaves."),
    (
        NegotiationFailed,
        "It speaks no edition of the protocol that this program knows. Is there a newer one of either?",
    ),
    (AuthRequired, "Send the message again to choose how to log in."),
    (RateLimited, "Wait a little and send it again."),
    (ResourceNotFound, "Ctrl+R lists the sessions, Ctrl+N begins a new one."),
    (RequestError, "The session goes on: say it again or in another way."),
    (LocalProtocolError, "Nothing was sent."),
    (OSError, "Nothing was sent."),
)


def failure_note(error: Exception, phase: str) -> Note:
    """What failed at what, and what to do now."""
    if isinstance(error, ConnectionLost):
        return _loss_note(error, phase)
    advice = next((said for kind, said in _ADVICE if isinstance(error, kind)), "Send it again, or leave with Ctrl+Q.")
    detail = pretty(error.data, 2000) if isinstance(error, RequestError) and error.data is not None else ""
    words = str(error)
    if isinstance(error, OSError) and error.strerror:
        words = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return Note(f"{phase} failed: {words}", "error", advice, detail)


def _loss_note(error: ConnectionLost, phase: str) -> Note:
    status = "" if error.exit_status is None else f" (exit status {error.exit_status})"
    advice = "The next message starts it again and goes on with the session."
    if "session is lost" in error.message:
        advice = "Ctrl+N begins a new session."
    return Note(f"the agent is gone while {phase}: {error.message}{status}", "error", advice, _stderr(error))


def _stderr(error: ConnectionLost) -> str:
    tail = error.stderr_tail.strip().splitlines()[-STDERR_LINES:]
    return plain("\n".join(["stderr ended with:", *tail])) if tail else ""


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
