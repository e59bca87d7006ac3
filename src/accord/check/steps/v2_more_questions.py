"""Clients of v2 that can be asked some things only, or answer in words from the future; and one that leaves."""

from __future__ import annotations

from accord.check.step import Notes, step
from accord.check.steps.v2_more_asking import heard, settle, wait_for_question
from accord.check.steps.v2_more_sessions import SESSION
from accord.check.talk import BARE, Talk

__all__: list[str] = []


@step("own", editions=("v2",), gate=SESSION)
async def v2_only_links(talk: Talk) -> Notes:
    """A client that opens links and has no forms; it leaves in the middle of a turn."""
    params = {**BARE["v2"], "capabilities": {"elicitation": {"url": {}}}}
    await talk.result("initialize", params, "ACP-INIT-001")
    if talk.options.auth_method:
        await talk.log_in()
    session = await talk.new()
    await talk.turn(session, talk.options.tool_prompt or talk.options.prompt)
    working = await talk.begin(session)
    await heard(talk, working)
    return {"session": session, "working": working}


@step("able", editions=("v2",), gate=SESSION)
async def v2_strange_answer(talk: Talk) -> Notes:
    """A question is answered with an action that nobody knows."""
    session = await talk.new()
    since = talk.now
    with talk.replying(elicitation__create=lambda _: {"action": "_accord.check/later"}):
        prompt = talk.prompt(session, talk.options.tool_prompt or talk.options.prompt)
        answer = await talk.answer(prompt, "ACP-PROMPT-201")
        idle = await settle(talk, session, since) if "result" in answer else None
    return {"session": session, "since": since, "prompt": prompt, "idle": idle}


@step("able", editions=("v2",), gate=SESSION)
async def v2_cancelled_form(talk: Talk) -> Notes:
    """Work is cancelled while it waits for the answer to a question."""
    session = await talk.new()
    since = talk.now
    with talk.replying(elicitation__create=lambda _: None):
        prompt = talk.prompt(session, talk.options.tool_prompt or talk.options.prompt)
        asked = await wait_for_question(talk, "elicitation/create", session, since, prompt)
        if asked is None:
            await heard(talk, prompt)
            return {"session": session}
        cancelled = talk.notify("session/cancel", {"sessionId": session})
        idle = await settle(talk, session, cancelled)
    return {"session": session, "asked": asked, "cancelled": cancelled, "idle": idle}
