"""`accord run` with `accord agent` whose model's endpoint misbehaves: one clear line, the right code, nothing left."""

from __future__ import annotations

import asyncio
import importlib
import socket
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accord.coder.provider import ProviderModel
from tests.cli.command import Accord, Result, is_gone
from tests.coder.llm import Garbage, Hang, Say, Status, StopShort, serve
from tests.limits import limit

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="who is left is read from /proc"),
    pytest.mark.skipif(find_spec("pydantic_ai") is None, reason='pydantic-ai is missing: pip install "accord[agent]"'),
]


class Row(NamedTuple):
    """What every request to the endpoint gets, and what comes of it."""

    step: Any
    status: int
    failed: str
    """What failed, in the one line."""
    advice: str
    """What to do about it, in the one line."""
    requests: int = 1
    options: Sequence[str] = ()
    shown: str = ""


# Where nothing of an answer came it is asked for again, three times.
ROWS = {
    "401": Row(
        Status("401 Unauthorized", "bad key"), 1, "The provider of openai:fake does not accept the key", "check it"
    ),
    "403": Row(
        Status("403 Forbidden", "not for you"), 1, "The provider of openai:fake does not accept the key", "check it"
    ),
    "404": Row(Status("404 Not Found", "what?"), 1, "The provider has no model openai:fake", "check its name"),
    "500": Row(
        Status("500 Internal Server Error", "boom"), 1, "The provider of openai:fake cannot answer now",
        "try again later", requests=4, shown="warning The provider of openai:fake cannot answer now: trying again in",
    ),
    "garbage": Row(Garbage(), 1, "The provider of openai:fake failed", "check its address, or try again"),
    "a web page": Row(
        Garbage(b"<!doctype html><p>Welcome \xff"), 1, "The provider of openai:fake failed", "check its address"
    ),
    "the middle": Row(
        StopShort(), 1, "The answer of the model openai:fake stopped in the middle", "try again",
        shown="This is the begin\n",
    ),
    "the middle, politely": Row(
        StopShort(clean=True), 1, "The model's answer stopped in the middle", "try again", shown="This is the begin\n"
    ),
    "it hangs": Row(
        Hang(), 3, "turn: the turn took longer than 6 s", "--timeout", options=("--timeout", "6"),
        shown="Let me think\n",
    ),
}  # fmt: skip


def agent_at(url: str) -> list[str]:
    """The words that name the built-in agent with a model at that address."""
    return [
        "--",
        sys.executable,
        "-m",
        "accord",
        "agent",
        "--model",
        "openai:fake",
        "--base-url",
        url,
        "--store",
        "none",
    ]


def forked_agent_at(url: str) -> list[str]:
    """The same agent as a fork that has the imports of this process; its words are not to be seen in /proc."""
    for name in ("accord.coder.gateway", "pydantic_ai.models.openai"):
        importlib.import_module(name)
    python, *words = agent_at(url)[1:]
    return ["--", python, "-P", *words]


def left(url: str) -> list[int]:
    """The processes of an agent with a model at that address."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue  # gone meanwhile
        if url.encode() in words:
            pids.append(int(path.parent.name))
    return pids


def one_line(result: Result, *words: str) -> None:
    """Checks that the command says one line with all these words, and shows nobody's traceback."""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("accord: ")
    assert "Traceback" not in result.stdout + result.stderr
    for word in words:
        assert word in result.stderr


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long an agent that is a fork waits before it asks again is not the subject."""
    made: Any = ProviderModel.__init__
    monkeypatch.setitem(made.__kwdefaults__, "first_pause_seconds", 0.01)


EVERYDAY = list(ROWS)[::4]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.long) for name in ROWS]
)
async def test_an_endpoint_that_misbehaves(accord: Accord, name: str) -> None:
    row = ROWS[name]
    async with serve(*[row.step] * 6) as model:
        result = await asyncio.to_thread(accord.on_pipes, "run", "hello", *row.options, *agent_at(model.url))
        if isinstance(row.step, Hang):
            async with asyncio.timeout(limit(10)):
                await model.hung_up.wait()
    assert result.status == row.status, result.stderr
    one_line(result, row.failed, row.advice)
    assert row.shown in result.stdout
    assert len(model.asked) == row.requests
    assert all(is_gone(pid) for pid in left(model.url))


@pytest.mark.usefixtures("short_pauses")
def test_an_endpoint_that_refuses_the_connection(accord: Accord) -> None:
    with socket.socket() as taken:
        # Bound, so that nobody else gets the port, and not listening.
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        result = accord("run", "hello", *forked_agent_at(url))
    assert result.status == 1
    one_line(result, "The provider of openai:fake cannot be reached", "check the network and the address")
    assert result.stdout.count("warning The provider of openai:fake cannot be reached: trying again in") == 3


async def test_the_failure_is_a_record_too(accord: Accord) -> None:
    async with serve(StopShort()) as model:
        result = await asyncio.to_thread(accord.on_pipes, "run", "hello", "-o", "events", *forked_agent_at(model.url))
    error = result.records[-1]
    assert (error["type"], error["code"], result.status) == ("error", 1, 1)
    assert "stopped in the middle: try again" in error["message"]


async def test_a_key_that_is_missing_is_named(accord: Accord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = ["--", sys.executable, "-P", "-m", "accord", "agent", "--model", "openai:gpt-5", "--store", "none"]
    result = await asyncio.to_thread(accord.on_pipes, "run", "hello", *words)
    # Not a login: the agent has none to offer.
    assert result.status == 1
    one_line(result, "prompt: ", "OPENAI_API_KEY")


@pytest.mark.usefixtures("short_pauses")
async def test_an_endpoint_that_is_well_again_is_waited_for(accord: Accord) -> None:
    async with serve(Status("503 Service Unavailable"), Say("Here I am.")) as model:
        result = await asyncio.to_thread(accord.on_pipes, "run", "hello", *forked_agent_at(model.url))
    assert (result.status, result.stderr) == (0, "")
    assert "Here I am.\n" in result.stdout
