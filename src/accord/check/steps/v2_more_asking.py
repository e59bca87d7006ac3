"""How the steps for v2 ask: they go on when a request is never answered, since its own rule says what that means."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from accord.check.case import reached
from accord.check.entry import Entry, is_answer, is_request, is_state, is_update
from accord.check.talk import IDLE_RULE, Talk
from accord.check.wire import Silence

__all__ = [
    "NOBODY",
    "advertises",
    "ask_all",
    "first_option",
    "heard",
    "hold_on",
    "is_alive",
    "settle",
    "settle_cancelled",
    "wait_for_question",
]

NOBODY = "accord-check-no-such-session"
"""The id of a session that never was."""


async def heard(talk: Talk, *ids: Any) -> list[Any]:
    """Wait for the answers to some requests, those that come; gives the ids."""
    for id_ in ids:
        # Who judges this request says that it was not answered.
        with suppress(Silence):
            await talk.wire.answer(id_, talk.options.timeout_seconds)
    return list(ids)


async def ask_all(talk: Talk, **requests: tuple[str, Any]) -> dict[str, Any]:
    """Ask for some things, one after the other; gives the ids of the requests by their names."""
    ids = {}
    for name, (method, params) in requests.items():
        ids[name] = talk.ask(method, params)
        await heard(talk, ids[name])
    return ids


async def is_alive(talk: Talk, rule: str = "ACCORD-CLOSE-204") -> None:
    """A sign of life: any answer to a request that does nothing.

    Closing a session that never was does not depend on whether the agent knows how to refuse unknown methods.

    Raises:
        StepFailed: There was none; `rule` is blamed.
    """
    await talk.request("session/close", {"sessionId": NOBODY}, rule)


async def hold_on(talk: Talk, holds: Callable[[Entry], bool], since: int, seconds: float | None = None) -> Entry | None:
    """Wait for a line, as long as for a turn; None if it does not come."""
    try:
        # With an agent that never rests nobody waits for the end of every turn: the manifest has what falls with that.
        bound = talk.patience.seconds(talk.options.turn_seconds, IDLE_RULE) if seconds is None else seconds
        return await talk.wire.until(holds, since, bound)
    except Silence:
        return None


async def settle(talk: Talk, session: str, since: int) -> Entry | None:
    """Wait until a session is idle; None if it never is."""
    return await hold_on(talk, lambda entry: is_state(entry.message, session, "idle"), since)


async def settle_cancelled(talk: Talk, session: str, since: int) -> Entry | None:
    """Cancel what a session does and wait until it is idle; where it was idle before, nothing more comes."""
    states = [entry for entry in talk.wire.entries[since:] if is_update(entry.message, session, "state_update")]
    cancelled = talk.notify("session/cancel", {"sessionId": session})
    if states and is_state(states[-1].message, session, "idle"):
        await is_alive(talk)
        return states[-1]
    return await settle(talk, session, cancelled)


async def wait_for_question(talk: Talk, method: str, session: str, since: int, prompt: Any) -> Entry | None:
    """Wait until the agent asks for something in a turn; None if the turn ended, or never began, without that."""

    def is_over(message: Any) -> bool:
        return is_state(message, session, "idle") or (is_answer(message, prompt) and "error" in message)

    found = await hold_on(talk, lambda entry: is_request(entry.message, method) or is_over(entry.message), since)
    return None if found is None or is_over(found.message) else found


def first_option(question: Any) -> Any:
    """The id of the first option of a permission, or None where there is no such thing."""
    params = question.get("params")
    options = params.get("options") if isinstance(params, dict) else None
    first = options[0] if isinstance(options, list) and options else None
    return first.get("optionId") if isinstance(first, dict) else None


def advertises(talk: Talk, path: str) -> bool:
    """Whether the agent said at the handshake of this process that its sessions have something."""
    asked = [
        entry.message["id"] for entry in talk.wire.entries if entry.sent and is_request(entry.message, "initialize")
    ]
    for entry in talk.wire.entries:
        if not entry.sent and asked and is_answer(entry.message, asked[-1]):
            return reached(entry.message.get("result"), f"capabilities.session.{path}")
    return False
