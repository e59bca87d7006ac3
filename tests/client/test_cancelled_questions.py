"""Questions that cross with a cancel: one in a cancelled turn is answered at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.session.event import Noticed
from accord.testing import AgentPeer, ScriptedAgent, join
from tests.limits import limit
from tests.tables import rows

OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


async def never(_question: Any) -> Any:
    """The user has gone away."""
    await asyncio.Event().wait()


@rows(
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


@rows(
    ("method", "params", "answered", "told"),
    [
        (
            "session/request_permission",
            {"toolCall": {"toolCallId": "t1", "title": "May I?"}, "options": OPTIONS},
            {"outcome": "selected", "optionId": "yes"},
            ["Another client of this session answered: Yes"],
        ),
        (
            "session/request_permission",
            {"toolCall": {"toolCallId": "t1", "title": "May I?"}, "options": OPTIONS},
            {"outcome": "cancelled"},
            ["Another client of this session dismissed the question"],
        ),
        (
            "elicitation/create",
            {"mode": "form", "message": "Who?", "requestedSchema": FORM},
            {"action": "decline"},
            ["Another client of this session answered: decline"],
        ),
        # Withdrawn for another reason, or by an agent that says something else there.
        ("elicitation/create", {"mode": "form", "message": "Who?", "requestedSchema": FORM}, None, []),
        ("elicitation/create", {"mode": "form", "message": "Who?", "requestedSchema": FORM}, ["yes"], []),
        ("elicitation/create", {"mode": "form", "message": "Who?", "requestedSchema": FORM}, {"action": 7}, []),
    ],
)
async def test_a_question_that_another_client_answered_is_withdrawn_and_a_notice_says_which_answer_counts(
    method: str, params: dict[str, Any], answered: Any, told: list[str], tmp_path: Path
) -> None:
    asked = asyncio.Event()

    async def ask(_question: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        question = await peer.request(method, {"sessionId": session, **params})
        await asked.wait()
        meta = {} if answered is None else {"_meta": {"accord/answered": answered}}
        await peer.notify("$/cancel_request", {"requestId": question, **meta})
        assert (await peer.expect_answer(question)).error["code"] == -32800
        await peer.end(prompt, "end_turn")

    notices: list[Noticed] = []
    async with asyncio.timeout(limit(10)), join(ScriptedAgent(script), permission=ask, elicit=ask) as remote:
        session = await remote.new_session(tmp_path)
        session.listen(lambda event: notices.append(event) if isinstance(event, Noticed) else None)
        await session.prompt("go")

    assert [notice.title for notice in notices] == told
    assert all(notice.meta == {"accord/answered": answered} for notice in notices)


async def test_a_question_without_options_is_dismissed_with_a_notice(tmp_path: Path) -> None:
    answers = []
    notices: list[Noticed] = []

    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        params = {"sessionId": session, "toolCall": {"toolCallId": "t1", "title": "May I?"}, "options": []}
        answers.append((await peer.call("session/request_permission", params)).result)
        await peer.end(prompt)

    async with asyncio.timeout(limit(5)), join(ScriptedAgent(script), permission=never) as remote:
        session = await remote.new_session(tmp_path)
        session.listen(lambda event: notices.append(event) if isinstance(event, Noticed) else None)
        await session.prompt("go")

    assert answers == [{"outcome": {"outcome": "cancelled"}}]
    assert [notice.severity for notice in notices] == ["warning"]


async def test_the_first_question_without_a_callback_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answers = []

    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        for call in ("t1", "t2"):
            params = {"sessionId": session, "toolCall": {"toolCallId": call}, "options": OPTIONS}
            answers.append((await peer.call("session/request_permission", params)).result)
        await peer.end(prompt)

    async with asyncio.timeout(limit(5)), accord.connect(ScriptedAgent(script)) as remote:
        session = await remote.new_session(tmp_path)
        await session.prompt("go").wait()

    assert answers == [{"outcome": {"outcome": "cancelled"}}] * 2
    assert [each.name for each in caplog.records] == ["accord.client"]
