"""Streamable HTTP: the table of what every request gets, and a conversation."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.serve import one_token
from tests.limits import limit
from tests.serve.in_process import running
from tests.serve.raw_clients import INITIALIZE, HttpClient, close, prompt_params, read_reply, request, said, send

STREAM = {"Accept": "text/event-stream"}
TOKEN = {"Authorization": "Bearer secret"}
JSON = {"Content-Type": "application/json"}
LIMIT_BYTES = 16 * 1024 * 1024
CHUNK_BYTES = 64 * 1024


async def test_a_conversation_over_http(shared_server: int, server_root: Path) -> None:
    async with HttpClient(shared_server) as client:
        session_id = await client.new_session(str(server_root / "root"))
        answer = await client.call("session/prompt", prompt_params(session_id, "hello"), session_id)
        assert answer["result"]["stopReason"] == "end_turn"
        assert said(client.seen) == "You said: hello"
        assert (await client.post(request("ask", "session/prompt", prompt_params(session_id, "ask")))).status == 202
        while (question := await client.streams[session_id].next()).get("method") != "session/request_permission":
            pass
        outcome = {"outcome": "selected", "optionId": "reject"}
        # Without `Acp-Session-Id`, as some clients answer.
        reply = await client.post({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}})
        assert reply.status == 202
        assert "result" in await client.answer("ask", session_id)
        assert "[reject]" in said(client.seen)
        assert (await send(shared_server, "DELETE", headers=client.headers)).status == 202
        assert await client.streams[session_id].next() is None
        assert (await send(shared_server, "DELETE", headers=client.headers)).status == 404


async def test_every_stream_says_that_no_proxy_may_buffer_it(shared_server: int) -> None:
    async with HttpClient(shared_server) as client:
        await client.initialize()
        reply = await client.open_stream()
        assert reply.headers["content-type"] == "text/event-stream"
        assert reply.headers["cache-control"] == "no-cache, no-transform"
        assert reply.headers["x-accel-buffering"] == "no"
        assert await client.streams[None].read_priming() == "0"


ARRAY = json.dumps([request(1, "initialize", INITIALIZE)]).encode()


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("POST", "/acp", JSON, request(0, "initialize", INITIALIZE), 401),
        ("POST", "/acp", {**JSON, "Authorization": "Bearer wrong"}, request(0, "initialize", INITIALIZE), 401),
        ("POST", "/acp", {**JSON, "Authorization": "Basic c2VjcmV0"}, request(0, "initialize", INITIALIZE), 401),
        ("GET", "/acp", STREAM, None, 401),
        ("DELETE", "/acp", {}, None, 401),
        (
            "POST",
            "/acp",
            {**JSON, **TOKEN, "Origin": "https://evil.example"},
            request(0, "initialize", INITIALIZE),
            403,
        ),
        ("POST", "/acp", {**JSON, **TOKEN, "Host": "evil.example"}, request(0, "initialize", INITIALIZE), 403),
        ("GET", "/metrics", {"Host": "evil.example"}, None, 403),
        ("GET", "/metrics", {"Host": "[::1]:80"}, None, 200),
        ("GET", "/metrics", {"Host": "[::1].evil.example"}, None, 403),
        ("GET", "/metrics", {"Host": "localhost:80.evil.example"}, None, 403),
        ("GET", "/health", {"Host": "10.0.0.1"}, None, 200),
        ("GET", "/ready", {"Host": "10.0.0.1"}, None, 200),
        ("GET", "/ready", {"Host": "10.0.0.1", "Origin": "https://evil.example"}, None, 403),
        ("POST", "/other", {**JSON, **TOKEN}, request(0, "initialize", INITIALIZE), 404),
        ("PUT", "/acp", {**JSON, **TOKEN}, request(0, "initialize", INITIALIZE), 405),
        ("POST", "/acp", {**TOKEN, "Content-Type": "text/plain"}, request(0, "initialize", INITIALIZE), 415),
        ("POST", "/acp", {**TOKEN, "Content-Type": ""}, b"{}", 415),
        ("POST", "/acp", {**TOKEN, "Content-Type": "text/vnd.acp+json"}, request(0, "initialize", INITIALIZE), 415),
        ("POST", "/acp", {**TOKEN, "Content-Type": "application/jsonl"}, request(0, "initialize", INITIALIZE), 415),
        ("POST", "/acp", {**TOKEN, "Content-Type": "application/+json"}, request(0, "initialize", INITIALIZE), 415),
        (
            "POST",
            "/acp",
            {**TOKEN, "Content-Type": "Application/JSON ; charset=utf-8"},
            request(0, "initialize", INITIALIZE),
            200,
        ),
        (
            "POST",
            "/acp",
            {**TOKEN, "Content-Type": "Application/Vnd.ACP+JSON; charset=utf-8"},
            request(0, "initialize", INITIALIZE),
            200,
        ),
        ("POST", "/acp", {**JSON, **TOKEN}, b"{", 400),
        ("POST", "/acp", {**JSON, **TOKEN}, b"42", 400),
        ("POST", "/acp", {**JSON, **TOKEN}, b"\xff\xfe", 400),
        ("POST", "/acp", {**JSON, **TOKEN}, ARRAY, 400),
        ("POST", "/acp", {**JSON, **TOKEN}, request(1, "session/new", {}), 400),
        ("POST", "/acp", {**JSON, **TOKEN, "Acp-Connection-Id": "x"}, request(1, "session/new", {}), 404),
        ("POST", "/acp", {**JSON, **TOKEN, "Content-Length": "20000000"}, None, 413),
        ("GET", "/acp", {**TOKEN, **STREAM}, None, 400),
        ("GET", "/acp", {**TOKEN, **STREAM, "Acp-Connection-Id": "x"}, None, 404),
        # Behind the check of Accept, whose media types have no case: there is no connection id.
        ("GET", "/acp", {**TOKEN, "Accept": "Text/Event-Stream"}, None, 400),
        ("GET", "/acp", {**TOKEN, "Acp-Connection-Id": "x"}, None, 406),
        ("GET", "/acp", {**TOKEN, "Accept": "*/*", "Acp-Connection-Id": "x"}, None, 406),
        ("DELETE", "/acp", TOKEN, None, 400),
        ("DELETE", "/acp", {**TOKEN, "Acp-Connection-Id": "x"}, None, 404),
        ("GET", "/health", {}, None, 200),
        ("GET", "/ready", {}, None, 200),
        ("GET", "/metrics", {}, None, 200),
    ],
)
async def test_a_request_gets_its_status(
    shared_server: int, method: str, path: str, headers: dict[str, str], body: Any, status: int
) -> None:
    reply = await send(shared_server, method, path, headers, body)
    assert reply.status == status
    assert ("www-authenticate" in reply.headers) == (status == 401)


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://127.0.0.1/acp", "127.0.0.1", 200),
        ("HTTP://LocalHost:8080/acp/?a=b", "127.0.0.1", 200),
        # The host is that of the target, whatever the header says.
        ("http://127.0.0.1/acp", "evil.example", 200),
        ("http://evil.example/acp", "127.0.0.1", 403),
        ("http://evil@127.0.0.1.evil.example/acp", "127.0.0.1", 403),
        ("http://127.0.0.1/other", "127.0.0.1", 404),
        ("ftp://127.0.0.1/acp", "127.0.0.1", 404),
        ("127.0.0.1/acp", "127.0.0.1", 404),
    ],
)
async def test_the_target_of_a_request_may_be_a_whole_address(
    shared_server: int, target: str, host: str, status: int
) -> None:
    body = request(0, "initialize", INITIALIZE)
    reply = await send(shared_server, "POST", target, {**TOKEN, "Host": host}, body)
    assert reply.status == status


async def test_a_page_of_an_allowed_origin_is_told_what_it_may_do_by_a_response_without_a_body(tmp_path: Path) -> None:
    agent = accord.Agent("for-pages", store=None)
    page = "http://page.example"
    application = agent.asgi(authenticate=one_token("secret"), root=tmp_path, origins=[page])
    async with running(application) as port:
        reply = await send(port, "OPTIONS", headers={"Origin": page, "Access-Control-Request-Method": "POST"})
        assert reply.status == 204
        assert reply.headers["access-control-allow-origin"] == page
        assert "authorization" in reply.headers["access-control-allow-headers"].lower()
        # RFC 9110, 8.6: a server must not send it with this status.
        assert "content-length" not in reply.headers
        await application.close()


@pytest.mark.parametrize(("body", "code"), [(b"{", -32700), (ARRAY, -32600), (b"42", -32600)])
async def test_a_body_that_is_no_message_gets_400_and_a_json_rpc_error(
    shared_server: int, body: bytes, code: int
) -> None:
    reply = await send(shared_server, "POST", headers=TOKEN, body=body)
    assert (reply.status, reply.json["id"], reply.json["error"]["code"]) == (400, None, code)


async def test_a_body_in_chunks_over_the_limit_is_not_read_to_its_end(shared_server: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", shared_server)
    head = f"POST /acp HTTP/1.1\r\nHost: 127.0.0.1:{shared_server}\r\nAuthorization: Bearer secret\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    chunk = b"%x\r\n%b\r\n" % (CHUNK_BYTES, b" " * CHUNK_BYTES)

    async def pour() -> None:
        with contextlib.suppress(OSError):
            for _ in range(4 * LIMIT_BYTES // CHUNK_BYTES):
                writer.write(chunk)
                await writer.drain()

    pouring = asyncio.ensure_future(pour())
    assert (await read_reply(reader)).status == 413
    pouring.cancel()
    await close(writer)


async def test_a_body_of_two_lengths_is_refused_and_its_socket_closed(shared_server: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", shared_server)
    head = "POST /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n".encode())
    # To a proxy that counts, the second request would be the body of the first.
    writer.write(b"Content-Length: 40\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    async with asyncio.timeout(limit(20.0)):
        answers = await reader.read()
    assert answers.split(b" ", 2)[1] == b"400"
    assert answers.count(b"HTTP/1.1 ") == 1
    await close(writer)


async def test_a_second_initialize_and_a_session_that_is_named_twice_are_refused(
    shared_server: int, server_root: Path
) -> None:
    async with HttpClient(shared_server) as client:
        session_id = await client.new_session(str(server_root / "root"))
        assert (await client.post(request(7, "initialize", INITIALIZE))).status == 400
        reply = await client.post(request(8, "session/prompt", prompt_params(session_id, "x")), Acp_Session_Id="other")
        assert reply.status == 400
        assert (await client.post({"jsonrpc": "2.0", "id": 99, "result": {}})).status == 202


async def test_a_newer_reader_of_a_stream_replaces_the_older_one(shared_server: int, server_root: Path) -> None:
    async with HttpClient(shared_server) as client:
        session_id = await client.new_session(str(server_root / "root"))
        older = client.streams[session_id]
        assert (await client.open_stream(session_id)).status == 200
        assert await older.next() is None
        answer = await client.call("session/prompt", prompt_params(session_id, "hello"), session_id)
        assert "result" in answer
        assert said(client.seen) == "You said: hello"


async def test_a_stream_goes_on_behind_the_last_event_id_and_409_says_that_it_cannot(
    shared_server: int, server_root: Path
) -> None:
    async with HttpClient(shared_server) as client:
        session_id = await client.new_session(str(server_root / "root"))
        stream = client.streams[session_id]
        assert (await client.post(request(1, "session/prompt", prompt_params(session_id, "stream 50")))).status == 202
        got = [await stream.next() for _ in range(20)]
        stream.cut()
        assert (await client.open_stream(session_id, str(len(got)))).status == 200
        client.seen = got
        assert (await client.answer(1, session_id))["result"]["stopReason"] == "end_turn"
        assert said(client.seen) == "".join(f"<{number}>" for number in range(50))
        for unknown in ("9999", "x", "-1"):
            assert (await client.open_stream(session_id, unknown)).status == 409


async def test_a_repeated_message_number_is_accepted_once(shared_server: int, server_root: Path) -> None:
    async with HttpClient(shared_server) as client:
        session_id = await client.new_session(str(server_root / "root"))
        prompt = request("p", "session/prompt", prompt_params(session_id, "hello"))
        for _ in range(3):
            assert (await client.post(prompt, Accord_Message_Number="1")).status == 202
        assert (await client.post(prompt, Accord_Message_Number="3")).status == 409
        assert "result" in await client.answer("p", session_id)
        # Now its id is free: a server that took it again would begin another turn.
        assert (await client.post(prompt, Accord_Message_Number="1")).status == 202
        await client.call("session/prompt", prompt_params(session_id, "again"), session_id)
        assert said(client.seen) == "You said: helloYou said: again"


async def test_load_on_a_new_connection_replays_on_the_stream_that_is_read(
    shared_server: int, server_root: Path
) -> None:
    cwd = str(server_root / "root")
    async with HttpClient(shared_server) as client:
        session_id = await client.new_session(cwd)
        await client.call("session/prompt", prompt_params(session_id, "hello"), session_id)
        await send(shared_server, "DELETE", headers=client.headers)
    params = {"sessionId": session_id, "cwd": cwd, "mcpServers": []}
    for reads_session in (True, False):
        async with HttpClient(shared_server) as client:
            await client.initialize()
            await client.open_stream()
            if reads_session:
                await client.open_stream(session_id)
            assert "result" in await client.call("session/load", params, session_id if reads_session else None)
            assert "You said: hello" in said(client.seen)
            if not reads_session:
                await client.open_stream(session_id)
            client.seen.clear()
            await client.call("session/prompt", prompt_params(session_id, "again"), session_id)
            assert said(client.seen) == "You said: again"
            await send(shared_server, "DELETE", headers=client.headers)
