"""Well-known agents, each with a model on loopback, driven by the command as a user types it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.command import Result
from tests.interop.llm.script import Say, Script
from tests.interop.llm.server import ScriptedModel, serve
from tests.interop.npm_agents import CONTENT, Place
from tests.limits import limit

if "ACCORD_REAL_AGENTS" not in os.environ:
    # Before the next import: without leave to run them, that module ends half way.
    pytest.skip("scripts/test --interop", allow_module_level=True)

from tests.interop.test_real_agents import GOODBYE, PROMPT, TALKS, WANTED, Talk, nobody_lives_in

pytestmark = pytest.mark.timeout(240)

# Some take many seconds to start on a busy machine.
SECONDS = limit(100.0)
LOGINS = [each for each in TALKS if each.agent.login is not None]


@pytest.fixture(params=TALKS, ids=str)
def talk(request: pytest.FixtureRequest) -> Talk:
    """Each agent in each of its editions."""
    talk: Talk = request.param
    if not talk.agent.is_installed:
        missing = f"{talk.agent.name} is missing: scripts/agents could not install it"
        if WANTED != "present":
            pytest.fail(missing)
        pytest.skip(missing)
    return talk


class Shell:
    """Where the command is typed: a home and a project of its own, nobody at the keyboard, the agent's model near."""

    def __init__(self, talk: Talk, place: Place, model: ScriptedModel) -> None:
        self.talk = talk
        self.place = place
        self.model = model
        self.tool = talk.agent.tool(place)
        changed = {**os.environ, **talk.agent.environment(place)}
        self.env = {name: value for name, value in changed.items() if value is not None}

    async def run(self, *words: str) -> Result:
        """`accord run` with these words, for the agent, to its end."""
        return await self("run", *words)

    async def __call__(self, *words: str) -> Result:
        """Any verb that takes an agent."""
        options = ["--edition", self.talk.edition, "--timeout", str(SECONDS)]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "accord", *words, *options, "--", *self.talk.agent.argv),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.place.project,
            env=self.env,
        )
        try:
            async with asyncio.timeout(SECONDS):
                stdout, stderr = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        # The command has ended, and so has everything that it started.
        await nobody_lives_in(self.place.home)
        return Result(process.returncode or 0, stdout.decode(), stderr.decode())


@contextlib.asynccontextmanager
async def shell_for(talk: Talk, root: Path) -> AsyncIterator[Shell]:
    """A shell whose agent's model wants to use the tool, and then says goodbye."""
    home, project = root / "home", root / "project"
    home.mkdir()
    project.mkdir()
    async with serve(Script([Say(GOODBYE)])) as model:
        shell = Shell(talk, Place(home, project, model.url), model)
        model.script = Script([shell.tool, Say(GOODBYE)])
        yield shell


async def test_a_turn_does_what_a_rule_allows_and_every_step_of_it_is_an_event(talk: Talk, tmp_path: Path) -> None:
    async with shell_for(talk, tmp_path) as shell:
        result = await shell.run(PROMPT, "--allow", "all", "-o", "events")

    assert result.status == 0, result.stderr
    (start,) = result.of_type("start")
    (permission,) = result.of_type("permission")
    (end,) = result.of_type("end")
    tools = result.of_type("tool")
    chosen = {option["id"]: option["kind"] for option in permission["options"]}[permission["option"]]
    assert start["edition"] == f"v{talk.edition}"
    assert {tool["id"] for tool in tools} == {permission["tool"]}
    assert [tool["status"] for tool in tools if "status" in tool][-1] == "completed"
    assert (permission["by"], permission["rule"], chosen) == ("rule", "allow all", "allow_once")
    assert (end["stop_reason"], end["answer"], end["denied_unasked"]) == ("end_turn", GOODBYE, 0)
    assert result.of_type("error") == []
    assert shell.place.file.read_text() == CONTENT
    # When the turn is over, Claude may ask its model what the user could say next.
    assert shell.model.answers[:2] == [shell.tool, Say(GOODBYE)]


async def test_a_turn_can_be_read_by_people(talk: Talk, tmp_path: Path) -> None:
    async with shell_for(talk, tmp_path) as shell:
        result = await shell.run(PROMPT, "--allow", "all", "-o", "text")

    lines = result.stdout.splitlines()
    assert result.status == 0, result.stderr
    assert f" · v{talk.edition} · session " in lines[0]
    assert lines.index("    allowed: by the rule: allow all") < lines.index(GOODBYE)
    assert lines[-1].startswith("end_turn · ")
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    assert shell.place.file.read_text() == CONTENT


async def test_what_no_rule_allows_and_nobody_can_be_asked_is_denied_and_not_done(talk: Talk, tmp_path: Path) -> None:
    async with shell_for(talk, tmp_path) as shell:
        result = await shell.run(PROMPT, "-o", "events")

    assert result.status == 5, result.stderr
    (permission,) = result.of_type("permission")
    (end,) = result.of_type("end")
    (error,) = result.of_type("error")
    chosen = {option["id"]: option["kind"] for option in permission["options"]}[permission["option"]]
    assert (permission["by"], permission["rule"], chosen) == ("nobody", None, "reject_once")
    assert (end["stop_reason"], end["denied_unasked"]) == (talk.agent.rejected, 1)
    assert (error["code"], error["cause"]) == (5, "denied")
    assert result.stderr.startswith("accord: prompt: ")
    assert not shell.place.file.exists()


async def test_the_next_command_goes_on_with_the_conversation(talk: Talk, tmp_path: Path) -> None:
    if not talk.agent.loads:
        pytest.skip("this agent loses a session that it is asked to load soon after: see docs/real-agents.md")
    async with shell_for(talk, tmp_path) as shell:
        first = await shell.run(PROMPT, "--allow", "all", "-o", "events")
        again = await shell.run("-c", "Thank you", "-o", "events")

    assert (first.status, again.status) == (0, 0), first.stderr + again.stderr
    (begun,), (resumed,) = first.of_type("start"), again.of_type("start")
    assert (resumed["session"], resumed["resumed"]) == (begun["session"], True)
    (end,) = again.of_type("end")
    # One of them first warns of a model that it does not know, in the same breath.
    assert end["answer"].endswith(GOODBYE)
    bodies = [str(question.body) for question in shell.model.questions]
    assert [body for body in bodies if PROMPT in body and "Thank you" in body]


@pytest.mark.parametrize("talk", LOGINS, ids=str, indirect=True)
async def test_logging_in_is_a_command_of_its_own_and_a_turn_may_follow(talk: Talk, tmp_path: Path) -> None:
    method = talk.agent.login
    assert method is not None
    async with shell_for(talk, tmp_path) as shell:
        login = await shell("agents", "login", method)
        result = await shell.run(PROMPT, "--allow", "all", "-o", "final")

    assert (login.status, result.status) == (0, 0), login.stderr + result.stderr
    assert login.stdout.endswith(f" by {method}\n")
    assert result.stdout == f"{GOODBYE}\n"
    assert shell.place.file.read_text() == CONTENT


@pytest.mark.parametrize("talk", [each for each in TALKS if each.agent.name == "claude"], ids=str, indirect=True)
async def test_an_agent_without_its_key_wants_a_login_and_is_not_prompted(talk: Talk, tmp_path: Path) -> None:
    async with shell_for(talk, tmp_path) as shell:
        del shell.env["ANTHROPIC_API_KEY"]
        result = await shell.run(PROMPT, "--allow", "all", "-o", "events")

    assert result.status == 6, result.stderr
    (error,) = result.of_type("error")
    assert (error["code"], error["cause"]) == (6, "AuthRequired")
    assert shell.model.answers == []
    assert not shell.place.file.exists()
