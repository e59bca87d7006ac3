"""The guide for client authors: every block runs as a program, with example agents of ours as the agents it names."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import accord
from tests.forking_python import forking_python
from tests.limits import limit
from tests.needs import needs_package
from tests.tables import rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="agents are shell scripts here: run it on Linux")

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
AGENTS = ROOT / "examples" / "agents"
EDITIONS = pytest.mark.parametrize("edition", ["1", "2-june", "2"])
# What a program of the guide does by itself, whatever its agent speaks.
IN_ONE_EDITION = pytest.mark.rotated("edition")


def blocks(heading: str) -> list[str]:
    """The programs under a heading; those before the first one have none."""
    sections = dict(part.partition("\n")[::2] for part in GUIDE.split("\n## ")[1:])
    section = GUIDE.partition("\n## ")[0] if not heading else sections[heading]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


class Machine:
    """A folder with text files, and programs of the names that the guide uses."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        (self.project / "notes.txt").write_text("the colour of the sea\nExplain this repository\n", encoding="utf-8")
        self._bin = folder / "bin"
        self._bin.mkdir()
        self._environment = {
            **os.environ,
            "PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder),
        }
        for name in ("gemini", "my-agent"):
            self.install(name, AGENTS / "streaming.py")

    def install(self, name: str, program: Path) -> None:
        """Let a name be a Python program."""
        script = self._bin / name
        script.write_text(f"#!/bin/sh\nexec {shlex.quote(str(forking_python()))} {shlex.quote(str(program))}\n")
        script.chmod(0o755)

    def run(self, program: str, answers: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program in the folder; it must end well."""
        (self.project / "program.py").write_text(program, encoding="utf-8")
        done = subprocess.run(
            [forking_python(), "-W", "error", "program.py"],
            cwd=self.project,
            env=self._environment,
            input=answers,
            capture_output=True,
            text=True,
            timeout=limit(60),
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_there_is_a_test_for_every_block() -> None:
    numbers = {
        "": 2,
        "Sessions": 1,
        "Events": 1,
        "Errors": 1,
        "Notebooks": 5,
        "Services for the agent": 1,
        "Debugging": 2,
    }
    assert {heading: len(blocks(heading)) for heading in numbers} == numbers
    assert sum(numbers.values()) == GUIDE.count("```python\n")


# --- the beginning


def test_the_first_program_streams_the_text_and_says_how_it_ended(machine: Machine) -> None:
    said = machine.run(blocks("")[0])

    assert said.stderr == ""
    assert "notes.txt" in said.stdout
    assert said.stdout.endswith("end_turn\n")


def test_the_script_without_await_prints_the_text(machine: Machine) -> None:
    said = machine.run(blocks("")[1])

    assert said.stderr == ""
    assert "notes.txt" in said.stdout


# --- the sections


@needs_package("mcp", "the extra mcp is missing: pip install '.[mcp]'")
def test_an_mcp_server_is_given_to_the_agent(machine: Machine) -> None:
    machine.install("my-agent", AGENTS / "mcp_tools.py")
    said = machine.run(blocks("Sessions")[0].replace("/path/to/mcp_server.py", str(AGENTS / "mcp_server.py")))
    assert said.stdout == "add is done.\n"


@IN_ONE_EDITION
@EDITIONS
def test_the_events_of_the_guide_are_those_that_come(machine: Machine, edition: str) -> None:
    said = machine.run(
        f"""{blocks("Events")[0]}
async def main() -> None:
    async with accord.connect("gemini", edition={edition!r}) as agent:
        print("ANSWER", await show(await agent.new_session("."), "colour"))

import asyncio
asyncio.run(main())
"""
    ).stdout

    assert "[completed] Search notes.txt" in said
    assert "- Search them: in_progress" in said
    assert "1200 of 200000 tokens" in said
    shown, _, answer = said.partition("ANSWER ")
    assert "notes.txt" in answer
    assert answer.strip() in shown


FAILING = """
import os, sys

import accord

agent = accord.Agent("failing", store=None)


@agent.prompt
async def reply(turn):
    if turn.text == "hello":
        await turn.say("hello")
    elif turn.text == "busy":
        raise accord.RateLimited(retry_after=7)
    elif turn.text == "die":
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    else:
        raise accord.RequestError("no such model", code=-32050)


agent.run()
"""


@IN_ONE_EDITION
@EDITIONS
def test_the_errors_of_the_guide_are_those_that_are_raised(machine: Machine, edition: str, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING, encoding="utf-8")
    machine.install("gemini", tmp_path / "failing.py")
    said = machine.run(
        f"""{blocks("Errors")[0]}
async def main() -> None:
    async with accord.connect("gemini", edition={edition!r}) as agent:
        session = await agent.new_session(".")
        for question in ("hello", "busy", "wrong", "die"):
            print(await answer(session, question))

import asyncio
asyncio.run(main())
"""
    )

    assert said.stdout.splitlines() == [
        "hello",
        "busy, try again in 7.0 s",
        "the agent failed: no such model (-32050)",
        "the agent ended with 3: out of memory",
        "",
    ]


def test_the_cells_of_the_notebook_share_a_session_where_a_loop_runs(machine: Machine) -> None:
    said = machine.run(
        f"""
import asyncio

async def kernel() -> None:
    space = {{}}
    for cell in {blocks("Notebooks")!r}:
        exec(cell, space)
        print("--")
    print(len(space["session"].transcript.turns), "turns")

asyncio.run(kernel())
"""
    )

    opened, explained, shown, streamed, closed, end = said.stdout.split("--\n")
    assert (opened, shown, closed, end) == ("", "", "", "2 turns\n")
    assert "notes.txt" in explained
    assert streamed.strip()


def test_the_policy_of_the_guide_asks_and_tells_what_was_decided(machine: Machine) -> None:
    machine.install("gemini", AGENTS / "permission.py")
    said = machine.run(
        f"""{blocks("Services for the agent")[0]}
with accord.open("gemini", permission=policy) as session:
    print(session.prompt("replace colour by color in notes.txt").answer)
""",
        answers="y\n",
    ).stdout

    assert "Edit notes.txt [y/n]" in said
    assert "user True" in said
    assert "I changed notes.txt." in said
    assert (machine.project / "notes.txt").read_text(encoding="utf-8").startswith("the color of the sea\n")


def test_the_policy_of_the_guide_changes_nothing_that_the_user_refuses(machine: Machine) -> None:
    machine.install("gemini", AGENTS / "permission.py")
    machine.run(
        f"""{blocks("Services for the agent")[0]}
with accord.open("gemini", permission=policy) as session:
    session.prompt("replace colour by color in notes.txt")
""",
        answers="n\n",
    )

    assert (machine.project / "notes.txt").read_text(encoding="utf-8").startswith("the colour of the sea\n")


def test_the_observers_of_the_guide_see_what_goes_both_ways(machine: Machine) -> None:
    said = machine.run(
        f"""{blocks("Debugging")[0]}
import asyncio

async def main() -> None:
    async with agent:
        session = await agent.new_session(".")
        print((await session.prompt("colour")).stop_reason, agent.connection.counts.malformed)

asyncio.run(main())
"""
    )

    assert said.stdout == "end_turn 0\n"
    ways = [line.split(" ", 1) for line in said.stderr.splitlines()]
    assert ways[0][0] == "out"
    assert '"initialize"' in ways[0][1]
    assert any(way == "in" and '"session/update"' in text for way, text in ways)


def test_the_trace_of_the_guide_has_the_prompt(machine: Machine) -> None:
    machine.run(blocks("Debugging")[1])

    written = (machine.project / "talk.jsonl").read_text(encoding="utf-8")
    assert "Explain this repository" in written
    assert '"type":"end"' in written.splitlines()[-1]


# --- the rest


@rows(
    "name",
    [
        "new_session",
        "load_session",
        "resume_session",
        "fork_session",
        "list_sessions",
        "delete_session",
        "request",
        "on_request",
        "login",
    ],
)
def test_the_guide_names_what_an_agent_has(name: str) -> None:
    assert hasattr(accord.client.ConnectedAgent, name)
    assert name in GUIDE
