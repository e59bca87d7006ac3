"""Promise: exactly one answer, whatever the handler does, with nothing internal in it."""

import asyncio
import gc
import json
import logging
import weakref
from typing import Any

import pytest

from accord.connection import Handlers, current_request
from accord.errors import (
    AuthRequired,
    InvalidParams,
    MethodNotFound,
    PermissionDenied,
    RateLimited,
    RequestError,
    ResourceNotFound,
)
from accord.protocol import v1, v2, v2_june
from accord.protocol.edition import V2, V2_JUNE
from tests.connection.rig import Hand, agent_handlers, initialized, until
from tests.tables import rows

SECRET = "/home/ada/secret-token-4711"  # noqa: S105 - what must not leak


def serving(handler: Any) -> Handlers:
    handlers = agent_handlers()
    handlers.on(v1.SESSION_SET_MODE, handler)
    return handlers


async def set_mode(hand: Hand) -> Any:
    return await hand.request("session/set_mode", {"sessionId": "s", "modeId": "m"})


async def raises(_: Any) -> Any:
    raise RuntimeError(SECRET)


async def raises_a_group(_: Any) -> Any:
    raise ExceptionGroup(SECRET, [RuntimeError(SECRET)])


class Panic(BaseException):
    """An exception beside `Exception`, as extension modules in other languages raise them."""


async def raises_a_panic(_: Any) -> Any:
    raise Panic(SECRET)


async def returns_text(_: Any) -> Any:
    return SECRET


async def returns_another_type(_: Any) -> Any:
    return v1.NewSessionResponse(SECRET)


async def returns_the_unserialisable(_: Any) -> Any:
    return v1.SetSessionModeResponse(meta={"x": object()})


async def returns_no_number(_: Any) -> Any:
    return v1.SetSessionModeResponse(meta={"x": float("nan")})


async def returns_itself(_: Any) -> Any:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    return v1.SetSessionModeResponse(meta=loop)


def raises_at_once(_: Any) -> Any:
    raise KeyError(SECRET)


FAULTY = [
    raises,
    raises_a_group,
    raises_a_panic,
    returns_text,
    returns_another_type,
    returns_the_unserialisable,
    returns_no_number,
    returns_itself,
    raises_at_once,
]


@pytest.mark.parametrize("handler", FAULTY, ids=lambda handler: handler.__name__)
async def test_a_faulty_handler_is_an_internal_error_that_says_only_where_to_look(
    handler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with initialized("agent", serving(handler)) as (_, hand):
        answer = await set_mode(hand)
        error = answer["error"]
        assert (error["code"], error["message"]) == (-32603, "Internal error")
        assert set(error["data"]) == {"correlationId"}
        assert SECRET not in json.dumps(answer)
        assert error["data"]["correlationId"] in caplog.text
        assert await hand.is_alive()


RAISED = [
    (AuthRequired(auth_methods=[]), -32000),
    (RateLimited(3), -32029),
    (PermissionDenied("x"), -32003),
    (ResourceNotFound(data={"sessionId": "s"}), -32002),
    (InvalidParams("No", {"field": "modeId", "expected": "a mode"}), -32602),
    (RequestError("Custom", {"a": 1}, code=-31999), -31999),
]


@rows(("raised", "code"), RAISED)
async def test_what_a_handler_raises_on_purpose_is_sent_as_it_says(raised: RequestError, code: int) -> None:
    async def handler(_: Any) -> Any:
        raise raised

    async with initialized("agent", serving(handler)) as (_, hand):
        error = (await set_mode(hand))["error"]
        assert error == {"code": code, "message": raised.message, "data": raised.data}


async def test_error_data_that_cannot_be_written_is_an_internal_error() -> None:
    async def handler(_: Any) -> Any:
        raise RequestError("x", {"bad": object()})

    async with initialized("agent", serving(handler)) as (_, hand):
        assert (await set_mode(hand))["error"]["code"] == -32603


async def test_an_error_of_the_peer_that_is_not_caught_does_not_travel_back() -> None:
    handlers = agent_handlers()
    async with initialized("agent", handlers) as (connection, hand):

        async def handler(_: Any) -> Any:
            await connection.call(v1.FS_READ_TEXT_FILE, v1.ReadTextFileRequest("s", "/x"))

        handlers.on(v1.SESSION_SET_MODE, handler)
        id_ = await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        request = await hand.hear()
        error = {"code": -32601, "message": SECRET, "data": {"method": "fs/read_text_file"}}
        await hand.say({"jsonrpc": "2.0", "id": request["id"], "error": error})
        answer = await hand.answer_to(id_)
        assert answer["error"]["code"] == -32603
        assert SECRET not in json.dumps(answer)


async def test_a_handler_with_nothing_to_say_answers_an_empty_object() -> None:
    async with initialized("agent", serving(lambda _: None)) as (_, hand):
        assert (await set_mode(hand))["result"] == {}


async def test_a_handler_knows_the_request_it_answers() -> None:
    seen: list[Any] = []

    async def handler(_: Any) -> None:
        seen.append(current_request())

    async with initialized("agent", serving(handler)) as (_, hand):
        id_ = await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"}, id_="name")
        await hand.answer_to(id_)
        assert (seen[0].id, seen[0].method) == ("name", "session/set_mode")
        assert current_request() is None


@rows("id_", [0, 1, -1, "1", "", "ä", 2**63 - 1, -(2**63)])
async def test_the_answer_carries_the_id_as_it_came(id_: Any) -> None:
    async with initialized("agent", serving(lambda _: None)) as (_, hand):
        await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"}, id_=id_)
        answer = await hand.hear()
        assert answer["id"] == id_
        assert type(answer["id"]) is type(id_)


# --- cancellation by the peer


async def test_a_cancelled_request_is_answered_with_request_cancelled() -> None:
    started = asyncio.Event()

    async def handler(_: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    async with initialized("agent", serving(handler)) as (_, hand):
        id_ = await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        await started.wait()
        await hand.notify("$/cancel_request", {"requestId": id_})
        assert (await hand.answer_to(id_))["error"]["code"] == -32800
        assert await hand.is_alive()


async def test_a_handler_may_answer_its_cancellation_with_a_result() -> None:
    started = asyncio.Event()

    async def handler(_: Any) -> v1.SetSessionModeResponse:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return v1.SetSessionModeResponse(meta={"partial": True})
        raise AssertionError

    async with initialized("agent", serving(handler)) as (_, hand):
        id_ = await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        await started.wait()
        await hand.notify("$/cancel_request", {"requestId": id_})
        assert (await hand.answer_to(id_))["result"] == {"_meta": {"partial": True}}


async def test_a_request_that_is_cancelled_before_it_began_is_answered_once() -> None:
    begun: list[Any] = []
    async with initialized("agent", serving(begun.append)) as (_, hand):
        params = {"sessionId": "s", "modeId": "m"}
        request = {"jsonrpc": "2.0", "id": 5, "method": "session/set_mode", "params": params}
        cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}}
        # Both texts are in the link before the reader runs, so that no handler has begun between them.
        sending = [hand.transport.send(json.dumps(message).encode()) for message in (request, cancel)]
        await asyncio.gather(*sending)
        answer = await hand.answer_to(5)
        assert answer["error"]["code"] == -32800
        assert await hand.is_alive()
        assert begun == []


async def test_a_request_that_is_cancelled_in_its_lane_never_begins() -> None:
    begun: list[Any] = []
    gate = asyncio.Event()
    handlers = serving(begun.append)

    async def slow(_: Any) -> None:
        await gate.wait()

    handlers.on(v1.SESSION_CANCEL, slow)
    async with initialized("agent", handlers) as (_, hand):
        await hand.notify("session/cancel", {"sessionId": "s"})
        id_ = await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        await hand.notify("$/cancel_request", {"requestId": id_})
        assert (await hand.answer_to(id_))["error"]["code"] == -32800
        gate.set()
        assert await hand.is_alive()
        assert begun == []


@rows("times", [1, 2])
async def test_a_request_whose_arrival_was_heard_begins_and_is_cancelled_where_it_waits(times: int) -> None:
    arrived: list[Any] = []
    begun: list[Any] = []

    async def handler(params: Any) -> v1.SetSessionModeResponse:
        begun.append(params)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return v1.SetSessionModeResponse(meta={"decided": "here"})
        raise AssertionError

    handlers = serving(handler)
    handlers.on_arrival(v1.SESSION_SET_MODE, arrived.append)
    async with initialized("agent", handlers) as (_, hand):
        params = {"sessionId": "s", "modeId": "m"}
        request = {"jsonrpc": "2.0", "id": 5, "method": "session/set_mode", "params": params}
        cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}}
        await asyncio.gather(*(hand.transport.send(json.dumps(each).encode()) for each in (request, *[cancel] * times)))
        assert (await hand.answer_to(5))["result"] == {"_meta": {"decided": "here"}}
        assert await hand.is_alive()
        assert len(arrived) == len(begun) == 1


async def test_a_request_whose_arrival_was_heard_is_cancelled_past_its_lane_and_runs_once() -> None:
    begun: list[Any] = []
    gate = asyncio.Event()

    async def handler(params: Any) -> None:
        begun.append(params)
        await asyncio.Event().wait()

    async def slow(_: Any) -> None:
        await gate.wait()

    handlers = serving(handler)
    handlers.on_arrival(v1.SESSION_SET_MODE, lambda _: None)
    handlers.on(v1.SESSION_CANCEL, slow)
    async with initialized("agent", handlers) as (connection, hand):
        await hand.notify("session/cancel", {"sessionId": "s"})
        id_ = await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        await hand.notify("$/cancel_request", {"requestId": id_})
        assert (await hand.answer_to(id_))["error"]["code"] == -32800
        gate.set()
        await until(lambda: connection.backlog_bytes == 0)
        assert await hand.is_alive()
        assert len(begun) == 1


async def test_a_handler_that_never_waits_is_not_hit_by_a_cancel_that_came_before_it_began() -> None:
    handlers = serving(lambda _: None)
    handlers.on_arrival(v1.SESSION_SET_MODE, lambda _: None)
    async with initialized("agent", handlers) as (_, hand):
        params = {"sessionId": "s", "modeId": "m"}
        request = {"jsonrpc": "2.0", "id": 5, "method": "session/set_mode", "params": params}
        cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}}
        await asyncio.gather(*(hand.transport.send(json.dumps(each).encode()) for each in (request, cancel)))
        assert (await hand.answer_to(5))["result"] == {}
        assert await hand.is_alive()


async def test_what_the_arrival_of_a_request_gave_is_there_for_its_handler() -> None:
    seen: list[Any] = []

    def handle(params: Any) -> None:
        request = current_request()
        assert request is not None
        seen.append((request.arrival, params.mode_id))

    handlers = serving(handle)
    handlers.on_arrival(v1.SESSION_SET_MODE, lambda params: ["arrived", params.mode_id])
    async with initialized("agent", handlers) as (_, hand):
        for mode in ("a", "b"):
            await hand.request("session/set_mode", {"sessionId": "s", "modeId": mode})
    assert seen == [(["arrived", "a"], "a"), (["arrived", "b"], "b")]


@rows("space", ["", " "])
async def test_what_the_arrival_of_a_request_raised_is_its_answer_and_the_handler_is_not_called(space: str) -> None:
    called: list[Any] = []
    handlers = serving(called.append)

    def refuse(params: Any) -> None:
        raise InvalidParams("not this one", {"field": params.mode_id})

    handlers.on_arrival(v1.SESSION_SET_MODE, refuse)
    async with initialized("agent", handlers) as (connection, hand):
        await hand.say(
            f'{{"jsonrpc":{space}"2.0","id":5,"method":"session/set_mode","params":{{"sessionId":"s","modeId":"m"}}}}'
        )
        error = (await hand.answer_to(5))["error"]
        assert (error["code"], error["data"]) == (-32602, {"field": "m"})
        assert connection.counts.failed_handlers == 0
    assert called == []


async def test_a_bug_in_the_arrival_of_a_request_is_an_internal_error() -> None:
    handlers = serving(lambda _: None)
    handlers.on_arrival(v1.SESSION_SET_MODE, lambda _: 1 // 0)
    async with initialized("agent", handlers) as (_, hand):
        answer = await hand.request("session/set_mode", {"sessionId": "s", "modeId": "m"})
        assert answer["error"]["code"] == -32603
        assert await hand.is_alive()


async def test_cancelling_an_answered_or_unknown_request_does_nothing() -> None:
    async with initialized("agent", serving(lambda _: None)) as (_, hand):
        id_ = await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        await hand.answer_to(id_)
        strange: list[Any] = [id_, 987, "x", None, True, 1.5, {}, []]
        for wrong in strange:
            await hand.notify("$/cancel_request", {"requestId": wrong})
        await hand.notify("$/cancel_request", None)
        await hand.notify("$/cancel_request", [])
        assert await hand.is_alive()


async def test_a_request_is_cancelled_under_its_number_however_that_is_written() -> None:
    started = asyncio.Event()

    async def work(_: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    async with initialized("agent", serving(work)) as (_, hand):
        id_ = await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        await started.wait()
        await hand.notify("$/cancel_request", {"requestId": float(id_)})
        assert (await hand.answer_to(id_))["error"]["code"] == -32800


async def test_ids_are_told_apart_by_type_when_a_request_is_cancelled() -> None:
    started = asyncio.Event()

    async def handler(_: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    async with initialized("agent", serving(handler)) as (_, hand):
        await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"}, id_=1)
        await started.wait()
        await hand.notify("$/cancel_request", {"requestId": "1"})
        assert await hand.is_alive()
        await hand.notify("$/cancel_request", {"requestId": 1})
        assert (await hand.answer_to(1))["error"]["code"] == -32800


async def test_a_second_request_under_an_open_id_is_refused_and_the_first_is_answered() -> None:
    gate = asyncio.Event()

    async def handler(_: Any) -> None:
        await gate.wait()

    async with initialized("agent", serving(handler)) as (_, hand):
        await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"}, id_=1)
        await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"}, id_=1)
        refusal = await hand.hear()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
        gate.set()
        assert (await hand.hear())["result"] == {}


async def test_null_is_an_id_where_the_edition_allows_it() -> None:
    async with initialized("agent", serving(lambda _: None)) as (_, hand):
        request = {
            "jsonrpc": "2.0",
            "id": None,
            "method": "session/set_mode",
            "params": {"sessionId": "s", "modeId": "m"},
        }
        await hand.say(request)
        assert await hand.hear() == {"jsonrpc": "2.0", "id": None, "result": {}}
    async with initialized("agent", edition=V2) as (_, hand):
        await hand.say({"jsonrpc": "2.0", "id": None, "method": "session/new", "params": {"cwd": "/"}})
        assert (await hand.hear())["error"]["code"] == -32600


# --- batches


async def test_a_batch_is_answered_by_one_array_in_june_only() -> None:
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}},
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}},
        {"jsonrpc": "2.0", "id": 2, "method": "_nothing"},
        {"nonsense": True},
        7,
    ]
    async with initialized("agent", edition=V2_JUNE) as (_, hand):
        await hand.say(batch)
        answers = await hand.hear()
        assert {answer["id"] for answer in answers} == {1, 2, None}
        by_id = {answer["id"]: answer for answer in answers}
        assert by_id[1]["result"] == {"sessionId": "s"}
        assert by_id[2]["error"]["code"] == -32601
        assert sum(answer["id"] is None and answer["error"]["code"] == -32600 for answer in answers) == 2
        await hand.say([{"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}])
        await hand.say([])
        assert await hand.hear() == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32600, "message": "Invalid request"},
        }
        assert await hand.is_alive()


@rows("edition", [v1, v2])
async def test_an_array_gets_one_refusal_elsewhere_and_nothing_in_it_is_done(edition: Any) -> None:
    begun: list[Any] = []
    handlers = agent_handlers()
    handlers.on(edition.SESSION_NEW, begun.append)
    from accord.protocol.edition import V1  # noqa: PLC0415

    async with initialized("agent", handlers, V1 if edition is v1 else V2) as (_, hand):
        request = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}}
        await hand.say([request, request])
        refusal = await hand.hear()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
        assert await hand.is_alive()
        assert begun == []


async def test_a_batch_waits_for_its_slowest_handler() -> None:
    gate = asyncio.Event()
    handlers = agent_handlers()

    async def slow(_: Any) -> v2_june.NewSessionResponse:
        await gate.wait()
        return v2_june.NewSessionResponse("s")

    handlers.on(v2_june.SESSION_NEW, slow)
    async with initialized("agent", handlers, V2_JUNE) as (_, hand):
        new = {"method": "session/new", "params": {"cwd": "/", "mcpServers": []}}
        await hand.say([{"jsonrpc": "2.0", "id": 1, **new}, {"jsonrpc": "2.0", "id": 2, "method": "_x"}])
        assert await hand.is_alive()  # answered while the batch is not
        gate.set()
        assert [answer["id"] for answer in await hand.hear()] == [2, 1]


# --- extensions


async def test_extension_methods_get_and_give_plain_json(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []
    handlers = agent_handlers()
    handlers.on_extension_request("_acme/add", lambda params: params["a"] + params["b"])
    handlers.on_extension_notification("_acme/tell", heard.append)
    with caplog.at_level(logging.ERROR):
        async with initialized("agent", handlers) as (connection, hand):
            assert (await hand.request("_acme/add", {"a": 1, "b": 2}))["result"] == 3
            assert (await hand.request("_acme/add", {"a": 1}))["error"]["code"] == -32603
            error = (await hand.request("_acme/other"))["error"]
            assert (error["code"], error["data"]) == (-32601, {"method": "_acme/other"})
            await hand.notify("_acme/tell", {"x": [1]})
            await hand.notify("_acme/unheard", {"x": [1]})
            await until(lambda: heard == [{"x": [1]}])
            await until(lambda: connection.counts.unknown_notifications == 1)
            calling = asyncio.ensure_future(connection.call_extension("_client/ping", {"n": 1}))
            request = await hand.hear()
            assert (request["method"], request["params"]) == ("_client/ping", {"n": 1})
            await hand.say({"jsonrpc": "2.0", "id": request["id"], "result": [1, None]})
            assert await calling == [1, None]
            await connection.notify_extension("_client/note")
            assert (await hand.hear())["method"] == "_client/note"


async def test_an_unknown_method_names_itself_to_the_caller() -> None:
    async with initialized("client") as (connection, hand):
        calling = asyncio.ensure_future(connection.call(v1.SESSION_LIST, v1.ListSessionsRequest()))
        request = await hand.hear()
        error = {"code": -32601, "message": "no", "data": {"method": "session/list"}}
        await hand.say({"jsonrpc": "2.0", "id": request["id"], "error": error})
        with pytest.raises(MethodNotFound) as caught:
            await calling
        assert caught.value.method == "session/list"


class Arrived:
    """Held by its request alone."""


async def test_an_answered_request_is_freed_without_the_collector_of_cycles() -> None:
    async def handle(_: Any) -> Any:
        await asyncio.sleep(0)
        return v1.SetSessionModeResponse()

    arrivals: list[weakref.ref[Arrived]] = []

    def arrive(_: Any) -> Arrived:
        arrived = Arrived()
        arrivals.append(weakref.ref(arrived))
        return arrived

    handlers = serving(handle)
    handlers.on_arrival(v1.SESSION_SET_MODE, arrive)
    gc.disable()
    try:
        async with initialized("agent", handlers) as (_, hand):
            await set_mode(hand)
            await until(lambda: arrivals[0]() is None)
    finally:
        gc.enable()
