"""Streamable HTTP: streams that are cut and continued, servers that refuse, and servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from accord.errors import ConnectFailed, ConnectionLost, FrameError, TransportError
from accord.transport import RemoteOptions, Transport, connect_http
from accord.transport.remote import LinkReport
from accord.wire.sse import KEEPALIVE, serialize_event, serialize_id
from tests.limits import limit
from tests.transport.remote_peers import INITIALIZE, INITIALIZED, Request, Serve, http_server

GRACE = {"accord/resume": {"connectionId": "c1", "graceSeconds": 30}}
ADVERTISED = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"capabilities": {"_meta": GRACE}}}).encode()


class Client:
    def __init__(self, transport: Transport, reports: list[LinkReport]) -> None:
        self.transport = transport
        self.reports = reports
        self._texts: list[bytes] = []

    async def receive(self, count: int = 1) -> list[bytes]:
        async with asyncio.timeout(limit(20.0)):
            while len(self._texts) < count:
                received = await self.transport.receive()
                assert received, "the end came too early"
                self._texts += received
        texts, self._texts = self._texts[:count], self._texts[count:]
        return texts

    async def call(self, method: str, **params: Any) -> Any:
        """Send a request and read until its answer comes; gives that."""
        text = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        await self.transport.send(json.dumps(text).encode())
        while True:
            message = json.loads((await self.receive())[0])
            if message.get("id") == method:
                return message

    @property
    def kinds(self) -> list[str]:
        return [report.kind for report in self.reports]


@contextlib.asynccontextmanager
async def connected(handle: Serve, **options: Any) -> AsyncIterator[Client]:
    reports: list[LinkReport] = []
    options = {"on_link": reports.append, "reconnect_seconds": limit(5.0), **options}
    async with http_server(handle) as address:
        client = Client(await connect_http(address, RemoteOptions(**options)), reports)
        try:
            await client.transport.send(INITIALIZE)
            await client.receive()
            yield client
        finally:
            await client.transport.close()


class Server:
    """A server with one table of answers; a stream sends what `stream` writes."""

    def __init__(self, *, is_resumable: bool = False) -> None:
        self.requests: list[Request] = []
        self.is_resumable = is_resumable
        self.streams: dict[str, Callable[[Request], Any]] = {}
        self.posts: Callable[[Request], Any] | None = None

    def of(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.method == method]

    async def handle(self, request: Request) -> None:
        self.requests.append(request)
        session = request.headers.get("acp-session-id", "")
        if request.method == "POST" and request.body == INITIALIZE:
            body = ADVERTISED if self.is_resumable else INITIALIZED
            await request.answer(200, body, Content_Type="application/json", Acp_Connection_Id="c1")
        elif request.method == "GET" and session in self.streams:
            await self.streams[session](request)
        elif request.method == "GET":
            await request.stream()
            await asyncio.Event().wait()
        elif request.method == "POST" and self.posts is not None and b"_accord/" not in request.body:
            await self.posts(request)
        else:
            await request.answer(202)


def update(number: int) -> bytes:
    return b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","n":%d}}' % number


# --- cuts


@pytest.mark.parametrize("is_resumable", [True, False])
async def test_a_stream_with_ids_is_continued_behind_the_last_whole_event(is_resumable: bool) -> None:  # noqa: FBT001
    server, cursors = Server(is_resumable=is_resumable), list[str | None]()

    async def stream(request: Request) -> None:
        cursor = request.headers.get("last-event-id")
        cursors.append(cursor)
        first = 0 if cursor is None else int(cursor) + 1
        await request.stream()
        events = b"".join(serialize_event(update(number), id=str(number)) for number in range(first, first + 7))
        await request.chunk(events[:-5])
        if first < 90:
            request.reset()
        else:
            await request.chunk(events[-5:])
            await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        texts = await client.receive(90)
        assert texts == [update(number) for number in range(90)]
        assert cursors[0] is None
        assert client.kinds[:4] == ["lost", "resumed"] * 2


async def test_a_stream_is_continued_from_the_priming_event_where_there_was_no_other() -> None:
    server, cursors = Server(is_resumable=True), list[str | None]()

    async def stream(request: Request) -> None:
        cursors.append(request.headers.get("last-event-id"))
        await request.stream()
        await request.chunk(serialize_id("c.0"))
        if len(cursors) == 1:
            request.reset()
            return
        await request.chunk(serialize_event(update(1), id="c.1"))
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive() == [update(1)]
    assert cursors == [None, "c.0"]


async def test_a_server_that_forgot_what_was_missed_is_a_gap() -> None:
    server = Server(is_resumable=True)

    async def stream(request: Request) -> None:
        if "last-event-id" in request.headers:
            await request.answer(409)
            return
        await request.stream()
        await request.chunk(serialize_event(update(1), id="1"))
        request.reset()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        await client.receive()
        with pytest.raises(ConnectionLost):
            await client.receive()
        assert client.kinds == ["lost", "gap"]


async def test_a_broken_stream_without_ids_is_a_gap_and_no_call_hangs() -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(serialize_event(update(1)))
        request.reset()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        await client.receive()
        with pytest.raises(ConnectionLost):
            await client.receive()
        with pytest.raises(ConnectionLost):
            await client.transport.send(b"{}")
        assert client.kinds == ["gap"]


async def test_a_stream_that_the_server_ends_is_opened_again() -> None:
    server, opened = Server(), list[int]()

    async def stream(request: Request) -> None:
        opened.append(1)
        await request.stream()
        await request.chunk(serialize_event(update(len(opened))))
        await request.chunk(b"") if len(opened) < 3 else await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive(3) == [update(1), update(2), update(3)]


async def test_a_message_whose_answer_was_lost_is_sent_again_under_its_number() -> None:
    server = Server(is_resumable=True)

    async def post(request: Request) -> None:
        if len([each for each in server.of("POST") if each.body == request.body]) < 3:
            request.reset()
        else:
            await request.answer(202)

    server.posts = post
    async with connected(server.handle) as client:
        for number in range(3):
            await client.transport.send(b'{"jsonrpc":"2.0","method":"x","params":%d}' % number)
        async with asyncio.timeout(limit(20.0)):
            while len(server.of("POST")) < 10:
                await asyncio.sleep(0.01)
    numbers = [each.headers["accord-message-number"] for each in server.of("POST") if b'"x"' in each.body]
    assert numbers == ["1", "1", "1", "2", "2", "2", "3", "3", "3"]


async def test_a_message_is_not_sent_twice_to_a_server_that_would_take_it_twice() -> None:
    server = Server()

    async def post(request: Request) -> None:
        request.reset()

    server.posts = post
    async with connected(server.handle) as client:
        await client.transport.send(b'{"jsonrpc":"2.0","method":"x"}')
        with pytest.raises(ConnectionLost):
            await client.receive()
    assert len(server.of("POST")) == 2


async def test_a_stream_that_fell_silent_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.transport.http_stream.SILENCE_SECONDS", limit(0.2))
    server, cursors = Server(is_resumable=True), list[str | None]()

    async def stream(request: Request) -> None:
        cursors.append(request.headers.get("last-event-id"))
        await request.stream()
        await request.chunk(serialize_event(update(len(cursors)), id=str(len(cursors))))
        await request.chunk(KEEPALIVE)
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive(3) == [update(1), update(2), update(3)]
    assert cursors[:3] == [None, "1", "2"]


@pytest.mark.parametrize("has_head", [True, False])
async def test_a_stream_that_is_open_on_one_side_alone_does_not_hang(
    monkeypatch: pytest.MonkeyPatch,
    has_head: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setattr("accord.transport.http_stream.SILENCE_SECONDS", limit(0.2))
    server = Server()

    async def stream(request: Request) -> None:
        if has_head:
            await request.stream()
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        with pytest.raises(ConnectionLost):
            await client.call("session/new")


@pytest.mark.parametrize("answer", ["on the stream", "refused", "in the reply"])
async def test_a_silent_stream_of_a_server_that_answers_is_kept(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    seconds = limit(0.2)
    monkeypatch.setattr("accord.transport.http_stream.SILENCE_SECONDS", seconds)
    server, streams, probes = Server(), list[Request](), list[bytes]()

    async def stream(request: Request) -> None:
        streams.append(request)
        await request.stream()
        await asyncio.Event().wait()

    async def handle(request: Request) -> None:
        if b"_accord/barrier" not in request.body:
            await server.handle(request)
            return
        probes.append(request.body)
        error = {"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "error": {"code": -32601, "message": "x"}}
        text = json.dumps(error).encode()
        if answer == "on the stream":
            await request.answer(202)
            await streams[0].chunk(serialize_event(text))
        elif answer == "refused":
            await request.answer(400)
        else:
            await request.answer(200, text, Content_Type="application/json")

    server.streams[""] = stream
    async with connected(handle) as client:
        async with asyncio.timeout(limit(20.0)):
            while not probes:
                await asyncio.sleep(0.01)
        await asyncio.sleep(2 * seconds)
        await streams[0].chunk(serialize_event(update(1)))
        assert await client.receive() == [update(1)]
    assert len(streams) == 1


# --- events that come again


async def test_an_event_with_an_id_that_was_seen_is_shown_once() -> None:
    server, readers = Server(), list[str | None]()

    async def stream(request: Request) -> None:
        readers.append(request.headers.get("last-event-id"))
        await request.stream()
        # A server that begins anew, and writes each event twice.
        events = [serialize_event(update(number), id=str(number)) * 2 for number in range(3 * len(readers))]
        await request.chunk(b"".join(events))
        if len(readers) < 3:
            request.reset()
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive(9) == [update(number) for number in range(9)]
        assert client.kinds == ["lost", "resumed"] * 2
    assert readers == [None, "2", "5"]


async def test_an_event_with_an_id_that_was_seen_and_another_text_is_another_event() -> None:
    server, readers = Server(), list[str | None]()

    async def stream(request: Request) -> None:
        readers.append(request.headers.get("last-event-id"))
        await request.stream()
        # A server that counts anew on each link.
        await request.chunk(
            b"".join(serialize_event(update(10 * len(readers) + number), id=str(number)) for number in range(3))
        )
        if len(readers) < 2:
            request.reset()
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive(6) == [update(number) for number in (10, 11, 12, 20, 21, 22)]


async def test_a_repeated_event_is_shown_once_also_where_others_have_no_id() -> None:
    server = Server()
    answer = b'{"jsonrpc":"2.0","id":1,"result":{}}'

    async def stream(request: Request) -> None:
        await request.stream()
        first = serialize_event(update(1), id="1")
        await request.chunk(first + serialize_event(answer) + first + serialize_event(update(2), id="2"))
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive(3) == [update(1), answer, update(2)]


async def test_events_without_an_id_of_their_own_are_never_repeated_ones() -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(serialize_event(update(1), id="1") + serialize_event(update(1)) * 2)
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive(3) == [update(1)] * 3


# --- sessions


async def test_messages_of_a_session_and_answers_to_its_questions_name_it() -> None:
    server = Server()
    question = b'{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"s"}}'

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(b'data: {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}\r\n\r\n')
        await asyncio.Event().wait()

    async def session(request: Request) -> None:
        await request.stream()
        await request.chunk(serialize_event(question))
        await asyncio.Event().wait()

    server.streams.update({"": stream, "s": session})
    async with connected(server.handle) as client:
        await client.transport.send(b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}')
        assert (await client.receive(2))[1] == question
        await client.transport.send(b'{"jsonrpc":"2.0","id":5,"result":{}}')
        await client.transport.send(b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}')
    assert [post.headers.get("acp-session-id") for post in server.of("POST")] == [None, None, "s", "s"]
    assert [request.headers["acp-connection-id"] for request in server.requests[1:]] == ["c1"] * 6
    assert server.requests[-1].method == "DELETE"


async def test_a_session_that_the_server_does_not_know_yet_is_loaded_without_its_name() -> None:
    server, known = Server(), asyncio.Event()

    async def stream(request: Request) -> None:
        await request.stream()
        await known.wait()
        await request.chunk(serialize_event(update(1)) + b'data: {"id":"session/load","result":{}}\n\n')
        await asyncio.Event().wait()

    async def session(request: Request) -> None:
        if not known.is_set():
            await request.answer(404)
            return
        await request.stream()
        await request.chunk(serialize_event(update(2)))
        await asyncio.Event().wait()

    async def post(request: Request) -> None:
        known.set()
        await request.answer(202)

    server.streams.update({"": stream, "s": session})
    server.posts = post
    async with connected(server.handle) as client:
        assert await client.call("session/load", sessionId="s") == {"id": "session/load", "result": {}}
        assert await client.receive() == [update(2)]
    assert "acp-session-id" not in server.of("POST")[1].headers


async def test_an_answer_that_overtook_the_replay_is_kept_back() -> None:
    server = Server()
    asked, barrier = asyncio.Event(), asyncio.Event()

    async def stream(request: Request) -> None:
        await request.stream()
        await asked.wait()
        await request.chunk(b'data: {"id":"session/load","result":{}}\n\n')
        await asyncio.Event().wait()

    async def session(request: Request) -> None:
        await request.stream()
        await barrier.wait()
        await request.chunk(serialize_event(update(1)) + serialize_event(update(2)))
        id_ = json.loads(server.of("POST")[-1].body)["id"]
        await request.chunk(serialize_event(json.dumps({"id": id_, "error": {"code": -32601, "message": ""}})))
        await asyncio.Event().wait()

    async def handle(request: Request) -> None:
        await server.handle(request)
        if b'"session/load"' in request.body:
            asked.set()
        if b"_accord/barrier" in request.body:
            barrier.set()

    server.streams.update({"": stream, "s": session})
    async with connected(handle) as client:
        await client.transport.send(b'{"id":"session/load","method":"session/load","params":{"sessionId":"s"}}')
        assert await client.receive(3) == [update(1), update(2), b'{"id":"session/load","result":{}}']


# --- refusals


@pytest.mark.parametrize("status", [301, 401, 403, 404, 405, 500, 503])
async def test_a_refused_initialize_has_its_status(status: int) -> None:
    async def handle(request: Request) -> None:
        await request.answer(status, b"<html>", Content_Type="text/html", Location="http://127.0.0.1:1/other")

    with pytest.raises(ConnectFailed) as failed:
        async with connected(handle, token="secret"):  # noqa: S106
            pass
    assert failed.value.status == status


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (INITIALIZED, {"Content_Type": "text/html", "Acp_Connection_Id": "c1"}),
        (INITIALIZED, {"Content_Type": "application/json"}),
        (b"{", {"Content_Type": "application/json", "Acp_Connection_Id": "c1"}),
        (b"[]", {"Content_Type": "application/json", "Acp_Connection_Id": "c1"}),
    ],
)
async def test_an_answer_of_something_else_is_a_connection_that_failed(body: bytes, headers: dict[str, str]) -> None:
    async def handle(request: Request) -> None:
        await request.answer(200, body, **headers)

    with pytest.raises(ConnectFailed):
        async with connected(handle):
            pass


async def test_an_agent_that_refuses_initialize_leaves_no_connection() -> None:
    refusal = b'{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":""}}'
    requests: list[str] = []

    async def handle(request: Request) -> None:
        requests.append(request.method)
        if request.method == "POST":
            await request.answer(200, refusal, Content_Type="application/json", Acp_Connection_Id="c1")
        else:
            await request.answer(202)

    async with connected(handle):
        pass
    assert requests == ["POST", "DELETE"]


@pytest.mark.parametrize("status", [400, 409, 413, 500])
async def test_a_refused_request_is_answered_with_an_error(status: int) -> None:
    server = Server()

    async def post(request: Request) -> None:
        await request.answer(status)

    server.posts = post
    async with connected(server.handle) as client:
        answer = await client.call("_x")
        assert answer["error"]["data"] == {"status": status}


@pytest.mark.parametrize("status", [429, 503])
async def test_an_answer_that_the_server_was_too_busy_for_is_sent_again(status: int) -> None:
    server, is_taken = Server(), asyncio.Event()

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(serialize_event(b'{"jsonrpc":"2.0","id":7,"method":"session/request_permission"}'))
        await asyncio.Event().wait()

    async def post(request: Request) -> None:
        is_busy = len(server.of("POST")) == 2
        await request.answer(status if is_busy else 202)
        if not is_busy:
            is_taken.set()

    server.streams[""] = stream
    server.posts = post
    async with connected(server.handle) as client:
        await client.receive()
        await client.transport.send(b'{"jsonrpc":"2.0","id":7,"result":{}}')
        async with asyncio.timeout(limit(20.0)):
            await is_taken.wait()
        assert server.of("POST")[-1].body == server.of("POST")[-2].body


@pytest.mark.parametrize("status", [400, 409, 413, 500])
async def test_an_answer_that_the_server_refuses_ends_the_connection(status: int) -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(serialize_event(b'{"jsonrpc":"2.0","id":7,"method":"session/request_permission"}'))
        await asyncio.Event().wait()

    async def post(request: Request) -> None:
        await request.answer(status)

    server.streams[""] = stream
    server.posts = post
    async with connected(server.handle) as client:
        await client.receive()
        await client.transport.send(b'{"jsonrpc":"2.0","id":7,"result":{}}')
        with pytest.raises(ConnectionLost):
            await client.receive()


async def test_a_connection_that_was_idle_is_not_used_again_at_the_moment_when_servers_close_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("accord.transport.http.IDLE_SECONDS", 0.05)
    server = Server()
    server.posts = lambda request: request.answer(
        200, b'{"jsonrpc":"2.0","id":"x","result":{}}', Content_Type="application/json"
    )
    async with connected(server.handle) as client:
        await client.call("x")
        await asyncio.sleep(0.2)
        await client.call("x")
    before, after = server.of("POST")[-2:]
    assert before.writer is not after.writer


@pytest.mark.parametrize("status", [401, 404, 410])
async def test_a_connection_that_the_server_forgot_is_lost(status: int) -> None:
    server = Server()

    async def post(request: Request) -> None:
        await request.answer(status)

    server.posts = post
    async with connected(server.handle) as client:
        with pytest.raises(ConnectionLost):
            await client.call("_x")


async def test_the_token_and_the_headers_are_sent_with_every_request() -> None:
    server = Server()
    async with connected(server.handle, token="secret", headers={"X-Team": "blue"}) as client:  # noqa: S106
        await client.transport.send(b'{"jsonrpc":"2.0","method":"x"}')
    assert [request.method for request in server.requests].count("DELETE") == 1
    for request in server.requests:
        assert (request.headers["authorization"], request.headers["x-team"]) == ("Bearer secret", "blue")


# --- servers that misbehave


async def endless_event(request: Request) -> None:
    await request.chunk(b"data: ")
    while True:
        await request.chunk(b"x" * 10_000)


async def endless_comment(request: Request) -> None:
    while True:
        await request.chunk(b":" + b"x" * 10_000)


async def broken_chunk(request: Request) -> None:
    request.writer.write(b"zz\r\nnonsense\r\n")
    await request.writer.drain()


@pytest.mark.parametrize("misbehave", [endless_event, endless_comment, broken_chunk])
async def test_a_stream_that_cannot_be_read_ends_the_connection(misbehave: Callable[[Request], Any]) -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        await misbehave(request)

    server.streams[""] = stream
    async with connected(server.handle, max_bytes=50_000) as client:
        with pytest.raises(TransportError):
            await client.receive()


async def test_an_answer_over_the_limit_is_a_frame_error() -> None:
    async def handle(request: Request) -> None:
        await request.answer(200, b" " * 100_000, Content_Type="application/json", Acp_Connection_Id="c1")

    with pytest.raises(FrameError):
        async with connected(handle, max_bytes=50_000):
            pass


async def test_broken_json_and_keepalives_are_nothing_to_the_transport() -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        for byte in b"\xef\xbb\xbf" + KEEPALIVE + b"retry: 5\r\rdata: {\r\n\r\nevent: x\ndata: []\n\n":
            await request.chunk(bytes([byte]))
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        assert await client.receive(2) == [b"{", b"[]"]


async def test_a_server_that_answers_a_reader_with_a_page_is_no_server() -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.answer(200, b"<html>", Content_Type="text/html")

    server.streams[""] = stream
    async with connected(server.handle) as client:
        with pytest.raises(ConnectionLost):
            await client.receive()


async def test_a_session_id_that_no_header_can_have_ends_the_connection() -> None:
    server = Server()

    async def stream(request: Request) -> None:
        await request.stream()
        await request.chunk(b'data: {"id":"session/new","result":{"sessionId":"a\\r\\nX-Evil: 1"}}\n\n')
        await asyncio.Event().wait()

    server.streams[""] = stream
    async with connected(server.handle) as client:
        await client.call("session/new")
        with pytest.raises(ConnectionLost):
            await client.receive()
    assert not any("x-evil" in request.headers for request in server.requests)
