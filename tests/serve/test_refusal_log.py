"""The log names the cause of every refusal, and the counters count it; nothing of a client's text is in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from accord.serve import TokenFile
from tests.limits import limit
from tests.serve.raw_clients import INITIALIZE, HttpClient, WebSocketClient, close, prompt_params, request, send
from tests.serve.server_process import ServerProcess, serving
from tests.serve.test_abuse import go_silent

UNUSED = "unused"


async def logged(server: ServerProcess, pattern: str, seconds: float = 20.0) -> None:
    """Wait for a line; the log is read behind the answer."""
    deadline = time.monotonic() + limit(seconds)
    while not any(re.search(pattern, line) for line in server.log):
        assert time.monotonic() < deadline, (pattern, server.log)
        await asyncio.sleep(0.01)
    server.log.clear()


async def test_every_refused_request_is_in_the_log_with_its_cause(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    ada, bob = TokenFile.add(path, "ada"), TokenFile.add(path, "bob")
    token, initialize = {"Authorization": f"Bearer {ada}"}, request(0, "initialize", INITIALIZE)
    page = {"Origin": "https://evil.example"}
    table: list[tuple[str, dict[str, str], Any, int, str]] = [
        ("POST", {}, initialize, 401, r"401 \(no_token\)"),
        ("POST", {"Authorization": "Bearer x"}, initialize, 401, r"401 \(token\)"),
        ("POST", {**token, **page}, initialize, 403, r"403 \(origin\)"),
        ("POST", {**token, "Host": "evil.example"}, initialize, 403, r"403 \(host\)"),
        ("POST", {**token, "Content-Type": "text/plain"}, initialize, 415, r"415 \(content_type\)"),
        ("POST", {**token, "Content-Length": "20000000"}, None, 415, r"415 \(content_type\)"),
        (
            "POST",
            {**token, "Content-Type": "application/json", "Content-Length": "20000000"},
            None,
            413,
            r"413 \(body\)",
        ),
        ("POST", token, b"{", 400, "400 a body of ada: no JSON-RPC message"),
        ("POST", token, [initialize], 400, "400 a body of ada: no JSON-RPC message"),
        ("POST", token, request(1, "session/new", {}), 400, r"400 \(no_connection_id\)"),
        ("POST", {**token, "Acp-Connection-Id": "x"}, request(1, "session/new", {}), 404, r"404 \(connection\)"),
        ("PUT", token, initialize, 405, r"405 \(method\)"),
        ("GET", token, None, 406, r"406 \(accept\)"),
    ]
    async with serving(tmp_path, "served_agent:agent", "--token-file", str(path), token=UNUSED) as server:
        for method, headers, body, status, cause in table:
            reply = await send(server.port, method, headers=headers, body=body)
            assert reply.status == status
            await logged(server, cause)
        await logged_of_connections(server, ada, bob, str(tmp_path / "root"))


async def test_a_line_break_in_a_path_begins_no_line_of_the_log(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent") as server:
        for target in ("/x%0d%0aforged", "/x%1b[2Jforged", "http://127.0.0.1/x%0aforged"):
            assert (await send(server.port, "GET", target)).status == 404
            await logged(server, r"INFO GET .*x\\.*forged 404")


async def test_a_line_break_in_the_reason_of_a_close_begins_no_line_of_the_log(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent") as server, WebSocketClient(server.websocket) as client:
        await client.initialize()
        await client.socket.close(1008, "bad\nforged")
        await logged(server, r"closed with 1008: bad\\nforged")


async def logged_of_connections(server: ServerProcess, ada: str, bob: str, root: str) -> None:
    """Refusals that need a connection: over HTTP, and over WebSocket."""
    async with HttpClient(server.port, ada) as client, WebSocketClient(server.websocket, bob) as other:
        session_id = await client.new_session(root)
        assert (await client.post(request(7, "initialize", INITIALIZE))).status == 400
        await logged(server, r"400 \(initialized\)")
        assert (await client.open_stream(session_id)).status == 200
        await logged(server, "ada: a newer reader replaces the older one")
        assert (await client.open_stream(session_id, "99")).status == 409
        await logged(server, r"409 \(gap\)")
        await other.initialize()
        assert "error" in await other.call("session/prompt", prompt_params(session_id, "secret words"))
        await logged(server, "refused session/prompt of bob: -32002")
        await other.send("[]")
        assert (await other.next())["error"]["code"] == -32600
        await logged(server, "a text of bob: no JSON-RPC message")
        with contextlib.suppress(ConnectionClosed):
            await other.send(json.dumps(request(1, "x", {"text": "a" * (17 * 1024 * 1024)})))
        with pytest.raises(ConnectionClosed):
            await other.next()
        await logged(server, "a socket of bob was closed with 1009")
    async with WebSocketClient(server.websocket, bob) as hasty:
        await hasty.send(request(1, "session/new", {}))
        assert (await hasty.next())["error"]["code"] == -32600
        await logged(server, "refused a socket of bob: The first message must be initialize")
    with pytest.raises(InvalidStatus):
        async with WebSocketClient(server.websocket, bob, headers={"Origin": "https://evil.example"}):
            pass
    await logged(server, r"403 \(origin\)")


async def test_a_client_that_vanishes_after_initialize_is_in_the_log(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent", "--grace", "0.1") as server:
        async with WebSocketClient(server.websocket) as client:
            await client.initialize()
            client.cut()
        await logged(server, "ended: its client did not come back")


async def test_a_socket_whose_client_answers_no_ping_is_in_the_log(tmp_path: Path) -> None:
    # A ping comes after so long, and has as long for its answer.
    times = {"accord.serve.runner.PING_SECONDS": 0.3}
    async with serving(tmp_path, "served_agent:agent", "--drain", "0.2", seconds=times) as server:
        silent = await go_silent(server)
        try:
            await logged(server, "its client answers no ping", 60.0)
        finally:
            silent.transport.abort()


async def test_a_request_that_turns_out_to_be_no_http_is_refused_once(tmp_path: Path) -> None:
    """Its head reaches the application, which has an answer of its own; the rest of it comes in the same read."""
    head = "POST /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
    async with serving(tmp_path, "served_agent:agent", "--drain", "0.2") as server:
        for connection in ("keep-alive", "close"):
            for rest in (b"no chunk\r\n", b"0\r\n\r\nno request\r\n\r\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(f"{head}Connection: {connection}\r\n\r\n".encode() + rest)
                async with asyncio.timeout(limit(20.0)):
                    reply = await reader.read()
                assert reply[9:12] in (b"400", b"401")
                await close(writer)
    # The log is read to its end with the server's.
    assert not [line for line in server.log if "Traceback" in line or "ERROR" in line]
    assert [line for line in server.log if "Invalid HTTP" in line]
