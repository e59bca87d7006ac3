"""A scripted peer sends exactly what its script says, waits in any order, and reports missing messages."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from accord.testing import AgentPeer, ClientPeer, JsonRpcMessage, ScriptFailed
from accord.testing.peer import GARBAGE, ScriptExit
from accord.transport import memory_pair
from accord.transport.interface import Transport
from tests.tables import rows


def pair(patience_seconds: float = 10.0) -> tuple[AgentPeer, ClientPeer]:
    left, right = memory_pair()
    return AgentPeer(left, patience_seconds=patience_seconds), ClientPeer(right, patience_seconds=patience_seconds)


async def test_what_is_expected_may_have_come_before_something_else() -> None:
    agent, client = pair()
    await client.notify("first")
    await client.notify("second", {"sessionId": "b"})
    await client.notify("second", {"sessionId": "a"})

    assert (await agent.expect("second", session="a")).session == "a"
    assert (await agent.expect("second")).session == "b"
    assert (await agent.expect("first")).is_notification
    assert [message.method for message in agent.received] == ["first", "second", "second"]


async def test_a_question_is_answered_failed_or_answered_with_null() -> None:
    agent, client = pair()
    ids = [await client.request("question") for _ in range(3)]
    await agent.answer(await agent.expect("question"), {"ok": True})
    await agent.fail(await agent.expect("question"), -32002, "gone", {"why": "lost"})
    await agent.answer_null(await agent.expect("question"))

    assert ids == [0, 1, 2]
    assert (await client.expect_answer(2))["result"] is None
    assert (await client.expect_answer(1)).error == {"code": -32002, "message": "gone", "data": {"why": "lost"}}
    assert (await client.expect_answer(0)).result == {"ok": True}


async def test_asking_waits_for_the_answer_while_other_things_come() -> None:
    agent, client = pair()
    asking = asyncio.ensure_future(client.call("question", id="mine"))
    request = await agent.expect("question")
    await agent.notify("something else")
    await agent.request("another question", id="mine")
    await agent.answer(request)

    assert (await asking).result == {}
    assert (await client.expect("another question")).is_request


async def test_ids_of_two_types_are_two_ids() -> None:
    agent, client = pair(0.05)
    await client.request("question", id=1)
    await agent.answer_with_other_id(await agent.expect("question"), id="1")

    with pytest.raises(ScriptFailed):
        await client.expect_answer(1)
    assert (await client.expect_answer("1")).result == {}


async def test_what_does_not_come_is_told_with_what_came_instead() -> None:
    agent, client = pair(0.05)
    await client.notify("hello")

    with pytest.raises(ScriptFailed) as caught:
        await agent.expect("initialize")
    assert [message.method for message in caught.value.received] == ["hello"]


async def test_a_peer_that_leaves_ends_every_wait() -> None:
    agent, client = pair()
    await client.close()

    with pytest.raises(ScriptFailed):
        await agent.expect("initialize")
    await agent.expect_end()


async def test_an_end_that_does_not_come_is_told() -> None:
    agent, _client = pair(0.05)

    with pytest.raises(ScriptFailed):
        await agent.expect_end()


async def test_a_standing_answer_is_given_each_time() -> None:
    agent, client = pair()
    agent.always("plain")
    agent.always("made", lambda request: {"seen": request.params["n"]})
    agent.always("refused", {"error": {"code": 7, "message": "no"}})
    listening = asyncio.ensure_future(agent.expect_end())

    assert (await client.call("plain")).result == {}
    assert [(await client.call("made", {"n": n})).result["seen"] for n in (1, 2)] == [1, 2]
    assert (await client.call("refused")).error["code"] == 7
    await client.close()
    await listening


async def test_everything_that_comes_can_be_looped_over_until_the_end() -> None:
    agent, client = pair()
    await client.notify("one")
    await client.notify("two")
    await agent.expect("two")
    await client.notify("three")
    await client.close()

    assert [message.method async for message in agent.requests()] == ["one", "three"]


async def test_a_script_that_is_over_refuses_what_is_asked() -> None:
    agent, client = pair()
    finishing = asyncio.ensure_future(agent.finish())

    assert (await client.call("session/prompt")).error["code"] == -32601
    await client.close()
    await finishing


async def texts(transport: Transport, count: int) -> list[bytes]:
    received: list[bytes] = []
    while len(received) < count:
        received += await transport.receive()
    return received


async def test_garbage_is_said_as_it_is() -> None:
    agent, client = pair()

    await agent.garbage()
    assert await texts(client.transport, len(GARBAGE)) == list(GARBAGE.values())
    await agent.garbage("a number", "words")
    assert await texts(client.transport, 2) == [b"42", b"Debugger attached."]


async def test_what_is_heard_and_is_no_message_is_noise() -> None:
    agent, client = pair()
    await client.say(b"hello?")
    await client.say([{"method": "in an array"}])

    await agent.expect("in an array")
    assert agent.noise == [b"hello?"]


async def test_an_answer_can_be_given_twice_and_under_anothers_id() -> None:
    agent, client = pair()
    await client.request("question")
    request = await agent.expect("question")
    await agent.answer_twice(request, {"n": 1}, {"n": 2})
    await agent.answer_with_other_id(request)

    assert [(await client.expect_answer(0)).result["n"] for _ in range(2)] == [1, 2]
    assert (await client.expect_answer("not 0")).result == {}


async def test_a_flood_is_so_many_updates() -> None:
    agent, client = pair()
    flooding = asyncio.ensure_future(agent.flood("s", 20_000, "drop"))
    assert len(await texts(client.transport, 20_000)) == 20_000
    await flooding


async def test_exit_is_for_whoever_runs_the_script() -> None:
    agent, _ = pair()

    with pytest.raises(ScriptExit) as caught:
        agent.exit(3)
    assert caught.value.status == 3


@rows(
    ("edition", "keys"),
    [
        ("v1", {"agentInfo", "agentCapabilities", "authMethods", "protocolVersion"}),
        ("false v2", {"agentInfo", "agentCapabilities", "authMethods", "protocolVersion"}),
        ("v2", {"info", "capabilities", "protocolVersion"}),
        ("v2_june", {"agentInfo", "capabilities", "protocolVersion"}),
    ],
)
async def test_two_scripts_greet_in_every_edition(edition: Any, keys: set[str]) -> None:
    agent, client = pair()
    greeting = asyncio.ensure_future(client.greet(edition, {"x": 1}, _meta={"y": 2}))
    request = await agent.greet(edition)

    assert request.params["_meta"] == {"y": 2}
    answer = await greeting
    assert set(answer.result) == keys
    assert answer.result["protocolVersion"] == (1 if edition == "v1" else 2)


async def test_a_second_greeting_is_answered_like_the_first() -> None:
    agent, client = pair()
    await client.request("initialize")
    await client.request("initialize")
    await agent.greet("v2", more=1)
    await client.close()
    await agent.expect_end()

    assert len(agent.received) == 2


@rows("edition", ["v1", "v2", "v2_june"])
async def test_two_scripts_have_a_turn_in_every_edition(edition: Any) -> None:
    agent, client = pair()

    async def serve() -> JsonRpcMessage:
        await agent.greet(edition)
        session = await agent.open_session("s")
        prompt = await agent.take_prompt()
        given = await agent.permit(session, {"toolCallId": "t", "title": "Write"})
        await agent.chunk(session, "done")
        await agent.end(prompt, "max_tokens")
        return given

    client.always("session/request_permission", {"outcome": {"outcome": "selected", "optionId": "allow"}})
    serving = asyncio.ensure_future(serve())
    await client.greet(edition)
    session = await client.open_session()

    assert await client.turn(session, "go", {"type": "text", "text": "!"}) == "max_tokens"
    assert (await serving).result["outcome"]["optionId"] == "allow"
    chunks = [each for each in client.updates("s") if each["sessionUpdate"] == "agent_message_chunk"]
    assert [chunk["content"]["text"] for chunk in chunks] == ["done"]
    assert all(("messageId" in chunk) == (edition != "v1") for chunk in chunks)


async def test_a_cancel_is_a_notification_of_the_session() -> None:
    agent, client = pair()
    await client.cancel("s")

    assert (await agent.expect("session/cancel", session="s")).is_notification


def test_a_lone_surrogate_can_be_said() -> None:
    from accord.testing.message import text_of  # noqa: PLC0415

    assert text_of({"text": "\ud83d"}) == b'{"text":"\xed\xa0\xbd"}'
    assert json.loads(text_of({"text": "é"})) == {"text": "é"}
