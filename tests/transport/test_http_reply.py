"""Servers of streamable HTTP that answer in another way than the known ones: in replies, late, compressed, cut."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

from accord.errors import ConnectionLost
from accord.transport import connect_http
from accord.wire.sse import serialize_event
from tests.limits import limit
from tests.transport.remote_peers import INITIALIZE, INITIALIZED, Request, http_server
from tests.transport.test_http import Server, connected, update

QUESTION = b'{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s"}}'


def answer_to(request: Request, **result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "result": result}).encode()


# --- answers in the reply to a POST


@pytest.mark.parametrize("body", [b"{}", b"null", b'{"status":"accepted"}', b"[]", b"ok"])
async def test_a_reply_that_is_no_message_is_not_taken_for_one(body: bytes) -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        while not server.of("POST")[1:]:
            await asyncio.sleep(0)
        await request.chunk(serialize_event(update(1)))
        await asyncio.Event().wait()

    server.streams[""] = stream
    server.posts = lambda request: request.answer(202, body, Content_Type="application/json")
    async with connected(server.handle) as client:
        await client.transport.send(b'{"jsonrpc":"2.0","method":"x"}')
        assert await client.receive() == [update(1)]


async def test_an_answer_in_a_reply_may_be_as_large_as_any_message() -> None:
    server = Server()
    server.posts = lambda request: request.answer(
        200, answer_to(request, text="x" * 300_000), Content_Type="application/json"
    )
    async with connected(server.handle) as client:
        assert len((await client.call("session/list"))["result"]["text"]) == 300_000


async def test_a_reply_of_events_has_the_whole_turn_and_a_question_of_it_is_answered() -> None:
    server, answered = Server(), asyncio.Event()

    async def post(request: Request) -> None:
        if b'"result"' in request.body:
            answered.set()
            await request.answer(202)
            return
        await request.stream()
        await request.chunk(serialize_event(update(1)) + serialize_event(QUESTION))
        await answered.wait()
        await request.chunk(serialize_event(update(2)))
        await request.chunk(serialize_event(answer_to(request, stopReason="end_turn")))
        await request.chunk(b"")

    server.posts = post
    async with connected(server.handle) as client:
        await client.transport.send(b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s"}}')
        assert await client.receive(2) == [update(1), QUESTION]
        await client.transport.send(b'{"jsonrpc":"2.0","id":7,"result":{}}')
        first, second = await client.receive(2)
        assert (first, json.loads(second)["id"]) == (update(2), 3)


async def test_a_reply_of_events_that_breaks_off_is_a_gap() -> None:
    server = Server()

    async def post(request: Request) -> None:
        await request.stream()
        await request.chunk(serialize_event(update(1)))
        request.reset()

    server.posts = post
    async with connected(server.handle) as client:
        await client.transport.send(b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s"}}')
        with pytest.raises(ConnectionLost):
            await client.receive(2)
        assert client.kinds == ["gap"]


async def test_a_reply_that_comes_with_the_end_of_a_turn_holds_up_no_other_message() -> None:
    server, answered = Server(), asyncio.Event()

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(serialize_event(QUESTION))
        await answered.wait()
        await request.chunk(serialize_event(update(2)))
        await asyncio.Event().wait()

    async def post(request: Request) -> None:
        if b'"result"' in request.body:
            answered.set()
            await request.answer(202)
            return
        if b"session/prompt" in request.body:
            await answered.wait()
        await request.answer(200, answer_to(request, sessionId="s"), Content_Type="application/json")

    server.streams["s"] = stream
    server.posts = post
    async with connected(server.handle) as client:
        await client.call("session/new")
        await client.transport.send(b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s"}}')
        assert await client.receive() == [QUESTION]
        await client.transport.send(b'{"jsonrpc":"2.0","id":7,"result":{}}')
        first, second = await client.receive(2)
        # Behind what the server wrote to the stream of the session.
        assert (first, json.loads(second)["id"]) == (update(2), 3)


async def test_initialize_may_be_answered_by_an_event() -> None:
    async def handle(request: Request) -> None:
        if request.method == "POST":
            body = b": hello\r\n\r\n" + serialize_event(INITIALIZED)
            await request.answer(200, body, Content_Type="text/event-stream", ACP_CONNECTION_ID="c1")
        else:
            await request.stream()
            await asyncio.Event().wait()

    async with http_server(handle) as address:
        transport = await connect_http(address)
        await transport.send(INITIALIZE)
        async with asyncio.timeout(limit(20.0)):
            assert await transport.receive() == [INITIALIZED]
        await transport.close()


async def test_a_reply_that_is_compressed_all_the_same_is_read() -> None:
    async def handle(request: Request) -> None:
        headers = {"Content_Type": "application/json", "Content_Encoding": "gzip", "Acp_Connection_Id": "c1"}
        if request.method == "POST":
            await request.answer(200, gzip.compress(INITIALIZED), **headers)
        else:
            await request.stream()
            await asyncio.Event().wait()

    async with connected(handle):
        pass


# --- streams


async def test_a_session_is_loaded_from_a_server_that_opens_a_stream_with_its_first_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("accord.transport.http.OPEN_SECONDS", 0.05)
    server, loaded = Server(), asyncio.Event()

    async def stream(request: Request) -> None:
        await loaded.wait()
        await request.stream()
        await request.chunk(serialize_event(update(1)))
        await request.chunk(serialize_event(answer_to(server.of("POST")[-1])))
        await asyncio.Event().wait()

    async def post(request: Request) -> None:
        await request.answer(202)
        loaded.set()

    server.streams["s"] = stream
    server.posts = post
    async with connected(server.handle) as client:
        await client.transport.send(b'{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s"}}')
        first, second = await client.receive(2)
        assert (first, json.loads(second)["id"]) == (update(1), 3)
        assert server.of("POST")[-1].headers["acp-session-id"] == "s"


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
async def test_the_last_event_of_a_stream_needs_no_blank_line(end: bytes) -> None:
    server, opened = Server(), list[int]()

    async def stream(request: Request) -> None:
        opened.append(1)
        await request.stream()
        await request.chunk(b": hello\n\ndata: " + update(len(opened)) + end)
        await request.chunk(b"") if len(opened) < 3 else await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive(2) == [update(1), update(2)]
        assert client.kinds == []


@pytest.mark.parametrize("cut", [b"d", b"data", b"data: ", b'data: {"jsonrpc":"2.0",', b"data: {\n", b"id: 1\ndata: {"])
async def test_a_stream_that_ends_within_a_message_is_a_gap_and_no_call_hangs(cut: bytes) -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(serialize_event(update(1)) + cut)
        await request.chunk(b"")

    server.streams[""] = stream
    async with connected(server.handle) as client:
        with pytest.raises(ConnectionLost):
            await client.receive(2)
        assert client.kinds == ["gap"]


async def test_an_event_that_a_clean_end_cut_is_asked_for_again_where_there_are_ids() -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        if "last-event-id" not in request.headers:
            await request.chunk(serialize_event(update(1), id="1") + b"id: 2\ndata: " + update(2)[:20])
            await request.chunk(b"")
            return
        assert request.headers["last-event-id"] == "1"
        await request.chunk(serialize_event(update(2), id="2"))
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive(2) == [update(1), update(2)]


async def test_a_server_that_ends_every_stream_at_once_is_not_asked_without_a_pause(delays: list[float]) -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(b": nothing yet\n\n" if len(server.of("GET")) < 6 else serialize_event(update(1)))
        await request.chunk(b"")

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive() == [update(1)]
        assert client.kinds == []
    assert delays[0] == 0
    assert all(later > 0 for later in delays[1:5])
    assert sum(delays[1:3]) < sum(delays[3:5])


async def test_a_reader_that_was_sent_away_waits_as_long_as_the_server_wants(delays: list[float]) -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(b"retry: 1500\n\n" + serialize_event(update(len(server.of("GET")))))
        await request.chunk(b"")

    server.streams[""] = stream
    async with connected(server.handle) as client:
        await client.receive(2)
    assert delays[0] == 1.5


async def test_a_reader_that_was_refused_waits_as_long_as_the_server_wants(delays: list[float]) -> None:
    server = Server()

    async def stream(request: Request) -> None:
        if len(server.of("GET")) == 1:
            await request.answer(503, Retry_After="2")
            return
        await request.stream()
        await request.chunk(serialize_event(update(1)))
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive() == [update(1)]
    assert delays == [2.0]


# --- servers that have no streams, or one alone


PROMPT = b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s"}}'


async def no_stream(request: Request) -> None:
    await request.answer(405, Allow="POST, DELETE")


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_server_without_streams_answers_in_replies(kind: str) -> None:
    server = Server()

    async def post(request: Request) -> None:
        text = answer_to(request, sessionId="s")
        await request.answer(200, serialize_event(text) if "event" in kind else text, Content_Type=kind)

    server.streams.update({"": no_stream, "s": no_stream})
    server.posts = post
    async with connected(server.handle) as client:
        await client.call("session/new")
        for _ in range(3):
            await client.call("session/prompt", sessionId="s")
        assert client.kinds == []
    # Each stream was asked for once.
    assert sorted(request.headers.get("acp-session-id", "") for request in server.of("GET")) == ["", "s"]


@pytest.mark.parametrize("is_in_reply", [False, True])
async def test_a_server_with_the_connection_stream_alone_says_everything_on_it(is_in_reply: bool) -> None:  # noqa: FBT001
    server, texts = Server(), asyncio.Queue[bytes]()

    async def stream(request: Request) -> None:
        await request.stream()
        while True:
            await request.chunk(serialize_event(await texts.get()))

    async def post(request: Request) -> None:
        answer = answer_to(request, sessionId="s")
        if is_in_reply:
            # The answer is there before what was said in the turn.
            await request.answer(200, answer, Content_Type="application/json")
            texts.put_nowait(update(1))
            return
        texts.put_nowait(update(1))
        texts.put_nowait(answer)
        await request.answer(202)

    server.streams.update({"": stream, "s": no_stream})
    server.posts = post
    async with connected(server.handle) as client:
        await client.call("session/new")
        await client.transport.send(PROMPT)
        received = [await client.receive() for _ in range(3 if is_in_reply else 2)]
        assert json.loads(received[-1][0])["id"] == 3
        assert client.kinds == []


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("events", [b"", b": nothing\n\n"])
async def test_an_answer_that_no_stream_can_bring_is_a_gap_and_no_call_hangs(is_late: bool, events: bytes) -> None:  # noqa: FBT001
    server, is_asked = Server(), asyncio.Event()

    async def stream(request: Request) -> None:
        if is_late:
            await is_asked.wait()
            await asyncio.sleep(0.1)
        await no_stream(request)

    async def post(request: Request) -> None:
        is_asked.set()
        if not is_late:
            await asyncio.sleep(0.1)
        await request.answer(
            200 if events else 202, events, **({"Content_Type": "text/event-stream"} if events else {})
        )

    server.streams[""] = stream
    server.posts = post
    async with connected(server.handle) as client:
        with pytest.raises(ConnectionLost):
            await client.call("session/list")
        assert client.kinds == ["gap"]
