"""Objects of the official SDK on our engine: its oldest supported, its stable and its newest version."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import accord
from tests.forking_python import forking_python
from tests.limits import limit
from tests.transport.processes import SOURCES

PROGRAMS = Path(__file__).parent / "programs"
ENVIRONMENT = {"PYTHONPATH": SOURCES, "PYTHONWARNINGS": "ignore"}
SDKS = ("oldest_python_peer", "python_peer_v1", "python_peer_v2")
SECONDS = limit(30.0)


def forked(python: Path) -> Path:
    return forking_python(str(python), "acp")


@pytest.fixture(scope="module", params=SDKS)
def python(request: pytest.FixtureRequest) -> Path:
    """An interpreter with a version of the official SDK."""
    peer: Path = request.getfixturevalue(request.param)
    return peer


@pytest.fixture(scope="module")
def answers(python: Path) -> dict[Any, dict[str, Any]]:
    """What an agent answers to everything at once, by the ids of the requests; its updates are under `updates`."""

    def prompt(number: int, word: str, session: object = "a", **meta: object) -> dict[str, Any]:
        blocks = [{"type": "text", "text": word}]
        params = {"sessionId": session, "prompt": blocks, "_meta": meta}
        return {"jsonrpc": "2.0", "id": number, "method": "session/prompt", "params": params}

    messages: list[Any] = [
        [1, 2],
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 99}},
        prompt(2, "meta", session_id="b", prompt="c", self="d", trace="kept"),
        prompt(3, "print"),
        prompt(4, "refuse"),
        prompt(5, "fail"),
        prompt(6, "meta", session=7),
        {"jsonrpc": "2.0", "id": 7, "method": "_own", "params": {"a": 1}},
        {"jsonrpc": "2.0", "id": 8, "method": "no/such", "params": {}},
        {"jsonrpc": "2.0", "method": "_told", "params": {"b": 2}},
    ]
    done = subprocess.run(
        [forked(python), PROGRAMS / "probe_agent.py"],
        input="".join(json.dumps(message) + "\n" for message in messages),
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found: dict[Any, dict[str, Any]] = {line["id"]: line for line in lines if "id" in line}
    found["stderr"] = {"text": done.stderr}
    found["notifications"] = {"all": [line for line in lines if "id" not in line]}
    return found


def said(answers: dict[Any, dict[str, Any]]) -> list[str]:
    updates = [line for line in answers["notifications"]["all"] if line["method"] == "session/update"]
    return [line["params"]["update"]["content"]["text"] for line in updates]


def test_an_array_is_answered_and_the_agent_goes_on(answers: dict[Any, dict[str, Any]]) -> None:
    assert answers[None]["error"]["code"] == -32600
    assert answers[3]["result"] == {"stopReason": "end_turn"}


def test_an_agent_that_echoes_the_version_speaks_the_one_that_it_knows(answers: dict[Any, dict[str, Any]]) -> None:
    assert answers[1]["result"]["protocolVersion"] == 1


def test_keys_of_meta_that_name_arguments_replace_none(answers: dict[Any, dict[str, Any]]) -> None:
    assert json.loads(said(answers)[0]) == {"session": "a", "meta": {"trace": "kept"}}


def test_a_print_goes_to_stderr(answers: dict[Any, dict[str, Any]]) -> None:
    assert "a stray print" in answers["stderr"]["text"]
    assert "printed" in said(answers)


def test_an_error_that_is_raised_on_purpose_is_the_answer(answers: dict[Any, dict[str, Any]]) -> None:
    assert (answers[4]["error"]["code"], answers[4]["error"]["data"]) == (-32000, {"why": "a"})


def test_the_text_of_another_exception_stays_in_the_agent(answers: dict[Any, dict[str, Any]]) -> None:
    assert answers[5]["error"]["code"] == -32603
    assert "secret" not in json.dumps(answers[5])
    assert answers[5]["error"]["data"]["correlationId"] in answers["stderr"]["text"]


def test_params_that_do_not_fit_are_named_and_not_repeated(answers: dict[Any, dict[str, Any]]) -> None:
    error = answers[6]["error"]
    assert (error["code"], error["data"]["field"]) == (-32602, "sessionId")
    assert "7" not in error["data"]["expected"]


def test_extensions_come_without_their_underscore(answers: dict[Any, dict[str, Any]]) -> None:
    assert answers[7]["result"] == {"method": "own", "params": {"a": 1}}
    assert answers[8]["error"]["code"] == -32601
    heard = [line for line in answers["notifications"]["all"] if line["method"] == "_heard"]
    assert [line["params"] for line in heard] == [{"method": "told", "b": 2}]


@asynccontextmanager
async def session_with(python: Path, **options: Any) -> AsyncIterator[accord.client.Session]:
    async with accord.connect(
        str(forked(python)), str(PROGRAMS / "probe_agent.py"), env=ENVIRONMENT, **options
    ) as agent:
        yield await agent.new_session(".")


async def test_an_agent_asks_reads_and_is_cancelled_through_its_own_objects(python: Path) -> None:
    async with session_with(python, permission=lambda _: True) as session:
        assert session.id.startswith("session in ")
        assert (await session.prompt("ask")).text == "yes"
        assert (await session.prompt("read")).text.startswith("re")
        assert (await session.prompt("many")).text.split() == [str(number) for number in range(200)]
        async with session.prompt("wait") as turn:
            async for event in turn:
                if isinstance(event, accord.MessageChunk):
                    turn.cancel()
        assert turn.stop_reason == "cancelled"


async def test_a_client_survives_400_kilobytes_on_stderr_stray_lines_and_an_array(python: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        forked(python), PROGRAMS / "probe_client.py", forking_python(), PROGRAMS / "rude_agent.py",
        env={**os.environ, **ENVIRONMENT, "PROBE_SECRET": "1"},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2000:]
    report = json.loads(out)
    assert report.pop("said") == [str(number) for number in range(50)]
    assert report == {
        "version": 1,
        "stop_reason": "end_turn",
        "error": -32601,
        "stderr": 400_000,
        "directions": ["incoming", "outgoing"],
        "running": None,
        "exit": 0,
    }
