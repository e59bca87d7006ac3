"""Agents of frameworks as programs, started by `accord agent` with no line about ACP: checker, kills, other clients.

The frameworks are those of this environment: `scripts/adapters` makes one for each.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import accord
from tests.adapters.adapter_contract import BEGUN
from tests.adapters.environments import BY_SCRIPT, framework_param
from tests.cli.chat.test_terminal import terminal
from tests.limits import limit

ROOT = Path(__file__).parents[2]
AGENTS = {
    "pydantic_ai": "tests.adapters.pydantic_ai_agent",
    "langchain": "tests.adapters.langgraph_agent",
    "agents": "tests.adapters.openai_agents_agent",
    "google.adk": "tests.adapters.google_adk_agent",
    "strands": "tests.adapters.strands_agent",
}
BRIDGED = {"ag_ui": "tests.adapters.ag_ui_agent"}
"""AG-UI has no class by which an object is recognised: its module has an `accord.Agent`, made by `serve`."""
TEN_LINES = {
    "pydantic_ai": """\
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

agent = Agent(TestModel(custom_output_text="I am here."))


@agent.tool_plain
def look_up(order: int) -> str:
    return f"order {order}: sent"
""",
    "langchain": """\
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel


class Model(FakeListChatModel):
    responses: list[str] = ["I am here."]

    def bind_tools(self, tools, **options):
        return self


agent = create_agent(Model(), tools=[])
""",
    "agents": """\
from agents import Agent, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message

set_tracing_disabled(True)
agent = Agent(name="support", model=ScriptedModel([[assistant_message("I am here.")]]))
""",
    "google.adk": """\
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Model(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="I am here.")]))


agent = LlmAgent(name="support", model=Model(model="stand-in"))
""",
    "strands": """\
from strands import Agent
from strands.models.model import Model


class StandIn(Model):
    get_config = update_config = structured_output = lambda self, **_: {}

    async def stream(self, *given, **options):
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "I am here."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


agent = Agent(name="support", model=StandIn())
""",
}
pytestmark = BY_SCRIPT


IN_EVERY_FRAMEWORK = pytest.mark.parametrize("framework", [framework_param(name) for name in AGENTS])
WITH_TEN_LINES = pytest.mark.parametrize(
    "framework",
    # The SDK's own model for tests came after its oldest version that is supported.
    [framework_param(name, "agents.testing" if name == "agents" else name) for name in TEN_LINES],
)
IN_EVERY_FRAMEWORK_AND_BRIDGE = pytest.mark.parametrize(
    "framework", [framework_param(name) for name in (*AGENTS, *BRIDGED)]
)


def command(text: str) -> list[str]:
    return [sys.executable, "-m", "accord", "agent", text]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@IN_EVERY_FRAMEWORK_AND_BRIDGE
@pytest.mark.parametrize("edition", ["1", "2-june", "2"])
@pytest.mark.timeout(limit(600))
def test_the_checker_finds_nothing_to_remark(framework: str, edition: str, tmp_path: Path) -> None:
    prompts = ["--prompt", "hello", "--tool-prompt", "delete", "--cancel-prompt", "sleep"]
    line = [sys.executable, "-m", "accord", "check", "--edition", edition, *prompts, "--json", "report.json", "--"]
    agent = f"{AGENTS[framework]}:agent" if framework in AGENTS else f"{BRIDGED[framework]}:bridge"
    done = subprocess.run([*line, *command(agent)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "report.json").read_text())
    judged = [each for report in document.get("reports", [document]) for each in report["requirements"]]
    assert len(judged) > 100
    assert [each["id"] for each in judged if each["status"] == "FAIL"] == []


@IN_EVERY_FRAMEWORK
async def test_after_a_kill_in_the_middle_of_a_turn_the_history_is_whole(framework: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    line = command(f"{AGENTS[framework]}:agent")
    process = await asyncio.create_subprocess_exec(*line, stdin=-1, stdout=-1, cwd=tmp_path)
    client = Wire(process)
    await client.call("initialize", {"protocolVersion": 1})
    session = (await client.call("session/new", {"cwd": str(tmp_path), "mcpServers": []}))["sessionId"]
    for text in ("hello", "read"):
        await client.call("session/prompt", prompt(session, text))
    await client.send("session/prompt", prompt(session, "sleep"))
    await waits_in_its_tool(tmp_path)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    async with accord.connect(*line) as agent:
        again = await agent.resume_session(session, str(tmp_path))
        assert (await again.prompt("remember")).text == "hello / read / sleep / remember"


async def waits_in_its_tool(cwd: Path) -> None:
    async with asyncio.timeout(limit(60.0)):
        while not (cwd / BEGUN).exists():
            await asyncio.sleep(0.01)


def prompt(session: str, text: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


class Wire:
    """A client of a few lines, which can stop in the middle."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._id = 0

    async def send(self, method: str, params: dict[str, Any]) -> int:
        self._id += 1
        assert self._process.stdin is not None
        text = json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        self._process.stdin.write(text.encode() + b"\n")
        await self._process.stdin.drain()
        return self._id

    async def until(self, wanted: Any) -> Any:
        assert self._process.stdout is not None
        async with asyncio.timeout(limit(60.0)):
            while True:
                message = json.loads(await self._process.stdout.readline())
                if wanted(message):
                    return message

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        id_ = await self.send(method, params)
        return (await self.until(lambda message: message.get("id") == id_ and "method" not in message))["result"]


@WITH_TEN_LINES
async def test_ten_lines_without_a_word_about_acp_serve_the_official_typescript_client(
    framework: str, tmp_path: Path, typescript_peer: Path
) -> None:
    (tmp_path / "support.py").write_text(TEN_LINES[framework])
    client = ROOT / "tests" / "adapters" / "asking_client.mjs"
    done = await asyncio.to_thread(
        subprocess.run,
        ["node", str(client), *command("support:agent")],
        cwd=tmp_path,
        env={**os.environ, "ACCORD_TS_PEER": str(typescript_peer)},
        capture_output=True,
        text=True,
        timeout=limit(60.0),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"stopReason": "end_turn", "text": "I am here."}


@WITH_TEN_LINES
def test_ten_lines_serve_acpx(framework: str, tmp_path: Path) -> None:
    acpx = ROOT / ".peers" / "acpx" / "node_modules" / ".bin" / "acpx"
    if shutil.which("node") is None or not acpx.exists():
        pytest.skip("acpx is missing: scripts/adapters installs it where npm is")
    (tmp_path / "support.py").write_text(TEN_LINES[framework])
    line = [str(acpx), "--agent", " ".join(command("support:agent")), "--approve-all", "exec", "hello"]
    done = subprocess.run(
        line, cwd=tmp_path, capture_output=True, text=True, timeout=limit(90.0), check=False, stdin=subprocess.DEVNULL
    )
    assert "I am here." in done.stdout, done.stdout + done.stderr


@WITH_TEN_LINES
def test_a_run_of_the_command_serves_ten_lines(framework: str, tmp_path: Path) -> None:
    (tmp_path / "support.py").write_text(TEN_LINES[framework])
    done = subprocess.run(
        [sys.executable, "-m", "accord", "run", "support:agent", "hello"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=limit(60.0),
        check=False,
    )
    assert (done.returncode, "I am here." in done.stdout) == (0, True), done.stderr


@WITH_TEN_LINES
def test_a_chat_on_a_terminal_serves_ten_lines(framework: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "support.py").write_text(TEN_LINES[framework])
    monkeypatch.chdir(tmp_path)
    line = [sys.executable, "-m", "accord", "chat", "support:agent"]
    with terminal(partial(subprocess.Popen, line), columns=100, rows=30) as screen:
        screen.read_until(b"ready")
        screen.type("hello\r")
        screen.read_until(b"I am here.")
        screen.type("\x11")
        assert screen.exit_status() == 0
    assert b"I am here." in screen.printed
    assert b"Traceback" not in screen.printed


PLAIN = """\
import accord

agent = accord.Agent("plain")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    await turn.say(turn.text)


agent.run()
"""


@WITH_TEN_LINES
async def test_initialize_costs_no_more_than_that_of_an_agent_without_any_framework(
    framework: str, tmp_path: Path
) -> None:
    (tmp_path / "support.py").write_text(TEN_LINES[framework])
    (tmp_path / "plain.py").write_text(PLAIN)
    lines = {"served": command("support:agent"), "plain": [sys.executable, "plain.py"]}
    spent: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(5):
        for name, line in lines.items():
            spent[name].append(await cpu_until_initialize(line, tmp_path))
    assert min(spent["served"]) <= 1.3 * min(spent["plain"]), spent


async def cpu_until_initialize(line: list[str], cwd: Path) -> float:
    """The CPU seconds of the process until it has answered; a clock would measure the machine's other work."""
    process = await asyncio.create_subprocess_exec(*line, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, cwd=cwd)
    client = Wire(process)
    await client.call("initialize", {"protocolVersion": 1})
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    process.kill()
    await process.wait()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@IN_EVERY_FRAMEWORK
async def test_the_program_ends_with_its_client_also_while_a_tool_blocks_a_thread(
    framework: str, tmp_path: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *command(f"{AGENTS[framework]}:agent"), stdin=-1, stdout=-1, cwd=tmp_path
    )
    client = Wire(process)
    await client.call("initialize", {"protocolVersion": 1})
    session = (await client.call("session/new", {"cwd": str(tmp_path), "mcpServers": []}))["sessionId"]
    await client.send("session/prompt", prompt(session, "block"))
    await waits_in_its_tool(tmp_path)
    start = time.monotonic()
    assert process.stdin is not None
    process.stdin.close()
    async with asyncio.timeout(limit(30.0)):
        await process.wait()
    assert time.monotonic() - start < limit(15.0)
