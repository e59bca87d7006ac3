"""Failures and unusual ends of a turn as notes: a sentence, advice, and the agent's stderr."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from accord.cli.fault import data_for_people, failure_of, session_failure, unforeseen
from accord.cli.show.presentation import Note, stop_note
from accord.cli.status import CommandFailure, stderr_tail
from accord.cli.stray_output import StrayOutput
from accord.display import EMPTY, SafeText, clip, exact, filled, joined, json_text, own, prose, prose_line, source_line
from accord.errors import (
    AccordError,
    AuthRequired,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    InternalError,
    LocalProtocolError,
    NegotiationFailed,
    RateLimited,
    RequestError,
    ResourceNotFound,
)

DETAIL_CHARACTERS = 2000
OPENING = ("starting the agent", "opening a session")
"""The phases before there is a session."""
STDERR_LINES = 8

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
    (ResourceNotFound, own("Ctrl+R lists the sessions, Ctrl+N begins a new one.")),
    (RequestError, own("The session goes on: say it again or in another way.")),
    (LocalProtocolError, own("Nothing was sent.")),
    (OSError, own("Nothing was sent.")),
)


def ending_note(stop_reason: str | None) -> Note | None:
    """The note for an unusual end of a turn, with advice."""
    note = stop_note(stop_reason)
    return None if note is None else replace(note, advice=_AFTER_STOP.get(stop_reason, EMPTY))


def failure_in(error: Exception, doing: str, session_id: str | None = None) -> CommandFailure:
    """The failure that `accord run` would report; `session_id` where a session was to be reopened."""
    if isinstance(error, AccordError):
        return failure_of(error, doing) if session_id is None else session_failure(error, session_id)
    return unforeseen(error if isinstance(error, OSError) else OSError(str(error)))


def failure_note(
    error: Exception,
    doing: str,
    session_id: str | None = None,
    stderr: Sequence[SafeText] = (),
    set_up: str = "",
    output: StrayOutput | None = None,
) -> Note:
    """The failure, its phase, and advice; `stderr` is the agent's output in that time.

    `set_up` says how the agent is set up, for failures that a missing login or key may have caused; `output` is what
    it printed before it failed to start.
    """
    if isinstance(error, RateLimited):
        return _limited_note(error)
    failure = failure_in(error, doing, session_id)
    advice = next(
        (text for kind, text in _AFTER_FAILURE if isinstance(error, kind)),
        own("Send it again, or leave with Ctrl+Q."),
    )
    if isinstance(error, ConnectionLost) and "session is lost" in error.message:
        advice = own("Ctrl+N begins a new session.")
    elif isinstance(error, ConnectionLost) and doing in OPENING:
        advice = own("Enter sends your message again, which starts it again.")
    elif isinstance(error, AuthRequired) and not error.auth_methods:
        advice = own("It offers no login: set it up outside of the chat, then send the message again.")
    if set_up and (isinstance(error, AuthRequired | InternalError) or doing in OPENING):
        advice = filled("{}. {}", prose_line(set_up), advice)
    text = filled("{} failed: {}", doing, prose(failure.message))
    if output is not None and output.explanation and isinstance(error, ConnectionLost | DeadlineExceeded):
        text = filled("{} failed: the agent {}", doing, exact(output.explanation))
        advice = advice if set_up else filled("{} {}", prose_line(output.advice), advice)
    return Note(text, "error", advice, _detail(error, failure, stderr))


def _limited_note(error: RateLimited) -> Note:
    seconds = error.retry_after
    when = own("a little later") if seconds is None else filled("in {:g} s", seconds)
    said = EMPTY if error.message == RateLimited.default_message else prose(error.message)
    text = filled("rate limited: try again {}", when)
    return Note(text, "error", own("Up brings your message back; Enter sends it."), clip(said, DETAIL_CHARACTERS))


def _detail(error: Exception, failure: CommandFailure, stderr: Sequence[SafeText]) -> SafeText:
    if failure.is_explained:
        return EMPTY
    tail = list(stderr_tail(failure))
    if not tail and isinstance(error, InternalError):
        # An agent whose error gives no reason may have written one to its stderr.
        tail = [source_line(line) for line in stderr[-STDERR_LINES:]]
    if tail:
        return joined([own("stderr ended with:"), *tail], own("\n"))
    data = data_for_people(error) if isinstance(error, RequestError) else None
    if data is None or _is_in(failure.message, data):
        return EMPTY
    return _pretty(data)


def _is_in(message: str, data: Any) -> bool:
    """Whether a message ends with the whole `data` of the error: a text, or a reason in words alone."""
    if isinstance(data, dict) and len(data) == 1:
        (data,) = data.values()
    return isinstance(data, str) and message.endswith(data)


def _pretty(value: Any) -> SafeText:
    return clip(prose(value), DETAIL_CHARACTERS) if isinstance(value, str) else json_text(value, 2, DETAIL_CHARACTERS)
