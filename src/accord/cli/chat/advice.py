"""Advice after a failure or an early end of a turn in a chat: the keys and messages that help."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from accord.cli.fault import failure_of, session_failure, unforeseen
from accord.cli.show.presentation import Note, stop_note
from accord.cli.status import CommandFailure
from accord.cli.stderr import stderr_tail
from accord.display import EMPTY, SafeText, clip, filled, joined, json_text, own, prose
from accord.errors import (
    AccordError,
    AuthRequired,
    ConnectFailed,
    ConnectionLost,
    LocalProtocolError,
    NegotiationFailed,
    RateLimited,
    RequestError,
    ResourceNotFound,
)

__all__ = ["ending_note", "failure_in", "failure_note"]

DETAIL_CHARACTERS = 2000

_AFTER_STOP: dict[str | None, SafeText] = {
    "max_tokens": own("Ask it to go on, or begin anew (Ctrl+N)."),
    "max_turn_requests": own("Ask it to go on."),
    "refusal": own("It does not remember this prompt and what followed; say it in another way."),
}
_AFTER_FAILURE: tuple[tuple[type[Exception], SafeText], ...] = (
    (ConnectFailed, own("Is the command right and installed? Enter sends your message again, Ctrl+Q leaves.")),
    (ConnectionLost, own("The next message starts it again and goes on with the session.")),
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


def ending_note(stop_reason: str | None) -> Note | None:
    """How a turn ended, where that is not plain to see, and what to do then."""
    note = stop_note(stop_reason)
    return None if note is None else replace(note, advice=_AFTER_STOP.get(stop_reason, EMPTY))


def failure_in(error: Exception, doing: str, session_id: str | None = None) -> CommandFailure:
    """The failure that `accord run` would report; `session_id` where a session from before was to be opened."""
    if isinstance(error, AccordError):
        return failure_of(error, doing) if session_id is None else session_failure(error, session_id)
    return unforeseen(error if isinstance(error, OSError) else OSError(str(error)))


def failure_note(error: Exception, doing: str, session_id: str | None = None) -> Note:
    """The failure, what was being done, and advice."""
    failure = failure_in(error, doing, session_id)
    advice = next(
        (text for kind, text in _AFTER_FAILURE if isinstance(error, kind)),
        own("Send it again, or leave with Ctrl+Q."),
    )
    if isinstance(error, ConnectionLost) and "session is lost" in error.message:
        advice = own("Ctrl+N begins a new session.")
    detail = _pretty(error.data) if isinstance(error, RequestError) and error.data is not None else EMPTY
    tail = stderr_tail(failure)
    if tail:
        detail = joined([own("stderr ended with:"), *tail], own("\n"))
    return Note(filled("{} failed: {}", doing, prose(failure.message)), "error", advice, detail)


def _pretty(value: Any) -> SafeText:
    return clip(prose(value), DETAIL_CHARACTERS) if isinstance(value, str) else json_text(value, 2, DETAIL_CHARACTERS)
