"""What a client does with turns beside having one: two at the same time, cancellations of nothing, a large one."""

from __future__ import annotations

from typing import Any

from accord.check.entry import is_update
from accord.check.rule import EditionName
from accord.check.step import Notes, step
from accord.check.talk import StepFailed, Talk
from accord.check.wire import Silence

__all__ = ["LARGE_BYTES", "answered_turn", "lives", "more_turn"]

BOTH: tuple[EditionName, ...] = ("v1", "v2_june")
LARGE_BYTES = 5 * 1024 * 1024
_AT_ONCE_SECONDS, _NOTED_SECONDS = 20.0, 4.0
WORDS = "Reply with the single word: hello (this is accord-check-9f4e)"
"""Has a word that can be found again in a replay."""


async def lives(talk: Talk) -> bool:
    """Whether the agent still answers; otherwise the process is of no use any more, and the step has to end."""
    try:
        return await talk.is_alive()
    except StepFailed:
        return False


async def answered_turn(talk: Talk, session: str, words: str, rule: str) -> Any:
    """A turn up to its answer, whatever that is; gives the id of the prompt.

    Raises:
        StepFailed: It was not answered; `rule` is blamed, or the rule about plain turns where those do not end.
    """
    prompt = talk.prompt(session, words)
    await talk.end_of_answered_turn(prompt, rule)
    return prompt


@step("bare", editions=BOTH, order=20)
async def more_turn(talk: Talk) -> Notes:
    """A session with two turns, and time for what is said too late."""
    session = await talk.new()
    first = await talk.turn(session, WORDS)
    await talk.is_alive()
    second = await talk.turn(session)
    await talk.is_alive()
    return {"session": session, "prompts": [first, second], "words": WORDS}


@step("bare", editions=BOTH, order=60)
async def more_cancels(talk: Talk) -> Notes:
    """Cancellations of what does not run; a turn; one that is cancelled; and a turn after that."""
    session = await talk.new()
    talk.notify("session/cancel", {"sessionId": session})
    talk.notify("session/cancel", {"sessionId": "accord-check-nobody"})
    if not await lives(talk):
        raise StepFailed("the agent did not survive a cancellation of nothing", "ACCORD-CANCEL-002")
    after_idle = await answered_turn(talk, session, talk.options.prompt, "ACCORD-CANCEL-001")
    cancelled = await talk.begin(session)
    talk.notify("session/cancel", {"sessionId": session})
    await talk.answer(cancelled, "ACP-CANCEL-001", talk.options.turn_seconds)
    after_cancel = await answered_turn(talk, session, talk.options.prompt, "ACCORD-CANCEL-003")
    return {"session": session, "after_idle": after_idle, "cancelled": cancelled, "after_cancel": after_cancel}


@step("bare", editions=BOTH, order=62)
async def more_at_once(talk: Talk) -> Notes:
    """While a turn runs: a turn of another session, and then another prompt in its own.

    What a second prompt does to the first is not written anywhere, so nothing is demanded of either.
    """
    busy, other = await talk.new(), await talk.new()
    first = await talk.begin(busy)
    notes: Notes = {"busy": busy, "other": other, "first": first}
    modes = await _set_mode(talk, busy)
    notes["beside"] = talk.prompt(other, talk.options.prompt)
    bound = min(talk.options.turn_seconds, _AT_ONCE_SECONDS)
    notes["is_beside"] = await _comes(talk, notes["beside"], bound)
    second = talk.prompt(busy, talk.options.prompt)
    await talk.is_alive()
    notes |= {"second": second, "before_cancel": talk.now, **modes}
    talk.notify("session/cancel", {"sessionId": busy})
    bound = min(talk.options.turn_seconds, _NOTED_SECONDS)
    await _comes(talk, first, bound)
    talk.notify("session/cancel", {"sessionId": busy})
    await _comes(talk, second, bound)
    return notes


async def _set_mode(talk: Talk, session: str) -> Notes:
    """Set the mode that is set already, while the session works."""
    modes = _modes_of(talk, session)
    if modes is None:
        return {}
    id_ = talk.ask("session/set_mode", {"sessionId": session, "modeId": modes["currentModeId"]})
    return {"set_mode": id_, "is_mode_set": await _comes(talk, id_, talk.options.timeout_seconds)}


def _modes_of(talk: Talk, session: str) -> dict[str, Any] | None:
    for entry in talk.wire.entries:
        result = entry.message.get("result") if isinstance(entry.message, dict) and not entry.sent else None
        if isinstance(result, dict) and result.get("sessionId") == session:
            modes = result.get("modes")
            return modes if isinstance(modes, dict) and "currentModeId" in modes else None
    return None


async def _comes(talk: Talk, id_: Any, seconds: float) -> bool:
    """Whether a request is answered in time."""
    try:
        await talk.wire.answer(id_, seconds)
    except Silence:
        return False
    return True


@step("bare", editions=("v1",), order=64)
async def v1_more_request_cancels(talk: Talk) -> Notes:
    """A prompt that is taken back as a request, and requests taken back that nobody made or that have their answer."""
    session = await talk.new()
    prompt = await talk.begin(session)
    since = talk.now
    talk.notify("$/cancel_request", {"requestId": prompt})
    honoured = await _comes(talk, prompt, min(talk.options.timeout_seconds, 1.0))
    if not honoured:
        talk.notify("session/cancel", {"sessionId": session})
        await talk.answer(prompt, "ACCORD-REQCANCEL-001", talk.options.turn_seconds)
    nothing = talk.now
    for id_ in (prompt, 424242, "accord-check-nobody"):
        talk.notify("$/cancel_request", {"requestId": id_})
    if not await lives(talk):
        raise StepFailed("the agent did not survive it", "ACCORD-REQCANCEL-003", talk.wire.entries[nothing])
    return {"session": session, "prompt": prompt, "since": since, "honoured": honoured, "nothing": nothing}


@step("bare", editions=BOTH, order=95)
async def more_large_request(talk: Talk) -> Notes:
    """A request of five megabytes."""
    id_ = talk.ask("_accord.check/large", {"padding": "x" * LARGE_BYTES})
    await talk.answer(id_, "ACCORD-SIZE-001")
    return {"request": id_}


@step("bare", editions=BOTH, order=96)
async def more_large_prompt(talk: Talk) -> Notes:
    """A prompt of five megabytes, of which a model has to read little."""
    session = await talk.new()
    since = talk.now
    padding = {"accord.check/padding": "x" * LARGE_BYTES}
    prompt = talk.prompt(session, talk.options.prompt, _meta=padding)
    await talk.end_of_answered_turn(prompt, "ACCORD-SIZE-002")
    return {"session": session, "prompt": prompt, "since": since}


@step("own", editions=BOTH)
async def more_exit_while_busy(talk: Talk) -> Notes:
    """A turn that runs when its client goes away: the end of the process is the end of stdin."""
    await talk.shake_hands()
    session = await talk.new()
    since = talk.now
    prompt = await talk.begin(session)
    said = [entry for entry in talk.wire.entries[since:] if is_update(entry.message, session)]
    return {"session": session, "prompt": prompt, "said": len(said)}
