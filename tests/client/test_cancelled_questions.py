"""Questions that cross with a cancel: one in a cancelled turn is answered at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.testing import AgentPeer, ScriptedAgent, join
from tests.limits import limit

OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


async def never(_question: Any) -> Any:
    """The user has gone away."""
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        (
            "session/request_permission",
            {"toolCall": {"toolCallId": "t1", "title": "May I?"}, "options": OPTIONS},
            {"outcome": {"outcome": "cancelled"}},
        ),
        ("elicitation/create", {"mode": "form", "message": "Who?", "requestedSchema": FORM}, {"action": "cancel"}),
    ],
)
async def test_a_question_that_comes_after_the_cancel_of_its_turn_is_answered_so_at_once(
    method: str, params: dict[str, Any], expected: dict[str, Any], tmp_path: Path
) -> None:
    answers = []

    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        await peer.chunk(session, "going on")
        await peer.expect("session/cancel")
        answer = await peer.call(method, {"sessionId": session, **params})
        answers.append(answer.result)
        await peer.end(prompt, "cancelled")

    async with asyncio.timeout(limit(5)), join(ScriptedAgent(script), permission=never, elicit=never) as remote:
        session = await remote.new_session(tmp_path)
        async with session.prompt("go") as turn:
            async for _piece in turn.text_stream():
                turn.cancel()

    assert answers == [expected]
    assert turn.stop_reason == "cancelled"


async def test_the_next_turn_is_asked_for_again(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        await peer.chunk(session, "going on")
        await peer.expect("session/cancel")
        await peer.end(prompt, "cancelled")
        prompt = await peer.take_prompt()
        await peer.call(
            "session/request_permission", {"sessionId": session, "toolCall": {"toolCallId": "t1"}, "options": OPTIONS}
        )
        await peer.end(prompt, "end_turn")

    asked: list[accord.client.PermissionQuestion] = []

    def yes(question: accord.client.PermissionQuestion) -> bool:
        asked.append(question)
        return True

    async with asyncio.timeout(limit(5)), join(ScriptedAgent(script), permission=yes) as remote:
        session = await remote.new_session(tmp_path)
        async with session.prompt("go") as turn:
            async for _piece in turn.text_stream():
                turn.cancel()
        await session.prompt("again")

    assert len(asked) == 1
