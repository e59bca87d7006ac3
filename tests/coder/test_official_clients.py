"""The official SDKs' clients drive the coding agent with the model that is built in."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.coder.memory import SUMMARY
from tests.coder.llm import Say, serve
from tests.coder.rig import project
from tests.coder.site import page, serving
from tests.forking_python import forking_python
from tests.limits import limit

PEERS = Path(__file__).parent / "peers"
PROMPTS = ["replace pritn with print in a.py", "run PYTHON a.py", "search print", "make me rich"]
CLIENTS = ["py v1", "py v2", "ts v1", "ts v2"]
EVERYDAY = ["py v2", *(pytest.param(client, marks=pytest.mark.long) for client in CLIENTS if client != "py v2")]

pytestmark = pytest.mark.interop


def _program(client: str, request: pytest.FixtureRequest) -> tuple[list[str], dict[str, str]]:
    if client.startswith("py"):
        edition = client[3:]
        python = request.getfixturevalue(f"python_peer_{edition}")
        return [str(python), "-W", "ignore", str(PEERS / f"py_{edition}_client.py")], {}
    home = {"ACCORD_TS_PEER": str(request.getfixturevalue("typescript_peer"))}
    return ["node", str(PEERS / "ts_client.mjs")], {**home, "ACCORD_EDITION": client[-1]}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("client", CLIENTS)
async def test_an_official_client_gets_its_work_done(
    client: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = project(tmp_path / "project", **{"a.py": 'pritn("hi")\n'})
    argv, more = _program(client, request)
    prompts = [prompt.replace("PYTHON", sys.executable) for prompt in PROMPTS]
    env = {**os.environ, **more, "ACCORD_PROJECT": str(folder), "ACCORD_PROMPTS": json.dumps(prompts)}
    coder = [str(forking_python()), "-m", "accord.coder", "--store", f"sqlite:{tmp_path / 'sessions.db'}"]

    report = await _report([*argv, *coder], env)

    assert report["stops"] == ["end_turn"] * 4
    assert (folder / "a.py").read_text() == 'print("hi")\n'
    assert len(report["asked"]) == 2
    said = "".join(
        update["content"]["text"] for update in report["updates"] if update["sessionUpdate"] == "agent_message_chunk"
    )
    assert "Replaced 1 occurrence in a.py." in said
    assert "It ended with exit code 0.\n\n```\nhi\n```" in said
    assert "a.py:1: print" in said
    assert "I do not understand this, and did nothing: make me rich" in said
    kinds = {update["sessionUpdate"] for update in report["updates"]}
    assert {"tool_call_update", "agent_thought_chunk", "usage_update"} <= kinds
    assert kinds & {"plan", "plan_update"}


WEB = {"/": page("<h1>Hello</h1>")}
COMMAND = 'write "$ARGUMENTS" to greeting.txt'


@pytest.mark.parametrize("client", EVERYDAY)
async def test_an_official_client_holds_a_turn_with_each_feature(
    client: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = project(tmp_path / "project", **{".accord__commands__greet.md": COMMAND})
    argv, more = _program(client, request)
    async with serving(WEB) as site:
        prompts = [
            "/trust",
            "/greet Hello you",
            "/shell cat greeting.txt | tr a-z A-Z > loud && cat loud",
            "/background echo $$ > pid; echo ready; exec sleep 1000",
            f"/fetch http://127.0.0.1:{site.port}/",
            "/delegate read loud",
            "/write greeting.txt again",
            "/undo",
            "/compact",
        ]
        env = {**os.environ, **more, "ACCORD_PROJECT": str(folder), "ACCORD_PROMPTS": json.dumps(prompts)}
        env["XDG_STATE_HOME"] = str(tmp_path / "state")
        report = await _report([*argv, str(forking_python()), "-m", "accord.coder", "--store", "memory"], env)

    assert report["stops"] == ["end_turn"] * len(prompts)
    assert (folder / "greeting.txt").read_text() == "Hello you\n"
    assert (folder / "loud").read_text() == "HELLO YOU\n"
    # The background command has ended with its session.
    assert _is_gone(int((folder / "pid").read_text()))
    # Trust, the command's file, the line, the background line, the host, the write and its undoing.
    assert len(report["asked"]) == 7
    shown = json.dumps(report["updates"])
    for text in ("You can use /greet now.", "ready", "# Hello", "parentToolCallId", "I put back greeting.txt."):
        assert text in shown


@pytest.mark.parametrize("client", EVERYDAY)
async def test_an_official_client_chooses_among_models_that_know_the_project(
    client: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = project(tmp_path / "project", **{"AGENTS.md": "Always say please."})
    argv, more = _program(client, request)
    steps = ["hello", {"option": "model", "value": "large"}, {"option": "effort", "value": "high"}, "again", "/compact"]
    env = {**os.environ, **more, "ACCORD_PROJECT": str(folder), "ACCORD_PROMPTS": json.dumps([*steps, "go on"])}
    async with serve(Say("Hello, please."), Say("Once more."), Say("We met."), Say("I go on.")) as model:
        names = ("--model", "small", "--model", "large", "--base-url", model.url)
        report = await _report([*argv, str(forking_python()), "-m", "accord.coder", "--store", "none", *names], env)

    assert report["stops"] == ["end_turn"] * 4
    assert [each["model"] for each in model.asked] == ["small", "large", "large", "large"]
    assert "reasoning_effort" not in model.asked[0]
    assert model.asked[1]["reasoning_effort"] == "high"
    assert "Always say please." in model.system()
    assert model.conversation()[0] == ("user", f"{SUMMARY}We met.")


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def _report(argv: list[str], env: dict[str, str]) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(limit(50)):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode(errors="replace")[-4000:]
    report: dict[str, Any] = json.loads(out)
    return report
