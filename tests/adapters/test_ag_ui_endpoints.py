"""The bridge from AG-UI with the endpoints that other frameworks bring along: real servers on loopback, fake models.

The frameworks are those of this environment: `scripts/adapters` makes one for each.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx2", reason='an HTTP client is missing: pip install -e ".[mcp]"')

from accord.adapters import serve
from accord.agent import Agent
from accord.stores import MemoryStore
from accord.stores.interface import Store
from tests.adapters.adapter_contract import BEGUN, PERMISSION, remembered_after_restart, texts_of_parallel_sessions
from tests.adapters.endpoint_tools import FOLDER
from tests.adapters.environments import BY_SCRIPT, NPM_FOLDER, framework_param, npm_framework_param
from tests.agent.rig import Heard, choose, served
from tests.limits import limit

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Framework:
    """An endpoint of a framework, and what this framework says by AG-UI."""

    needs: tuple[str, ...] = ()
    npm_needs: tuple[str, ...] = ()
    """The packages of a framework on Node.js, whose endpoint is a program of its own."""
    thinks: bool = True
    repeats_thoughts: bool = False
    """Whether the endpoint sends the thoughts of a streamed answer again when the answer is whole."""
    asks: bool = True
    """Whether a call that needs an approval ends the run with an interrupt."""
    has_questions: bool = False
    """Whether an agent can ask for more than an approval."""
    shows_running: bool = True
    """Whether a call is said before its tool has ended."""
    goes_with_mcp: bool = True
    """Whether its packages go with the version of `mcp` that Accord starts the client's servers with."""
    keeps_cancelled: bool = True
    """Whether the framework, where it keeps the conversation itself, keeps the prompt of a run that was broken off."""


FRAMEWORKS = {
    "agno": Framework(("agno", "ag_ui", "fastapi", "uvicorn"), thinks=False, asks=False, keeps_cancelled=False),
    "agent_framework": Framework(("agent_framework", "agent_framework_ag_ui", "uvicorn")),
    "langgraph": Framework(("langchain", "ag_ui_langgraph", "fastapi", "uvicorn"), asks=False),
    "google_adk": Framework(("google.adk", "ag_ui_adk", "fastapi", "uvicorn"), repeats_thoughts=True, asks=False),
    "llama_index": Framework(("llama_index.protocols.ag_ui", "fastapi", "uvicorn"), thinks=False, asks=False),
    "strands": Framework(("strands", "ag_ui_strands", "fastapi", "uvicorn"), asks=False),
    "pydantic_ai": Framework(("pydantic_ai", "ag_ui", "fastapi", "uvicorn")),
    "crewai": Framework(
        ("crewai", "ag_ui_crewai", "fastapi", "uvicorn"), asks=False, has_questions=True, goes_with_mcp=False
    ),
    "mastra": Framework(
        npm_needs=("@ag-ui/mastra", "@ag-ui/encoder", "@mastra/core"), has_questions=True, shows_running=False
    ),
}
pytestmark = BY_SCRIPT


def _param(name: str) -> Any:
    framework = FRAMEWORKS[name]
    if framework.npm_needs:
        return npm_framework_param(name, *framework.npm_needs)
    return framework_param(name, *framework.needs)


def _program(name: str) -> list[str]:
    if FRAMEWORKS[name].npm_needs:
        return ["node", str(Path(__file__).with_name(f"{name}_endpoint.mjs")), str(NPM_FOLDER)]
    return [sys.executable, "-m", "tests.adapters.endpoint_server", f"tests.adapters.{name}_endpoint"]


@dataclass(frozen=True)
class Endpoint:
    """A running server."""

    framework: Framework
    url: str
    folder: Path

    def agent(self, store: Store | None = None) -> Agent:
        return serve(self.url, "remote", store=store or MemoryStore())

    async def turns(self, *texts: str, option: str = "allow", edition: str = "v1") -> list[Heard]:
        async with served(self.agent(), edition) as client:
            client.answers[PERMISSION] = choose(option)
            session = await client.new_session(str(self.folder))
            return [await client.turn(session, text) for text in texts]


@pytest.fixture(scope="module", params=[_param(name) for name in FRAMEWORKS])
def endpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    folder = tmp_path_factory.mktemp(request.param)
    process = subprocess.Popen(
        _program(request.param),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder), FOLDER: str(folder)},
    )
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], limit(120.0))[0], "the server did not start"
        port = int(process.stdout.readline())
        yield Endpoint(FRAMEWORKS[request.param], f"http://127.0.0.1:{port}/agui", folder)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(autouse=True)
def project(endpoint: Endpoint) -> None:
    (endpoint.folder / "a.txt").write_text("before")
    (endpoint.folder / "old.txt").write_text("old")
    (endpoint.folder / BEGUN).unlink(missing_ok=True)


async def test_text_and_thoughts_are_streamed_and_said_once(endpoint: Endpoint) -> None:
    (heard,) = await endpoint.turns("hello")
    assert heard.text == "Hello there."
    assert len(heard.of("agent_message_chunk")) >= 2
    thoughts = "".join(update["content"]["text"] for update in heard.of("agent_thought_chunk"))
    times = endpoint.framework.thinks + endpoint.framework.repeats_thoughts
    assert thoughts == "Somebody is there." * times
    assert heard.stop_reason == "end_turn"


async def test_a_tool_call_has_its_arguments_and_its_result(endpoint: Endpoint) -> None:
    for edition in ("v1", "v2", "v2_june"):
        (heard,) = await endpoint.turns("read", edition=edition)
        (call,) = heard.tools().values()
        assert (call["kind"], call["status"], call["rawInput"]) == ("read", "completed", {"path": "a.txt"})
        assert call["locations"][0]["path"] == str(endpoint.folder / "a.txt")
        assert "before" in str(call["content"])
        assert heard.text.endswith("Done: before")


async def test_the_conversation_is_remembered_also_after_a_restart_of_the_bridge(endpoint: Endpoint) -> None:
    store = MemoryStore()
    said = await remembered_after_restart(lambda: served(endpoint.agent(store)), endpoint.folder)
    assert said == "hello / read / remember"


async def test_parallel_sessions_do_not_mix(endpoint: Endpoint) -> None:
    async with served(endpoint.agent()) as client:
        said = await texts_of_parallel_sessions(client, endpoint.folder)
    assert [text.rpartition(" / ")[0].rpartition(" ")[2].rpartition(".")[2] for text in said] == [
        "hello",
        "beforeread",
        "again",
    ]


@pytest.mark.parametrize("option", ["allow", "reject"])
async def test_a_call_that_needs_an_approval_is_asked_about(endpoint: Endpoint, option: str) -> None:
    if not endpoint.framework.asks:
        pytest.skip("this framework has no approvals in AG-UI")
    heard, after = await endpoint.turns("delete", "remember", option=option, edition="v2")
    (question,) = heard.requests(PERMISSION)
    ((call_id, call),) = heard.tools().items()
    assert call_id in str(question["params"])
    assert call["kind"] == "delete"
    assert call["status"] == ("completed" if option == "allow" else "cancelled")
    assert (endpoint.folder / "old.txt").exists() == (option == "reject")
    assert (heard.stop_reason, after.text) == ("end_turn", "delete / remember")


async def test_a_question_of_the_agent_is_answered_by_the_next_prompt(endpoint: Endpoint) -> None:
    if not endpoint.framework.has_questions:
        pytest.skip("this framework has no questions in AG-UI")
    heard, after = await endpoint.turns("ask", "remember")
    assert heard.text.endswith("Which city?")
    assert after.text.endswith("remember")
    assert after.stop_reason == "end_turn"


async def test_a_cancel_ends_the_turn_inside_a_tool_and_the_next_prompt_works(endpoint: Endpoint) -> None:
    async with served(endpoint.agent(), "v2") as client:
        session = await client.new_session(str(endpoint.folder))
        prompt = await client.prompt(session, "sleep")
        async with asyncio.timeout(limit(30.0)):
            while not (endpoint.folder / BEGUN).exists():
                await asyncio.sleep(0.01)
        if endpoint.framework.shows_running:
            await client.hear_until(lambda message: "toolCallId" in str(message))
        await client.cancel(session)
        heard = await client.ended(prompt)
        assert heard.stop_reason == "cancelled"
        shown = ["cancelled"] if endpoint.framework.shows_running else []
        assert [call["status"] for call in heard.tools().values()] == shown
        after = await client.turn(session, "remember")
    assert after.stop_reason == "end_turn"
    assert after.text == ("sleep / remember" if endpoint.framework.keeps_cancelled else "remember")


@pytest.mark.timeout(limit(600))
@pytest.mark.parametrize("edition", ["1", "2-june", "2"])
def test_the_checker_finds_nothing_to_remark(
    endpoint: Endpoint, edition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    prompts = ["--prompt", "hello", "--cancel-prompt", "sleep"]
    prompts += ["--tool-prompt", "delete" if endpoint.framework.asks else "read"]
    line = [sys.executable, "-m", "accord", "check", "--edition", edition, *prompts, "--json", "report.json", "--"]
    program = f"from accord.adapters import serve; serve({endpoint.url!r}, 'remote').run()"
    done = subprocess.run(
        [*line, sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "report.json").read_text())
    judged = [each for report in document.get("reports", [document]) for each in report["requirements"]]
    assert len(judged) > 100
    advisories = set() if endpoint.framework.goes_with_mcp else {"ACCORD-MCP-002"}
    assert {each["id"] for each in judged if each["status"] == "FAIL"} <= advisories
