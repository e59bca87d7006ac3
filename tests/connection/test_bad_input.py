"""Bad input: the answer to each kind, without anything internal, and the connection lives on.

Processes that misbehave are in tests/conversations; answers that are none in test_calls; handlers in test_answers.
"""

import asyncio
import json
from typing import Any, NamedTuple

import pytest

from accord.connection import Handlers
from accord.protocol import v1, v2
from accord.protocol.edition import V1, V2, Edition
from accord.protocol.model import Unknown
from tests.connection.rig import EDITIONS, Hand, agent_handlers, initialized, until
from tests.tables import rows

SECRET = "received-value-0815"  # noqa: S105 - what must not be echoed


class Case(NamedTuple):
    name: str
    text: bytes
    code: int | None
    """What it is answered with; None where it must not be answered."""
    id: Any = None
    editions: tuple[Edition, ...] = EDITIONS


def request(id_: str, method: str = "session/new", params: str = '{"cwd":"/","mcpServers":[]}') -> bytes:
    return f'{{"jsonrpc":"2.0","id":{id_},"method":"{method}","params":{params}}}'.encode()


NESTED = b"[" * 100_000
CASES = [
    Case("broken JSON", b'{"jsonrpc": "2.0", "id": 1, ' + SECRET.encode(), -32700),
    Case("half a string", b'"abc', -32700),
    Case("no JSON at all", b"Starting server ... " + SECRET.encode(), -32700),
    Case("a number", b"42", -32600),
    Case("a string", b'"text"', -32600),
    Case("true", b"true", -32600),
    Case("null", b"null", -32600),
    Case("NaN", b"NaN", -32700),
    Case("an empty array", b"[]", -32600),
    Case("an array of scalars", b"[1,2]", -32600, editions=(V1, V2)),
    Case("an array of requests", b"[" + request("1") + b"]", -32600, editions=(V1, V2)),
    Case("a broken array", b"[1,", -32700),
    Case("an empty object", b"{}", -32600),
    Case("bad UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', -32700),
    Case("bad UTF-8 in an unknown key", b'{"jsonrpc":"2.0","id":1,"method":"session/new","x":"\xff"}', -32700),
    Case("100,000 nested arrays", NESTED, -32700),
    Case("100,000 nested arrays that end", NESTED + b"]" * 100_000, -32700),
    Case("100,000 nested arrays in params", request("1", params=(NESTED + b"]" * 100_000).decode()), -32700),
    Case("an id that is an object", request('{"a":1}'), -32600),
    Case("an id that is an array", request("[1]"), -32600),
    Case("an id that is a fraction", request("1.5"), -32600),
    Case("an id that is a float", request("1.0"), -32600),
    Case("an id that is a bool", request("true"), -32600),
    Case("an id beyond 64 bits", request("9223372036854775808"), -32600),
    Case("a null id", request("null"), -32600, editions=(V2,)),
    Case("no version", b'{"id":1,"method":"session/new"}', -32600, 1),
    Case("another version", b'{"jsonrpc":"1.0","id":1,"method":"session/new"}', -32600, 1),
    Case("a method that is a number", b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1),
    Case("a method that is null", b'{"jsonrpc":"2.0","id":"x","method":null}', -32600, "x"),
    Case("a request and an answer", b'{"jsonrpc":"2.0","id":1,"method":"x","result":1}', -32600, 1),
    Case("an unknown method", request("1", "session/fly"), -32601, 1),
    Case("an unknown extension", request("1", "_session/fly"), -32601, 1),
    Case("a method of the other side", request("1", "session/update"), -32601, 1),
    Case("an empty method", request("1", ""), -32601, 1),
    Case("an unknown protocol method", request("1", "$/fly"), -32601, 1),
    Case("an unknown notification", b'{"jsonrpc":"2.0","method":"session/fly"}', None),
    Case("an unknown extension notification", b'{"jsonrpc":"2.0","method":"_fly","params":[1]}', None),
    Case("an unknown protocol notification", b'{"jsonrpc":"2.0","method":"$/fly","params":{}}', None),
    Case("a known notification with bad params", b'{"jsonrpc":"2.0","method":"session/cancel","params":5}', None),
    Case("a response to nothing", b'{"jsonrpc":"2.0","id":77,"result":{}}', None),
    Case("an error to nothing", b'{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"m"}}', None),
    Case("an error without an id", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}', None),
    Case("an error that is a string", b'{"jsonrpc":"2.0","id":77,"error":"no"}', None),
    Case("a result and an error", b'{"jsonrpc":"2.0","id":77,"result":1,"error":{"code":1,"message":"m"}}', None),
    Case("an answer under an odd id", b'{"jsonrpc":"2.0","id":{},"result":1}', None),
    Case("params that are a string", request("1", params=f'"{SECRET}"'), -32602, 1),
    Case("params that are a number", request("1", params="5"), -32602, 1),
    Case("params that are an array", request("1", params='["/"]'), -32602, 1),
    Case("a field of the wrong type", request("1", params=f'{{"cwd":["{SECRET}"],"mcpServers":[]}}'), -32602, 1),
    Case("a missing field", request("1", params='{"mcpServers":[]}'), -32602, 1),
    Case("no params where some are required", b'{"jsonrpc":"2.0","id":1,"method":"session/new"}', -32602, 1),
    Case("a broken list", request("1", params='{"cwd":"/","mcpServers":{"a":1}}'), -32602, 1),
]


async def nothing_but_the_probe(hand: Hand) -> None:
    """The next thing heard is the answer to a probe: nothing was answered before it."""
    id_ = await hand.ask("_probe")
    assert (await hand.hear())["id"] == id_


@rows("edition", EDITIONS)
@rows("case", CASES)
async def test_an_agent_answers_bad_input_and_lives(case: Case, edition: Edition) -> None:
    if edition not in case.editions:
        return
    async with initialized("agent", edition=edition) as (_, hand):
        await hand.say(case.text)
        if case.code is not None:
            answer = await hand.hear()
            assert (answer["id"], answer["error"]["code"]) == (case.id, case.code)
            assert type(answer["id"]) is type(case.id)
            assert SECRET not in json.dumps(answer)
            if case.code == -32602:
                assert set(answer["error"]["data"]) == {"field", "expected"}
            if case.code == -32601:
                assert set(answer["error"]["data"]) == {"method"}
        await nothing_but_the_probe(hand)


@rows("case", CASES)
async def test_a_client_survives_bad_input(case: Case) -> None:
    async with initialized("client") as (_, hand):
        await hand.say(case.text)
        assert await hand.is_alive()


async def test_stray_prints_of_an_agent_are_counted_and_not_answered() -> None:
    async with initialized("client") as (connection, hand):
        await hand.say("Loading model ... 42%")
        await hand.say("Traceback (most recent call last):")
        await nothing_but_the_probe(hand)
        assert connection.counts.malformed == 2


async def test_absent_and_null_params_count_as_empty() -> None:
    handlers = agent_handlers()
    handlers.on(v1.LOGOUT, lambda _: None)
    async with initialized("agent", handlers) as (_, hand):
        await hand.say('{"jsonrpc":"2.0","id":1,"method":"logout"}')
        await hand.say('{"jsonrpc":"2.0","id":2,"method":"logout","params":null}')
        assert [(await hand.hear())["result"], (await hand.hear())["result"]] == [{}, {}]


# --- what a client may meet in session/update


def update(inner: str) -> bytes:
    return f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{inner}}}}}'.encode(
        "utf-8", "surrogatepass"
    )


CHUNK = '{"sessionUpdate":"agent_message_chunk","messageId":"m","content":%s}'
PLAIN = CHUNK % '{"type":"text","text":"plain"}'
KEPT = {
    "an unknown update": '{"sessionUpdate":"from_the_future","x":{"y":[1]}}',
    "an unknown content block": CHUNK % '{"type":"hologram","q":1}',
    "an unknown tool kind": '{"sessionUpdate":"tool_call_update","toolCallId":"t","kind":"teleport"}',
    "an unknown tool status": '{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"dreaming"}',
    "a lone surrogate": CHUNK % '{"type":"text","text":"\\ud83d"}',
    "a bad optional field": '{"sessionUpdate":"tool_call_update","toolCallId":"t","status":["x"]}',
    "meta of any kind": '{"sessionUpdate":"session_info_update","_meta":{"a":[null,1.5,{"b":"c"}]}}',
}


@rows("first", [True, False])
@rows("edition", [V1, V2])
@rows("inner", KEPT.values())
async def test_what_is_unknown_is_delivered_and_kept(inner: str, edition: Edition, first: bool) -> None:  # noqa: FBT001
    seen: list[Any] = []
    handlers = Handlers()
    handlers.on(v1.SESSION_UPDATE if edition is V1 else v2.SESSION_UPDATE, seen.append)
    async with initialized("client", handlers, edition) as (connection, hand):
        if not first:
            await hand.say(update(PLAIN))
        await hand.say(update(inner))
        await hand.say(update(PLAIN))
        await until(lambda: len(seen) == (2 if first else 3))
        value = seen[-2].update
        if isinstance(value, Unknown):
            assert value.payload == json.loads(inner)
        assert connection.counts.bad_notifications == 0


BAD = {
    "a known tag with a bad payload": '{"sessionUpdate":"agent_message_chunk","messageId":"m","content":5}',
    "a known block with a bad payload": CHUNK % '{"type":"text"}',
    "no tag": '{"title":"x"}',
    "a tag that is a number": '{"sessionUpdate":5}',
    "an update that is a string": '"x"',
    "a missing id": '{"sessionUpdate":"tool_call_update"}',
}


@rows("first", [True, False])
@rows("inner", BAD.values())
async def test_a_bad_update_is_dropped_alone_and_counted(inner: str, first: bool) -> None:  # noqa: FBT001
    seen: list[Any] = []
    handlers = Handlers()
    handlers.on(v1.SESSION_UPDATE, seen.append)
    async with initialized("client", handlers) as (connection, hand):
        if not first:
            await hand.say(update(PLAIN))
        await hand.say(update(inner))
        await hand.say(update(PLAIN))
        await until(lambda: len(seen) == (1 if first else 2))
        assert connection.counts.bad_notifications == 1
        assert await hand.is_alive()


async def test_a_stream_that_turns_into_something_else_is_read_as_what_it_is() -> None:
    seen: list[Any] = []
    handlers = Handlers()
    handlers.on(v1.SESSION_UPDATE, seen.append)
    async with initialized("client", handlers) as (_, hand):
        await hand.say(update(PLAIN))
        await until(lambda: len(seen) == 1)
        head = '{"jsonrpc":"2.0","method":"session/update",'
        params = f'"params":{{"sessionId":"s","update":{PLAIN}}}'
        # A request, not a notification; another method by a second key; an answer to nothing.
        await hand.say(f'{head}{params},"id":5}}')
        assert (await hand.hear())["error"]["code"] == -32601
        await hand.say(f'{head}{params},"method":"session/fly"}}')
        await hand.say(f'{head}{params},"jsonrpc":"1.0"}}')
        assert (await hand.hear())["error"]["code"] == -32600
        assert await hand.is_alive()
        assert len(seen) == 1


async def test_a_stop_reason_from_the_future_reaches_the_caller() -> None:
    async with initialized("client") as (connection, hand):
        prompt = v1.PromptRequest("s", [v1.TextContent("x")])
        calling = asyncio.ensure_future(connection.call(v1.SESSION_PROMPT, prompt))
        asked = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"stopReason": "bored"}})
        assert (await calling).stop_reason == "bored"


async def test_what_leniency_dropped_is_counted() -> None:
    handlers = Handlers()
    seen: list[Any] = []
    handlers.on(v1.SESSION_UPDATE, seen.append)
    async with initialized("client", handlers) as (connection, hand):
        await hand.say(update('{"sessionUpdate":"tool_call_update","toolCallId":"t","status":4,"title":5}'))
        await until(lambda: len(seen) == 1)
        assert connection._codec.dropped == 2


async def test_a_bug_of_ours_is_answered_and_does_not_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async with initialized("agent") as (connection, hand):
        failing = RuntimeError(SECRET)

        def fail(*_: Any) -> Any:
            raise failing

        with monkeypatch.context() as broken:
            broken.setattr(connection._codec, "decode", fail)
            answer = await hand.request("session/new", {"cwd": "/", "mcpServers": []})
            assert answer["error"]["code"] == -32603
            assert SECRET not in json.dumps(answer)
            await hand.notify("session/cancel", {"sessionId": "s"})
            assert await hand.is_alive()
        assert connection.counts.internal_errors == 1
        assert "result" in await hand.request("session/new", {"cwd": "/", "mcpServers": []})
