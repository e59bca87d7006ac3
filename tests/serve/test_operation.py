"""A server at work: health, metrics, the log, and the end by a signal."""

import asyncio
import sys
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from accord.serve.runner import YOUNG_OBJECTS
from tests.limits import limit
from tests.serve.raw_clients import HttpClient, WebSocketClient, prompt_params, request, said, send
from tests.serve.server_process import IMPATIENT, serving

PROGRAM = Path(__file__).with_name("served_agent.py")


def value_of(metrics: str, name: str) -> float:
    return next(float(line.split()[-1]) for line in metrics.splitlines() if line.startswith(name + " "))


async def test_metrics_count_what_happens_and_the_log_has_no_secret(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent") as server:
        async with HttpClient(server.port) as client:
            session_id = await client.new_session(str(tmp_path / "root"))
            await client.call("session/prompt", prompt_params(session_id, "my private words"), session_id)
            await send(server.port, "POST", f"/acp?token={server.token}", {"Authorization": "Bearer stolen"}, b"{}")
            text = (await send(server.port, "GET", "/metrics")).body.decode()
        assert value_of(text, "accord_connections") == 1
        assert value_of(text, "accord_sessions") == 1
        assert value_of(text, "accord_opened_connections_total") == 1
        assert value_of(text, 'accord_refusals_total{cause="token"}') == 1
    assert any("POST /acp 401 -" in line for line in server.log)
    assert any("POST /acp 202 local" in line for line in server.log)
    logged = "\n".join(server.log)
    for secret in (server.token, "stolen", "private"):
        assert secret not in logged


async def test_sigterm_lets_an_open_turn_come_to_its_end_and_refuses_new_connections(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent") as server:
        async with WebSocketClient(server.websocket) as client:
            session_id = await client.new_session(str(tmp_path / "root"))
            await client.send(request("ask", "session/prompt", prompt_params(session_id, "ask")))
            question = await client.next_of("session/request_permission")
            server.terminate()
            async with asyncio.timeout(limit(20.0)):
                while (await send(server.port, "GET", "/ready")).status != 503:
                    await asyncio.sleep(0.02)
            body = request(0, "initialize", {"protocolVersion": 1})
            refused = await send(server.port, "POST", headers=server.authorization, body=body)
            assert refused.status == 503
            assert "retry-after" in refused.headers
            outcome = {"outcome": {"outcome": "selected", "optionId": "allow"}}
            await client.send({"jsonrpc": "2.0", "id": question["id"], "result": outcome})
            assert (await client.answer("ask"))["result"]["stopReason"] == "end_turn"
            assert "[allow]" in said(client.seen)
            with pytest.raises(ConnectionClosed) as closed:
                await client.next()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4001
        assert await server.process.wait() == 0


async def test_a_turn_that_does_not_end_is_ended_when_the_drain_is_over(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent", "--drain", "0.2", seconds=IMPATIENT) as server:
        async with WebSocketClient(server.websocket) as client:
            session_id = await client.new_session(str(tmp_path / "root"))
            await client.send(request("wait", "session/prompt", prompt_params(session_id, "wait")))
            await client.next_of("session/update")
            server.terminate()
            assert (await client.answer("wait"))["error"]["data"]["reason"] == "drained"
        assert await server.process.wait() == 0
        assert (tmp_path / "root" / "cancelled").exists()


async def test_sigterm_does_not_wait_for_a_client_that_has_left(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent", "--drain", "600") as server:
        async with HttpClient(server.port) as client:
            session_id = await client.new_session(str(tmp_path / "root"))
            for stream in client.streams.values():
                stream.cut()
            # Its answer, and what was said before, have no reader.
            await client.post(request("left", "session/prompt", prompt_params(session_id, "hello")))
            async with asyncio.timeout(limit(20.0)):
                while value_of(await metrics_of(server.port), "accord_links"):
                    await asyncio.sleep(0.02)
                while not value_of(await metrics_of(server.port), "accord_waiting_bytes"):
                    await asyncio.sleep(0.02)
        server.terminate()
        async with asyncio.timeout(limit(30.0)):
            assert await server.process.wait() == 0


@pytest.mark.parametrize("served", ["served_agent:agent", "program"])
async def test_sigterm_does_not_wait_for_the_answer_of_a_client_that_has_left(tmp_path: Path, served: str) -> None:
    words = ("--", sys.executable, str(PROGRAM)) if served == "program" else (served,)
    async with serving(tmp_path, "--drain", "600", *words, seconds=IMPATIENT) as server:
        async with WebSocketClient(server.websocket) as client:
            session_id = await client.new_session(str(tmp_path / "root"))
            await client.send(request("ask", "session/prompt", prompt_params(session_id, "ask")))
            await client.next_of("session/request_permission")
            # Without a close frame: it might come back.
            client.cut()
            async with asyncio.timeout(limit(20.0)):
                while value_of(await metrics_of(server.port), "accord_links"):
                    await asyncio.sleep(0.02)
        server.terminate()
        async with asyncio.timeout(limit(30.0)):
            assert await server.process.wait() == 0


async def metrics_of(port: int) -> str:
    return (await send(port, "GET", "/metrics")).body.decode()


THRESHOLDS = """\
import gc

import accord

agent = accord.Agent("collected", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    await turn.say(str(gc.get_threshold()[0]))
"""


@pytest.mark.parametrize("wanted", [0, 700, 90_000])
async def test_the_collector_of_cycles_lets_many_turns_run_unless_an_author_wants_it_rarer(
    tmp_path: Path, wanted: int
) -> None:
    (tmp_path / "collected.py").write_text(f"{THRESHOLDS}\n\ngc.set_threshold({wanted})\n")
    async with serving(tmp_path, "collected:agent") as server, WebSocketClient(server.websocket) as client:
        session_id = await client.new_session(str(tmp_path / "root"))
        await client.call("session/prompt", prompt_params(session_id, "?"))
        assert said(client.seen) == str(YOUNG_OBJECTS if wanted == 700 else wanted)
