"""The findings of the fuzzer, each as the smallest line that showed it."""

from __future__ import annotations

import json
from typing import Any

from accord.connection import Handlers
from accord.protocol import v1, v2, v2_june
from accord.protocol.edition import V1, V2, Edition
from tests.connection.rig import EDITIONS, agent_handlers, initialized
from tests.tables import rows

BAD = b"\xff"
PROMPTS: list[Any] = [v1.SESSION_PROMPT, v2.SESSION_PROMPT, v2_june.SESSION_PROMPT]


def update(**more: Any) -> bytes:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "t"}, **more}
    return json.dumps(
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": chunk}},
        separators=(",", ":"),
    ).encode()


@rows("edition", EDITIONS)
@rows(
    "wrong",
    [
        {"size": "\ud83d"},
        {"annotations": {"priority": "\ud83d"}},
        {"size": "\ud83d", "annotations": {"audience": ["\ud83d"], "priority": True}},
    ],
)
async def test_a_lone_surrogate_where_a_number_belongs_does_not_end_the_connection(
    edition: Edition, wrong: dict[str, Any]
) -> None:
    handlers = agent_handlers()
    async with initialized("agent", handlers, edition) as (connection, hand):
        link = {"type": "resource_link", "name": "n", "uri": "u", **wrong}
        for method in PROMPTS:
            handlers.on(method, lambda _: None)
        await hand.ask("session/prompt", {"sessionId": "s", "prompt": [link]})
        assert await hand.is_alive()
        assert connection.is_open


async def test_a_lone_surrogate_for_a_line_number_does_not_end_a_client() -> None:
    handlers = Handlers()
    async with initialized("client", handlers, V2) as (connection, hand):
        heard: list[Any] = []
        handlers.on(v2.SESSION_UPDATE, heard.append)
        locations = [{"path": "/a", "line": "\ud83d"}]
        tool = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "locations": locations}
        await hand.notify("session/update", {"sessionId": "s", "update": tool})
        assert await hand.is_alive()
        assert connection.is_open
        assert len(heard) == 1


async def test_bad_utf8_in_a_key_that_nobody_reads_is_refused_also_in_a_stream() -> None:
    heard: list[Any] = []
    handlers = Handlers()
    handlers.on(v1.SESSION_UPDATE, heard.append)
    async with initialized("client", handlers, V1) as (_, hand):
        await hand.say(update())
        await hand.say(update())
        await hand.say(update(unread="@").replace(b"@", BAD))
        answer = await hand.hear()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert len(heard) == 2


async def test_bad_utf8_in_a_key_that_nobody_reads_is_refused_also_in_a_large_request() -> None:
    handlers = agent_handlers()
    handlers.on(v1.SESSION_PROMPT, lambda _: v1.PromptResponse("end_turn"))
    async with initialized("agent", handlers, V1) as (_, hand):
        params = {"sessionId": "s", "prompt": [{"type": "text", "text": "x" * 9000, "unread": "@"}]}
        message = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params}
        await hand.say(json.dumps(message, separators=(",", ":")).encode().replace(b"@", BAD))
        answer = await hand.hear()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)


@rows("number", [b"1e999", b"9" * 5000])
async def test_a_notification_with_a_surrogate_and_a_number_that_cannot_be_kept_is_not_answered(number: bytes) -> None:
    async with initialized("client", Handlers(), V1) as (connection, hand):
        await hand.say(b'{"jsonrpc":"2.0","method":"session/update","params":{"a":"\\ud83d","n":%s}}' % number)
        id_ = await hand.ask("_probe")
        assert (await hand.hear())["id"] == id_
        assert connection.counts.malformed == 1
