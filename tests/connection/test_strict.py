"""Strict connections turn what is otherwise tolerated into errors, in both directions."""

import asyncio
from typing import Any

import pytest

from accord.connection import Handlers
from accord.errors import LocalProtocolError, NegotiationFailed, RemoteProtocolError
from accord.protocol import v1
from tests.connection.rig import RESULTS, agent_handlers, initialized, talk, until


async def test_a_strict_agent_refuses_custom_root_fields_and_unknown_variants() -> None:
    handlers = agent_handlers()
    handlers.on(v1.SESSION_PROMPT, lambda _: v1.PromptResponse("end_turn"))
    for strict, code in ((True, -32602), (False, None)):
        async with initialized("agent", handlers, strict=strict) as (_, hand):
            for params in (
                {"sessionId": "s", "prompt": [], "custom": 1},
                {"sessionId": "s", "prompt": [{"type": "hologram"}]},
            ):
                answer = await hand.request("session/prompt", params)
                assert answer.get("error", {}).get("code") == code


async def test_a_strict_client_drops_updates_that_deviate() -> None:
    seen: list[Any] = []
    handlers = Handlers()
    handlers.on(v1.SESSION_UPDATE, seen.append)
    async with initialized("client", handlers, strict=True) as (connection, hand):
        await hand.notify("session/update", {"sessionId": "s", "update": {"sessionUpdate": "new_thing"}})
        tool = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "kind": "teleport"}
        await hand.notify("session/update", {"sessionId": "s", "update": tool})
        tool = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "kind": "read"}
        await hand.notify("session/update", {"sessionId": "s", "update": tool})
        await until(lambda: len(seen) == 1)
        assert connection.counts.bad_notifications == 2


async def test_a_strict_side_does_not_send_what_does_not_fit() -> None:
    async with initialized("agent", strict=True) as (connection, hand):
        for bad in (
            v1.ToolCallUpdated("t", kind="teleport"),
            v1.ToolCallUpdated("t", status=5),  # type: ignore[arg-type]
            v1.AgentMessageChunk("text"),  # type: ignore[arg-type]
        ):
            with pytest.raises(LocalProtocolError):
                await connection.notify(v1.SESSION_UPDATE, v1.SessionNotification("s", bad))
        with pytest.raises(LocalProtocolError) as caught:
            await connection.call(v1.FS_READ_TEXT_FILE, v1.ReadTextFileRequest("s", "/x", line=-1))
        assert caught.value.field == "line"
        await connection.notify(v1.SESSION_UPDATE, v1.SessionNotification("s", v1.ToolCallUpdated("t", kind="read")))
        assert (await hand.hear())["params"]["update"]["kind"] == "read"


async def test_a_strict_agent_does_not_answer_with_what_does_not_fit() -> None:
    handlers = agent_handlers()
    handlers.on(v1.SESSION_PROMPT, lambda _: v1.PromptResponse("bored"))
    async with initialized("agent", handlers, strict=True) as (_, hand):
        answer = await hand.request("session/prompt", {"sessionId": "s", "prompt": []})
        assert answer["error"]["code"] == -32603


async def test_a_strict_client_refuses_a_number_that_does_not_fit_the_answer() -> None:
    async with talk("client", strict=True) as (connection, hand):
        calling = asyncio.ensure_future(connection.call(v1.INITIALIZE, v1.InitializeRequest(1)))
        asked = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {**RESULTS["v1"], "protocolVersion": 2}})
        with pytest.raises(NegotiationFailed):
            await calling


async def test_a_strict_client_refuses_results_that_deviate() -> None:
    async with initialized("client", strict=True) as (connection, hand):
        calling = asyncio.ensure_future(connection.call(v1.SESSION_NEW, v1.NewSessionRequest("/", [])))
        asked = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"sessionId": "s", "custom": True}})
        with pytest.raises(RemoteProtocolError):
            await calling
