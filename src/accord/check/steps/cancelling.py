"""Turns that are cancelled while they go on, and a second prompt before the first one ended."""

from __future__ import annotations

from typing import Any

from accord.check.entry import is_state
from accord.check.rule import EditionName
from accord.check.step import Notes, step
from accord.check.steps.asking import heard
from accord.check.steps.capability import SESSIONS
from accord.check.steps.turns import TRACE
from accord.check.talk import PROMPT_RULE, Talk

__all__ = ["cancel", "cancel_with_meta", "end_of_cancelled", "two_prompts"]

CANCEL_RULE: dict[EditionName, str] = {"v1": "ACP-CANCEL-001", "v2_june": "ACP-CANCEL-001", "v2": "ACP-CANCEL-201"}


async def end_of_cancelled(talk: Talk, session: str, prompt: Any, since: int) -> None:
    """Wait for the end of a turn that was cancelled.

    Raises:
        StepFailed: It goes on all the same.
    """
    rule, seconds = CANCEL_RULE[talk.edition], talk.options.turn_seconds
    if talk.edition != "v2":
        await talk.answer(prompt, rule, seconds)
        return
    answer = await talk.answer(prompt, PROMPT_RULE[talk.edition], seconds)
    if "result" in answer:
        await talk.until(
            lambda entry: is_state(entry.message, session, "idle"), since, "a cancelled turn went on", rule, seconds
        )


async def _cancelled(talk: Talk, **params: Any) -> Notes:
    session = await talk.new()
    since = talk.now
    prompt = await talk.begin(session)
    place = talk.notify("session/cancel", {"sessionId": session, **params})
    await end_of_cancelled(talk, session, prompt, since)
    return {"session": session, "prompt": prompt, "cancel": place, "alive": await talk.is_alive()}


@step(gate=SESSIONS, order=20)
async def cancel(talk: Talk) -> Notes:
    """A turn is cancelled, at the place `cancel`; the session is left alone after that."""
    return await _cancelled(talk)


@step(gate=SESSIONS, order=21)
async def cancel_with_meta(talk: Talk) -> Notes:
    """The same with metadata beside the session's id; another turn shows that the session goes on."""
    notes = await _cancelled(talk, _meta=TRACE)
    return {**notes, "next": await talk.turn(notes["session"])}


@step(gate=SESSIONS, order=70)
async def two_prompts(talk: Talk) -> Notes:
    """A second prompt before the first one ended; then both are cancelled."""
    session = await talk.new()
    since = talk.now
    first = await talk.begin(session)
    second = talk.prompt(session, talk.options.prompt)
    place = talk.notify("session/cancel", {"sessionId": session})
    await end_of_cancelled(talk, session, first, since)
    await heard(talk, second, talk.options.turn_seconds)
    alive = await talk.is_alive()
    return {"session": session, "first": first, "second": second, "cancel": place, "alive": alive}
