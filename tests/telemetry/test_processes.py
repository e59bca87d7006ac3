"""One trace over two processes, in every edition: a client here, an agent with a provider of its own there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

import accord
from accord.client import ConnectedAgent
from tests.forking_python import forking_python
from tests.limits import limit
from tests.telemetry.rig import CLIENT, IN_EVERY_EDITION, INTERNAL, SERVER, Telemetry
from tests.transport.processes import SOURCES

ROOT = Path(__file__).parents[2]
AGENT = str(Path(__file__).with_name("agent.py"))


def connected(telemetry: Telemetry, **options: Any) -> ConnectedAgent:
    env = {"PYTHONPATH": f"{SOURCES}:{ROOT}"}
    return accord.connect(str(forking_python()), AGENT, telemetry.file, env=env, permission=lambda _: True, **options)


@IN_EVERY_EDITION
async def test_the_work_of_an_agent_hangs_below_the_clients_call(
    telemetry: Telemetry, tmp_path: Path, edition: Any
) -> None:
    (tmp_path / "notes.txt").write_text("a secret of the file\n")
    tracer = telemetry.traces.get_tracer("script")
    with tracer.start_as_current_span("script"):
        async with connected(telemetry, edition=edition) as agent:
            session = await agent.new_session(tmp_path)
            await session.prompt("a secret of the prompt")

    turn = telemetry.one("session/prompt", SERVER)
    assert telemetry.path(turn) == ["script", "session/prompt", "session/prompt"]
    tool = telemetry.one("execute_tool change", INTERNAL)
    above = ["script", "session/prompt", "session/prompt", "framework run", "execute_tool change"]
    assert telemetry.path(tool) == above
    asked = "session/request_permission"
    assert telemetry.path(telemetry.one(asked, SERVER)) == [*above, asked, asked]
    assert {span.trace for span in telemetry.spans} == {turn.trace}
    for span in (telemetry.one("session/prompt", CLIENT), turn):
        assert span.attributes["acp.method.name"] == "session/prompt"
        assert span.attributes["acp.session.id"] == session.id
        assert span.attributes["acp.protocol.version"] == edition[0]
        assert span.attributes["acp.stop_reason"] == "end_turn"
        assert span.attributes["network.transport"] == "pipe"
    ids = {span.attributes["jsonrpc.request.id"] for span in telemetry.named("session/prompt")}
    assert ids == {"2"}
    assert tool.attributes["gen_ai.operation.name"] == "execute_tool"
    assert tool.attributes["gen_ai.tool.name"] == "change"
    assert tool.attributes["gen_ai.tool.call.id"] == next(iter(session.transcript.tool_calls))
    assert turn.attributes["gen_ai.usage.input_tokens"] == "7"
    assert {span.attributes["acp.permission.outcome"] for span in telemetry.named(asked)} == {"allow_once"}
    assert not any(span.failed for span in telemetry.spans)
    assert "secret" not in str(telemetry.spans)


@IN_EVERY_EDITION
async def test_what_a_client_serves_hangs_below_the_tool_call(
    telemetry: Telemetry, tmp_path: Path, edition: Any
) -> None:
    (tmp_path / "notes.txt").write_text("text\n")
    async with connected(telemetry, edition=edition) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("read")

    served = telemetry.named("fs/read_text_file", SERVER)
    if edition == "1":  # the drafts have no file system of the client
        assert telemetry.path(served[0])[-3:] == ["execute_tool change", "fs/read_text_file", "fs/read_text_file"]
    else:
        assert served == []


@pytest.mark.rotated("edition")
@IN_EVERY_EDITION
async def test_a_handler_in_a_thread_has_the_turn_as_its_current_span(
    telemetry: Telemetry, tmp_path: Path, edition: Any
) -> None:
    async with connected(telemetry, edition=edition) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("/blocking now")

    turn = telemetry.one("session/prompt", SERVER)
    assert turn.attributes["acp.command"] == "blocking"
    path = telemetry.path(telemetry.one("framework tool"))
    assert path == ["session/prompt", "session/prompt", "framework run", "execute_tool look", "framework tool"]


@pytest.mark.rotated("edition")
@IN_EVERY_EDITION
async def test_a_handler_that_fails_is_a_failed_span_without_its_text(
    telemetry: Telemetry, tmp_path: Path, edition: Any
) -> None:
    async with connected(telemetry, edition=edition) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(accord.RequestError):
            await session.prompt("fail")

    for kind in (SERVER, CLIENT):
        span = telemetry.one("session/prompt", kind)
        assert span.failed
        assert span.attributes["error.type"] == "-32603"
    assert "secret" not in str(telemetry.spans)


@pytest.mark.rotated("edition")
@IN_EVERY_EDITION
async def test_a_cancelled_turn_ends_its_spans_without_a_failure(
    telemetry: Telemetry, tmp_path: Path, edition: Any
) -> None:
    async with connected(telemetry, edition=edition) as agent:
        session = await agent.new_session(tmp_path)
        async with session.prompt("wait") as turn:
            async for _ in turn.text_stream():
                turn.cancel()

    for kind in (SERVER, CLIENT):
        span = telemetry.one("session/prompt", kind)
        assert (span.attributes["acp.stop_reason"], span.failed) == ("cancelled", False)


async def test_the_span_of_a_prompt_ends_when_its_agent_is_killed(telemetry: Telemetry, tmp_path: Path) -> None:
    async with connected(telemetry, respawn=False) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(accord.ConnectionLost):
            await session.prompt("die")

    span = telemetry.one("session/prompt", CLIENT)
    assert (span.attributes["error.type"], span.failed) == ("ConnectionLost", True)


def test_the_example_writes_one_trace_from_the_script_into_the_model_call(tmp_path: Path) -> None:
    program = ROOT / "examples" / "telemetry.py"
    (tmp_path / "telemetry.py").write_text("text\n")
    done = subprocess.run(
        [sys.executable, str(program), "trace.jsonl"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=limit(60),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-6:] == [
        "    session/prompt (agent)",
        "      chat offline (agent)",
        "      execute_tool read (agent)",
        "        fs/read_text_file (agent)",
        "          fs/read_text_file (script)",
        "      chat offline (agent)",
    ]
    written = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    spans = [each["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for each in written]
    assert len({span["traceId"] for span in spans}) == 1


QUIET_PROGRAM = """
import asyncio, sys
import accord
assert not [name for name in sys.modules if name.startswith("opentelemetry")], "import accord"

agent = accord.Agent("plain", version="1", store=None)

@agent.prompt
async def answer(turn):
    async with turn.tool("Look", kind="read") as tool:
        await turn.request_permission(tool)
    await turn.say(str(turn.meta))

async def main():
    async with accord.connect(agent, permission=lambda _: True) as remote:
        session = await remote.new_session(".")
        print((await session.prompt("hello", meta={"traceparent": "as it was"})).text)

asyncio.run(main())
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


def test_without_a_provider_nothing_is_imported_and_nothing_is_sent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUIET_PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=limit(60),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["{'traceparent': 'as it was'}", "[]"]


def test_the_api_alone_is_no_provider() -> None:
    from accord.telemetry.provider import telemetry as current  # noqa: PLC0415 - beside what it is compared with

    assert "opentelemetry.trace" in sys.modules
    assert trace.get_tracer_provider() is not None
    assert current() is None
