"""`accord agent module:attribute`: answers before it imports, says why it cannot, and is an AGENT for other verbs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

import accord
from accord.cli.target import target_of
from accord.errors import RequestError
from tests.forked import ForkedProgram, accord_command, forked_python
from tests.limits import limit

COMMAND = (sys.executable, "-m", "accord", "agent")
SLOW = """\
import time
from pathlib import Path
from subprocess import PIPE

Path("importing").touch()
while not Path("go-on").exists():
    time.sleep(0.01)

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

print("a stray print")
agent = Agent(TestModel(custom_output_text="imported"))
"""
OWN = """\
import accord

agent = accord.Agent("mine", store=None)


@agent.prompt
async def reply(turn):
    await turn.say("mine")


@agent.command("wave", "Waves")
async def wave(turn, _):
    await turn.say("wave")
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


@pytest.fixture
def forks() -> Iterator[None]:
    """Starts the agents as forks."""
    with forked_python("accord.cli.verbs.agent"):
        yield


def connect(text: str, *more: str) -> Any:
    return accord.connect(*COMMAND, text, *more, permission=accord.Policy(["allow all"]))


@pytest.mark.usefixtures("forks")
async def test_it_answers_before_the_module_is_imported_and_imports_with_the_first_session(project: Path) -> None:
    pytest.importorskip("pydantic_ai", reason='pydantic-ai is missing: pip install -e ".[agent]"')
    (project / "slow.py").write_text(SLOW)
    async with connect("slow:agent", "--store", "none") as agent:
        assert not (project / "importing").exists()
        assert agent.capabilities.prompts == {"image", "audio", "resource"}
        assert agent.capabilities.auth_methods == []
        session = await agent.new_session(".")
        (project / "go-on").touch()
        turn = await session.prompt("hello")
    assert turn.text == "imported"


@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize(
    ("source", "text", "word"),
    [
        ("agent = 1", "broken:agent", "framework"),
        ("raise ValueError('secret')", "broken:agent", "ValueError"),
        ("import nowhere_to_be_found", "broken:agent", "nowhere_to_be_found"),
        ("", "broken:agent", "agent"),
        ("raise SystemExit", "broken:agent", "SystemExit"),
        ("from accord.adapters.failures import CannotServe as C\nraise C('make it a tool')", "broken:agent", "a tool"),
        ("from accord.errors import LocalProtocolError as E\nraise E('secret')", "broken:agent", "LocalProtocolError"),
        ("import openai\nopenai.OpenAI(api_key=None, base_url='http://secret')", "broken:agent", "OPENAI_API_KEY"),
        (
            "import accord\nagent = vars(accord)['Agent' if accord.Agent else '']('hidden')",
            "broken:agent",
            "--import-first",
        ),
    ],
)
async def test_what_cannot_be_served_is_said_in_a_sentence(project: Path, source: str, text: str, word: str) -> None:
    (project / "broken.py").write_text(source)
    async with connect(text, "--store", "none") as agent:
        session = await agent.new_session(".")
        with pytest.raises(RequestError) as raised:
            await session.prompt("hello")
    assert word in raised.value.message
    assert "secret" not in raised.value.message


@pytest.mark.parametrize("text", ["nowhere:agent", "nowhere.py:agent", "no.where:agent"])
def test_a_module_that_is_not_there_fails_at_once(text: str) -> None:
    words = ["accord", "agent", text]
    # Its stdin stays open: it does not wait for a client to leave.
    with ForkedProgram(accord_command(), words, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.wait(timeout=limit(60)) == 2
        assert process.stderr is not None
        stderr = process.stderr.read().decode()
    assert stderr.startswith(f"accord: start: {text} cannot be imported")
    assert len(stderr.splitlines()) == 1


PYDANTIC = """\
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

calls = []

{make}
    calls.append(1)
    return Agent(TestModel(custom_output_text=f"{{len(calls)}} {text}"))
"""
FACTORIES = {
    "async def make():": ("made", ["1 made", "1 made"]),
    "def make():": ("made", ["1 made", "1 made"]),
    "def make(session):": ("{session.id != ''}", ["1 True", "2 True"]),
    "async def make(session):": ("{session.id != ''}", ["1 True", "2 True"]),
}


@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize("make", FACTORIES)
async def test_a_function_that_makes_an_agent_is_called_and_awaited(project: Path, make: str) -> None:
    pytest.importorskip("pydantic_ai", reason='pydantic-ai is missing: pip install -e ".[agent]"')
    text, said = FACTORIES[make]
    (project / "factory.py").write_text(PYDANTIC.format(make=make, text=text))
    async with connect("factory:make", "--store", "none") as agent:
        session = await agent.new_session(".")
        assert [(await session.prompt("hello")).text for _ in said] == said


@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize("source", ["from .tools import x", "from odd_pkg.tools import x"])
async def test_a_file_of_a_package_gets_the_name_of_its_module_as_a_hint(project: Path, source: str) -> None:
    (project / "sub" / "odd_pkg").mkdir(parents=True)
    (project / "sub" / "odd_pkg" / "tools.py").write_text("x = 1")
    (project / "sub" / "odd_pkg" / "agent.py").write_text(source)
    async with connect("sub/odd_pkg/agent.py:agent", "--store", "none") as agent:
        session = await agent.new_session(".")
        with pytest.raises(RequestError) as raised:
            await session.prompt("hello")
    assert raised.value.message.endswith("odd_pkg.agent:agent")


@pytest.mark.parametrize("text", ["it:nope", "it:number"])
def test_a_misspelt_name_is_no_traceback(project: Path, text: str) -> None:
    (project / "it.py").write_text("number = 5\n")
    with ForkedProgram(
        accord_command(), ["accord", "run", text, "hi"], stdin=subprocess.DEVNULL, stdout=PIPE, stderr=PIPE
    ) as process:
        stderr = process.communicate(timeout=limit(60))[1].decode()
    assert process.returncode == 1
    assert f"accord: prompt: the agent answered with an error: {text} " in stderr
    assert f"{text} cannot be served: " in stderr
    assert 'File "' not in stderr


async def test_an_agent_of_ours_is_imported_first(project: Path) -> None:
    (project / "own.py").write_text(OWN)
    async with connect("own:agent") as agent:
        session = await agent.new_session(".")
        async with asyncio.timeout(limit(10)):
            while not session.commands:
                await asyncio.sleep(0.01)
        assert [command.name for command in session.commands] == ["wave"]
        assert (await session.prompt("/wave")).text == "wave"


@pytest.mark.timeout(limit(120))
def test_the_same_text_is_an_agent_for_other_verbs(project: Path) -> None:
    target = target_of("pack.module:agent", None)
    assert target.entry.argv[-2:] == ("agent", "pack.module:agent")
    assert target.key == "pack.module:agent"
    assert target_of("app/langgraph.json", None).entry.argv[-2:] == ("agent", "app/langgraph.json")
    (project / "acp.json").write_text('{"agent_servers": {"pack.module:agent": {"command": "other"}}}')
    assert target_of("pack.module:agent", None).entry.argv == ("other",)
