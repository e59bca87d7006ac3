"""A session that several clients have open, and a turn that outlives its connection."""

import asyncio
from pathlib import Path
from typing import Any

from tests.limits import limit
from tests.serve.raw_clients import HttpClient, WebSocketClient, prompt_params, request, said
from tests.serve.server_process import IMPATIENT, serving

CHOICE = {"outcome": {"outcome": "selected", "optionId": "allow"}}


def opening(session_id: str, root: Path) -> dict[str, Any]:
    return {"sessionId": session_id, "cwd": str(root), "mcpServers": []}


async def test_two_clients_have_one_session_and_the_first_answer_counts(shared_server: int, server_root: Path) -> None:
    url, root = f"ws://127.0.0.1:{shared_server}/acp", server_root / "root"
    async with WebSocketClient(url) as first, WebSocketClient(url) as second:
        session_id = await first.new_session(str(root))
        await first.prompt(session_id, "hello")
        await second.initialize()
        assert "result" in await second.call("session/load", opening(session_id, root))
        assert said(second.seen) == "You said: hello"
        await first.send(request("ask", "session/prompt", prompt_params(session_id, "ask")))
        asked_first = await first.next_of("session/request_permission")
        asked_second = await second.next_of("session/request_permission")
        await second.send({"jsonrpc": "2.0", "id": asked_second["id"], "result": CHOICE})
        withdrawn = await first.next_of("$/cancel_request")
        assert withdrawn["params"]["requestId"] == asked_first["id"]
        assert withdrawn["params"]["_meta"] == {"accord/answered": {"outcome": "selected", "optionId": "allow"}}
        # Too late: it is counted nowhere.
        late = {"outcome": {"outcome": "selected", "optionId": "reject"}}
        await first.send({"jsonrpc": "2.0", "id": asked_first["id"], "result": late})
        assert (await first.answer("ask"))["result"]["stopReason"] == "end_turn"
        assert "[allow]" in said(first.seen)
        # What one of them starts, the other sees.
        await second.prompt(session_id, "from the second")
        first.seen.clear()
        while "second" not in said(first.seen):
            first.seen.append(await first.next())


async def test_a_client_that_attaches_while_a_turn_runs_misses_nothing_and_gets_nothing_twice(
    shared_server: int, server_root: Path
) -> None:
    url, root = f"ws://127.0.0.1:{shared_server}/acp", server_root / "root"
    async with WebSocketClient(url) as first, WebSocketClient(url) as second:
        session_id = await first.new_session(str(root))
        await second.initialize()
        count = 2000
        await first.send(request("long", "session/prompt", prompt_params(session_id, f"stream {count}")))
        first.seen.append(await first.next())
        assert "result" in await second.call("session/load", opening(session_id, root))
        await first.answer("long")
        wanted = "".join(f"<{number}>" for number in range(count))
        assert said(first.seen) == wanted
        async with asyncio.timeout(limit(20.0)):
            while len(said(second.seen)) < len(wanted):
                second.seen.append(await second.next())
        assert said(second.seen) == wanted


async def test_a_turn_outlives_its_connection_and_its_question_is_asked_again(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent", "--grace", "0.1") as server:
        root = tmp_path / "root"
        async with WebSocketClient(server.websocket) as first:
            session_id = await first.new_session(str(root))
            await first.send(request("ask", "session/prompt", prompt_params(session_id, "ask")))
            await first.next_of("session/request_permission")
            first.cut()
        async with HttpClient(server.port) as second:
            await second.initialize()
            await second.open_stream()
            await second.open_stream(session_id)
            # Also after the grace of the first connection, whose end is logged.
            async with asyncio.timeout(limit(20.0)):
                while not any("did not come back" in line for line in server.log):
                    await asyncio.sleep(0.02)
            assert "result" in await second.call("session/load", opening(session_id, root), session_id)
            while (question := await second.streams[session_id].next()).get("method") != "session/request_permission":
                pass
            await second.post({"jsonrpc": "2.0", "id": question["id"], "result": CHOICE})
            while "[allow]" not in said(second.seen):
                second.seen.append(await second.streams[session_id].next())


async def test_a_turn_ends_with_its_connection_where_that_is_wanted(tmp_path: Path) -> None:
    arguments = ("served_agent:agent", "--grace", "0.1", "--on-disconnect", "cancel")
    async with serving(tmp_path, *arguments, seconds=IMPATIENT) as server:
        root = tmp_path / "root"
        async with WebSocketClient(server.websocket) as first:
            session_id = await first.new_session(str(root))
            await first.send(request("wait", "session/prompt", prompt_params(session_id, "wait")))
            await first.next_of("session/update")
            first.cut()
        async with asyncio.timeout(limit(20.0)):
            while not (root / "cancelled").exists():
                await asyncio.sleep(0.02)
        async with WebSocketClient(server.websocket) as second:
            await second.initialize()
            assert "result" in await second.call("session/load", opening(session_id, root))
            assert (await second.prompt(session_id, "again"))["result"]["stopReason"] == "end_turn"
