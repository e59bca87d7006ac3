"""A program behind the server: one process for each connection, taken over by the next client of the same principal."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.limits import limit
from tests.serve.raw_clients import INITIALIZE, HttpClient, WebSocketClient, prompt_params, request, said, send
from tests.serve.server_process import HERE, ServerProcess, serving

PROGRAM = ("--", sys.executable, str(HERE / "served_agent.py"))
CHOICE = {"outcome": {"outcome": "selected", "optionId": "allow"}}
CAPABLE = {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}}}


def started(server: ServerProcess) -> list[int]:
    """The processes that the server started, as it logged them."""
    return [int(line.rpartition(" ")[2]) for line in server.log if "as process" in line]


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(limit(20.0)):
        while Path(f"/proc/{pid}").exists():
            await asyncio.sleep(0.02)


def opening(session_id: str, root: Path) -> dict[str, Any]:
    return {"sessionId": session_id, "cwd": str(root), "mcpServers": []}


async def test_each_connection_has_a_process_that_ends_with_it(tmp_path: Path) -> None:
    async with serving(tmp_path, *PROGRAM) as server:
        async with WebSocketClient(server.websocket) as client:
            session_id = await client.new_session(str(tmp_path / "root"))
            await client.prompt(session_id, "hello")
            assert said(client.seen) == "You said: hello"
            async with HttpClient(server.port) as other:
                await other.new_session(str(tmp_path / "root"))
                assert len(set(started(server))) == 2
        await until_gone(started(server)[0])
    for pid in started(server):
        await until_gone(pid)


async def test_a_new_connection_takes_over_the_process_and_is_asked_what_waits(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with serving(tmp_path, *PROGRAM) as server:
        async with WebSocketClient(server.websocket) as first:
            await first.initialize(CAPABLE)
            session_id = (await first.call("session/new", {"cwd": str(root), "mcpServers": []}))["result"]["sessionId"]
            await first.send(request(3, "session/prompt", prompt_params(session_id, "ask")))
            await first.next_of("session/request_permission")
            first.cut()
        # A connection is taken over when its loss was noticed.
        async with asyncio.timeout(limit(20.0)):
            while "\naccord_links 0\n" not in (await send(server.port, "GET", "/metrics")).body.decode():
                await asyncio.sleep(0.02)
        async with WebSocketClient(server.websocket) as lesser:
            # The agent would go on to use what this one does not have.
            assert (await lesser.initialize(INITIALIZE))["error"]["code"] == -32600
        async with HttpClient(server.port) as second:
            assert "result" in await second.initialize(CAPABLE)
            await second.open_stream()
            await second.open_stream(session_id)
            # The same ids as the first client's: its requests are still open.
            second._id = 1
            assert "result" in await second.call("session/load", opening(session_id, root), session_id)
            while (question := await second.streams[session_id].next()).get("method") != "session/request_permission":
                pass
            await second.post({"jsonrpc": "2.0", "id": question["id"], "result": CHOICE})
            while "[allow]" not in said(second.seen):
                second.seen.append(await second.streams[session_id].next())
            answer = await second.call("session/prompt", prompt_params(session_id, "hello"), session_id)
            assert answer["result"]["stopReason"] == "end_turn"
        assert len(started(server)) == 1


async def test_a_client_that_comes_back_before_its_loss_is_noticed_gets_its_process(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with serving(tmp_path, *PROGRAM) as server, WebSocketClient(server.websocket) as ghost:
        await ghost.initialize(CAPABLE)
        session_id = (await ghost.call("session/new", {"cwd": str(root), "mcpServers": []}))["result"]["sessionId"]
        # Its socket stays open, as one does behind which the network is gone. What it missed is not kept.
        assert ghost.socket.response is not None
        resumed = {"accord/resume": {"connectionId": ghost.socket.response.headers["Acp-Connection-Id"]}}
        async with WebSocketClient(server.websocket) as again:
            assert "result" in await again.initialize({**CAPABLE, "_meta": resumed})
            given = {"connectionId": resumed["accord/resume"]["connectionId"], "cursor": "1000000", "requests": []}
            refused = await again.call("_accord/resume", given)
            assert refused["error"]["data"]["reason"] == "gap"
        async with WebSocketClient(server.websocket) as anew:
            assert "result" in await anew.initialize(CAPABLE)
            assert "result" in await anew.call("session/load", opening(session_id, root))
            assert (await anew.prompt(session_id, "hello"))["result"]["stopReason"] == "end_turn"
            assert len(started(server)) == 1
            async with asyncio.timeout(limit(20.0)):
                await ghost.socket.wait_closed()


async def test_a_program_that_ends_is_an_answer_to_every_open_request(tmp_path: Path) -> None:
    async with serving(tmp_path, *PROGRAM) as server, WebSocketClient(server.websocket) as client:
        session_id = await client.new_session(str(tmp_path / "root"))
        await client.send(request("wait", "session/prompt", prompt_params(session_id, "wait")))
        await client.next_of("session/update")

        os.kill(started(server)[0], signal.SIGKILL)
        assert (await client.answer("wait"))["error"]["code"] == -32603


async def test_a_program_that_cannot_be_started_is_an_error_and_no_connection(tmp_path: Path) -> None:
    async with serving(tmp_path, "--", "no-such-program") as server, WebSocketClient(server.websocket) as client:
        assert (await client.initialize())["error"]["code"] == -32603
