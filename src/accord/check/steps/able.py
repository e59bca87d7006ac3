"""A client that offers everything: its whole handshake, a session, a turn."""

from __future__ import annotations

from accord.check.step import Notes, step
from accord.check.steps.capability import SESSIONS
from accord.check.talk import StepFailed, Talk

__all__ = ["meet_able"]


@step("able", gate=SESSIONS, order=10)
async def meet_able(talk: Talk) -> Notes:
    """`initialized` is the result of its handshake; `prompt` the request of its turn."""
    new = talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": []})
    result = (await talk.answer(new, "ACP-SESSION-001")).get("result")
    session = result.get("sessionId") if isinstance(result, dict) else None
    if not isinstance(session, str):
        raise StepFailed("session/new gave no session id", "ACP-SESSION-001")
    prompt = await talk.turn(session, talk.options.tool_prompt or talk.options.prompt)
    alive = await talk.is_alive()
    return {"initialized": talk.initialized, "new": new, "session": session, "prompt": prompt, "alive": alive}
