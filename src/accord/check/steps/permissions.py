"""Clients that answer questions for permission late, or with a word of their own."""

from __future__ import annotations

from contextlib import suppress

from accord.check.entry import Entry, is_answer, is_request, is_state, is_update
from accord.check.step import Notes, step
from accord.check.steps.cancelling import end_of_cancelled
from accord.check.steps.capability import SESSIONS
from accord.check.talk import Talk
from accord.check.wire import Silence

__all__ = ["strange_outcome", "unanswered_permission"]

ASK = "session/request_permission"
CANCELLED = {"outcome": {"outcome": "cancelled"}}


@step(gate=SESSIONS, order=60)
async def unanswered_permission(talk: Talk) -> Notes:
    """A turn is cancelled while the agent waits for a permission, if it asks for one; then idle is cancelled.

    The question is answered `cancelled`, as clients must, when the agent had the time to take it back: a sign of life
    after the cancellation. `asked` are the places of the questions, `cancel` that of the cancellation, `idle_cancel`
    that of the one behind the end.
    """
    session = await talk.new()
    since = talk.now
    with talk.replying(session__request_permission=lambda _: None):
        prompt = talk.prompt(session, talk.options.tool_prompt or talk.options.cancel_prompt)
        await _question_or_work(talk, session, prompt, since)
        await talk.is_alive()
        cancel = talk.notify("session/cancel", {"sessionId": session})
        await talk.is_alive()
    questions = [entry for entry in talk.wire.entries[since:] if not entry.sent and is_request(entry.message, ASK)]
    for entry in questions:
        talk.wire.say({"jsonrpc": "2.0", "id": entry.message["id"], "result": CANCELLED})
    await end_of_cancelled(talk, session, prompt, since)
    idle = talk.notify("session/cancel", {"sessionId": session})
    return {
        "session": session,
        "prompt": prompt,
        "asked": [entry.place for entry in questions],
        "cancel": cancel,
        "idle_cancel": idle,
        "alive": await talk.is_alive(),
    }


async def _question_or_work(talk: Talk, session: str, prompt: object, since: int) -> None:
    """Wait for the question; where nobody said how to provoke one, until the agent speaks."""
    speech = () if talk.options.tool_prompt else ("agent_message", "agent_message_chunk")

    def is_sign(entry: Entry) -> bool:
        ended = talk.edition != "v2" and is_answer(entry.message, prompt)
        spoke = bool(speech) and is_update(entry.message, session, *speech)
        return ended or spoke or is_request(entry.message, ASK) or is_state(entry.message, session, "idle")

    seconds = talk.options.turn_seconds if talk.options.tool_prompt else min(talk.options.turn_seconds, 3.0)
    # Without a sign there is work to be cancelled, and no question.
    with suppress(Silence):
        await talk.wire.until(is_sign, since, seconds)


@step(gate=SESSIONS, order=61)
async def strange_outcome(talk: Talk) -> Notes:
    """A client answers a question for permission with a word of its own; `asked` are the places of the questions."""
    session = await talk.new()
    since = talk.now
    with talk.replying(session__request_permission=lambda _: {"outcome": {"outcome": "_later", "when": "tomorrow"}}):
        prompt = await talk.turn(session, talk.options.tool_prompt or talk.options.prompt)
    asked = [entry.place for entry in talk.wire.entries[since:] if not entry.sent and is_request(entry.message, ASK)]
    return {"session": session, "prompt": prompt, "asked": asked, "alive": await talk.is_alive()}
