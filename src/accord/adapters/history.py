"""The state that an adapter keeps with a session: the framework's own history, remembered answers, the cost so far.

It is one entry of `session.state`, so that authors who add handlers to the agent can keep entries of their own beside.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from accord.agent import Session
from accord.errors import InvalidParams, LocalProtocolError
from accord.json_values import JsonValue

__all__ = ["AdapterState", "load_state", "save_state"]

log = logging.getLogger("accord.adapters")

KEY = "adapter"


class AdapterState(msgspec.Struct, omit_defaults=True):
    """The state of one session."""

    framework: str
    """The name of the framework that wrote the history: no other can read it."""
    history: JsonValue = None
    """The framework's messages as JSON, in a form in which every tool call has an answer."""
    question: JsonValue = None
    """A question whose answer is the next prompt, in the adapter's own form."""
    allowed: list[str] = []
    """The digests of the calls that the user allowed for the whole session."""
    cost: float = 0.0
    """The cost of the session so far, in US dollars."""


def load_state(session: Session, framework: str) -> AdapterState:
    """The state of a session; a new one where there is none.

    Raises:
        InvalidParams: The session belongs to another framework's agent, or its state cannot be read.
    """
    kept = session.state.get(KEY) if isinstance(session.state, dict) else None
    if kept is None:
        return AdapterState(framework)
    try:
        state = msgspec.convert(kept, AdapterState)
    except msgspec.ValidationError as error:
        log.warning("the kept state of session %s cannot be read: %s", session.id, error)
        raise InvalidParams(
            "The kept state of this session cannot be read: begin a new session", {"field": "sessionId"}
        ) from error
    if state.framework != framework:
        raise InvalidParams(
            f"This session belongs to an agent of {state.framework}, and this one is of {framework}: begin a new one",
            {"field": "sessionId"},
        )
    return state


async def save_state(session: Session, state: AdapterState) -> None:
    """Keep the state; with an agent that has no store it lasts as long as the session is open."""
    others: dict[str, Any] = session.state if isinstance(session.state, dict) else {}
    whole = {**others, KEY: msgspec.to_builtins(state)}
    try:
        await session.save(whole)
    except LocalProtocolError:
        session.state = whole
