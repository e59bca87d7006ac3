"""Calls end exactly once: with a typed result, or with an exception that says whose fault it was."""

import asyncio
from typing import Any

import pytest

from accord.connection import Connection
from accord.errors import (
    AccordError,
    AuthRequired,
    CallTimeout,
    ConnectionLost,
    InternalError,
    InvalidParams,
    LocalProtocolError,
    RateLimited,
    RemoteProtocolError,
    RequestError,
)
from accord.protocol import v1, v2, v2_june
from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from tests.connection.rig import Hand, initialized, talk, until
from tests.tables import rows

NEW = v1.NewSessionRequest("/", [])


def new_session(connection: Connection) -> "asyncio.Task[v1.NewSessionResponse]":
    return asyncio.ensure_future(connection.call(v1.SESSION_NEW, NEW))


async def answer(hand: Hand, **parts: Any) -> Any:
    request = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": request["id"], **parts})
    return request["id"]


async def test_a_result_is_typed() -> None:
    async with initialized("client") as (connection, hand):
        calling = new_session(connection)
        await answer(hand, result={"sessionId": "s", "modes": {"currentModeId": "m", "availableModes": []}})
        result = await calling
        assert result == v1.NewSessionResponse("s", modes=v1.SessionModeState("m", []))


ERRORS: list[tuple[dict[str, Any], type[AccordError]]] = [
    ({"code": -32000, "message": "m"}, AuthRequired),
    ({"code": -32099, "message": "m", "data": {"reason": "auth_required", "authMethods": [1]}}, AuthRequired),
    ({"code": -32001, "message": "m", "data": {"reason": "rate_limited", "retryAfter": 2}}, RateLimited),
    ({"code": -32602, "message": "m", "data": {"field": "cwd", "expected": "x"}}, InvalidParams),
    ({"code": -32603, "message": "m", "data": {"correlationId": "c"}}, InternalError),
    ({"code": 7, "message": "m", "data": [1]}, RequestError),
]


@rows(("error", "kind"), ERRORS)
async def test_an_error_is_raised_as_its_class(error: dict[str, Any], kind: type[RequestError]) -> None:
    async with initialized("client") as (connection, hand):
        calling = new_session(connection)
        await answer(hand, error=error)
        with pytest.raises(kind) as caught:
            await calling
        assert type(caught.value) is kind
        assert (caught.value.code, caught.value.data) == (error["code"], error.get("data"))


SPOILED: list[dict[str, Any]] = [
    {"result": {"sessionId": "s"}, "error": {"code": 1, "message": "m"}},
    {"error": "a string"},
    {"error": None},
    {"error": {"message": "no code"}},
    {"error": {"code": "1", "message": "m"}},
    {"error": {"code": 1, "message": 2}},
    {"result": {}},
    {"result": {"sessionId": 5}},
    {"result": "text"},
    {"result": None},
    {"result": []},
]


@rows("parts", SPOILED)
async def test_an_answer_that_is_none_fails_the_call_and_the_connection_lives(parts: dict[str, Any]) -> None:
    async with initialized("client") as (connection, hand):
        calling = new_session(connection)
        await answer(hand, **parts)
        with pytest.raises(RemoteProtocolError):
            await calling
        assert await hand.is_alive()


async def test_an_answer_in_an_array_fails_the_call_where_there_are_no_batches() -> None:
    async with initialized("client") as (connection, hand):
        calling = new_session(connection)
        reply = {"jsonrpc": "2.0", "id": (await hand.hear())["id"], "result": {"sessionId": "s"}}
        await hand.say([{"jsonrpc": "2.0", "method": "_x/y"}, reply, 5])
        with pytest.raises(RemoteProtocolError):
            await calling
        assert (await hand.hear())["error"]["code"] == -32600
        assert await hand.is_alive()


async def test_null_counts_as_an_empty_result_where_nothing_is_required() -> None:
    async with initialized("client") as (connection, hand):
        request = v1.LoadSessionRequest([], "/", "s")
        calling = asyncio.ensure_future(connection.call(v1.SESSION_LOAD, request))
        await answer(hand, result=None)
        assert await calling == v1.LoadSessionResponse()


@rows("size", [10, 100_000])
async def test_a_misfit_in_a_result_says_where(size: int) -> None:
    async with initialized("client") as (connection, hand):
        calling = new_session(connection)
        await answer(hand, result={"sessionId": ["x" * size]})
        with pytest.raises(RemoteProtocolError) as caught:
            await calling
        assert (caught.value.field, caught.value.expected) == ("sessionId", "a string")
        assert "xxx" not in str(caught.value)


async def test_a_large_answer_is_read_in_one_pass_and_means_the_same() -> None:
    async with initialized("agent") as (connection, hand):
        request = v1.ReadTextFileRequest("s", "/x")
        for reply in (
            {"result": {"content": "ü" * 100_000, "_meta": {"a": [1]}}},
            {"result": {"content": "\ud83d" * 10_000, "_meta": {"a": [1]}}},
        ):
            calling = asyncio.ensure_future(connection.call(v1.FS_READ_TEXT_FILE, request))
            await answer(hand, **reply)
            result = await calling
            assert result.content == reply["result"]["content"]
            assert result.meta == {"a": [1]}


async def test_strange_answers_hit_nobody() -> None:
    async with initialized("client") as (connection, hand):
        calling = new_session(connection)
        request = await hand.hear()
        id_ = request["id"]
        strange: list[Any] = [999, str(id_), float(id_) + 0.5, None, True, {}, []]
        for wrong in strange:
            await hand.say({"jsonrpc": "2.0", "id": wrong, "result": {"sessionId": "wrong"}})
            await hand.say({"jsonrpc": "2.0", "id": wrong, "error": {"code": 1, "message": "wrong"}})
        assert await hand.is_alive()
        assert not calling.done()
        assert connection.stray_answers == 2 * len(strange)
        await hand.say({"jsonrpc": "2.0", "id": id_, "result": {"sessionId": "right"}})
        assert (await calling).session_id == "right"


@pytest.mark.parametrize("form", ["{}.0", "{}e0", "{}.000", "{}0e-1"])
async def test_an_answer_is_that_to_the_call_of_the_same_number_however_it_is_written(form: str) -> None:
    async with initialized("client") as (connection, hand):
        calling = new_session(connection)
        id_ = form.format((await hand.hear())["id"])
        await hand.say(f'{{"jsonrpc":"2.0","id":{id_},"result":{{"sessionId":"right"}}}}')
        assert (await calling).session_id == "right"
        failing = new_session(connection)
        id_ = form.format((await hand.hear())["id"])
        await hand.say(f'{{"jsonrpc":"2.0","id":{id_},"error":{{"code":-32602,"message":"no"}}}}')
        with pytest.raises(InvalidParams):
            await failing
        assert (connection.stray_answers, connection.counts.malformed) == (0, 0)


async def test_a_second_answer_is_dropped() -> None:
    async with initialized("client") as (connection, hand):
        calling = new_session(connection)
        id_ = await answer(hand, result={"sessionId": "first"})
        await hand.say({"jsonrpc": "2.0", "id": id_, "result": {"sessionId": "second"}})
        assert (await calling).session_id == "first"
        await until(lambda: connection.stray_answers == 1)


@rows(("edition", "told"), [(V1, True), (V2, True), (V2_JUNE, False)])
async def test_a_timeout_withdraws_the_call_where_the_edition_can(edition: Edition, told: bool) -> None:  # noqa: FBT001
    async with initialized("client", edition=edition) as (connection, hand):
        row: Any = {"v1": v1, "v2": v2, "v2_june": v2_june}[edition.name].SESSION_NEW
        request = row.params(cwd="/", mcp_servers=[])
        with pytest.raises(CallTimeout) as caught:
            await connection.call(row, request, timeout_seconds=0.01)
        assert isinstance(caught.value, TimeoutError)
        assert (caught.value.method, caught.value.timeout_seconds) == ("session/new", 0.01)
        asked = await hand.hear()
        if told:
            expected = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": asked["id"]}}
            assert await hand.hear() == expected
        # The late answer is dropped.
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"sessionId": "late"}})
        assert await hand.is_alive()
        assert connection.stray_answers == 1


async def test_a_cancelled_caller_withdraws_its_call() -> None:
    async with initialized("client") as (connection, hand):
        calling = new_session(connection)
        asked = await hand.hear()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert (await hand.hear())["params"] == {"requestId": asked["id"]}


async def test_a_call_to_a_peer_that_never_reads_times_out() -> None:
    async with initialized("client") as (connection, hand):
        blocks: list[v1.ContentBlock] = [v1.TextContent("x" * 900_000)]
        request = v1.PromptRequest("s", blocks)
        for _ in range(3):
            with pytest.raises(CallTimeout):
                await connection.call(v1.SESSION_PROMPT, request, timeout_seconds=0.05)
        assert hand.transport is not None


async def test_what_an_edition_or_side_does_not_have_is_not_sent() -> None:
    async with initialized("client", edition=V2) as (connection, hand):
        with pytest.raises(LocalProtocolError):
            await connection.call(v1.SESSION_NEW, NEW)
        with pytest.raises(LocalProtocolError):
            await connection.notify(
                v2.SESSION_UPDATE, v2.UpdateSessionNotification("s", v2.SessionInfoUpdate(title="mine"))
            )
        with pytest.raises(LocalProtocolError):
            await connection.call(v2.SESSION_NEW, v2.NewSessionRequest("/", meta={"x": float("inf")}))
        calling = asyncio.ensure_future(connection.call(v2.SESSION_NEW, v2.NewSessionRequest("/")))
        assert (await hand.hear())["method"] == "session/new"
        calling.cancel()


async def test_nothing_but_initialize_is_called_before_an_edition_is_agreed_on() -> None:
    async with talk("client") as (connection, _):
        with pytest.raises(LocalProtocolError):
            await connection.call(v1.SESSION_NEW, NEW)


async def test_calls_end_when_the_link_is_lost() -> None:
    async with initialized("client") as (connection, hand):
        calls = [new_session(connection) for _ in range(3)]
        await hand.hear()
        await hand.transport.close()
        for calling in calls:
            with pytest.raises(ConnectionLost):
                await calling
        with pytest.raises(ConnectionLost):
            await new_session(connection)
        with pytest.raises(ConnectionLost):
            await connection.notify(v1.SESSION_CANCEL, v1.CancelNotification("s"))
        assert not connection.is_open


async def test_many_calls_at_once_get_their_own_answers() -> None:
    async with initialized("client") as (connection, hand):
        calls = [new_session(connection) for _ in range(200)]
        asked = [(await hand.hear())["id"] for _ in range(200)]
        for id_ in reversed(asked):
            await hand.say({"jsonrpc": "2.0", "id": id_, "result": {"sessionId": f"s{id_}"}})
        results = await asyncio.gather(*calls)
        assert [result.session_id for result in results] == [f"s{id_}" for id_ in asked]
