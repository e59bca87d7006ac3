"""Agents that people use, each with a model on loopback, driven by our client. See docs/real-agents.md."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

import accord
from accord.session.dialect import EditionChoice
from accord.session.event import MessageChunk, ToolChanged
from tests.interop.llm.script import Hang, Say, Script
from tests.interop.llm.server import ScriptedModel, serve
from tests.interop.npm_agents import AGENTS, CONTENT, NpmAgent, Place
from tests.limits import limit

WANTED = os.environ.get("ACCORD_REAL_AGENTS")
if WANTED is None:
    pytest.skip("scripts/test --interop", allow_module_level=True)

pytestmark = pytest.mark.timeout(240)

PROMPT = "Please write a greeting"
GOODBYE = "The greeting is written."
# Some take many seconds to start on a busy machine; what hangs still ends, and says where.
DEADLINES = accord.Deadlines(start_seconds=120, turn_seconds=120, cancel_seconds=60)


class Talk(NamedTuple):
    """Which agent is to speak what."""

    agent: NpmAgent
    edition: EditionChoice

    def __str__(self) -> str:
        return f"{self.agent.name}-v{self.edition}"


TALKS = [Talk(agent, "1") for agent in AGENTS.values()] + [Talk(AGENTS[name], "2") for name in ("codex", "claude")]


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


class Stage:
    """One agent in a place of its own, its model, and what the user is asked and answers."""

    def __init__(self, talk: Talk, place: Place, model: ScriptedModel) -> None:
        self.talk = talk
        self.place = place
        self.model = model
        self.tool = talk.agent.tool(place)
        self.questions: list[accord.client.PermissionQuestion] = []
        self.asked = asyncio.Event()
        self.answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def connect(self, edition: EditionChoice | None = None) -> accord.client.ConnectedAgent:
        """The agent, not started yet."""
        return accord.connect(
            *self.talk.agent.argv,
            edition=edition or self.talk.edition,
            program_cwd=self.place.project,
            env=self.talk.agent.environment(self.place),
            permission=self._permit,
            deadlines=DEADLINES,
        )

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[accord.client.Session]:
        """A new session with the agent, logged in if there is a login."""
        async with self.connect() as agent:
            if self.talk.agent.login is not None:
                await agent.login(self.talk.agent.login)
            yield await agent.new_session(self.place.project)

    async def _permit(self, question: accord.client.PermissionQuestion) -> bool:
        self.questions.append(question)
        self.asked.set()
        return await asyncio.shield(self.answer)


@contextlib.asynccontextmanager
async def staged(talk: Talk, root: Path) -> AsyncIterator[Stage]:
    """All that a conversation needs; at its end nothing of it is left running."""
    home, project = root / "home", root / "project"
    home.mkdir()
    project.mkdir()
    async with serve(Script([Say(GOODBYE)])) as model:
        stage = Stage(talk, Place(home, project, model.url), model)
        yield stage
    await nobody_lives_in(home)


async def nobody_lives_in(home: Path) -> None:
    """Return when no process has this home any more, wherever it went to be forgotten."""
    async with asyncio.timeout(limit(5)):
        while living_in(home):
            await asyncio.sleep(0)


def living_in(home: Path) -> list[int]:
    """The processes that have this home: the agent, and whatever it started."""
    mark = f"HOME={home}".encode()
    return [int(each.name) for each in Path("/proc").glob("[0-9]*") if mark in _environment(each)]


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it is gone, or somebody else's
        return []


async def test_a_turn_asks_for_permission_and_does_what_it_asked_for(talk: Talk, tmp_path: Path) -> None:
    async with staged(talk, tmp_path) as stage, stage.session() as session:
        stage.model.script = Script([stage.tool, Say(GOODBYE)])
        stage.answer.set_result(True)
        async with session.prompt(PROMPT) as turn:
            events = [event async for event in turn]
        (question,) = stage.questions
        (call,) = session.transcript.tool_calls.values()
        messages = session.transcript.messages
        again = await session.prompt("Thank you")

    assert question.tool is not None
    assert question.tool.id == call.id
    assert stage.place.file.read_text() == CONTENT
    assert call.status == "completed"
    assert turn.stop_reason == "end_turn"
    assert turn.text.endswith(GOODBYE)
    assert [each for each in events if isinstance(each, ToolChanged)]
    assert [each for each in events if isinstance(each, MessageChunk)]
    assert messages[0].text == PROMPT
    assert messages[-1].text.endswith(GOODBYE)
    assert stage.model.answers[:2] == [stage.tool, Say(GOODBYE)]
    assert again.stop_reason == "end_turn"
    assert again.text.endswith(GOODBYE)


async def test_what_is_rejected_is_not_done(talk: Talk, tmp_path: Path) -> None:
    async with staged(talk, tmp_path) as stage, stage.session() as session:
        stage.model.script = Script([stage.tool, Say(GOODBYE)])
        stage.answer.set_result(False)
        turn = await session.prompt(PROMPT)
        (call,) = session.transcript.tool_calls.values()

    assert len(stage.questions) == 1
    assert not stage.place.file.exists()
    assert call.status != "completed"
    assert turn.stop_reason == talk.agent.rejected


async def test_a_turn_is_cancelled_while_the_model_is_silent(talk: Talk, tmp_path: Path) -> None:
    async with staged(talk, tmp_path) as stage, stage.session() as session:
        stage.model.script = Script([Hang("Let me think about that")])
        async with session.prompt(PROMPT) as turn:
            await stage.model.hanging.wait()
            turn.cancel()
        stage.model.script = Script([Say(GOODBYE)])
        again = await session.prompt("Forget it")

    assert turn.stop_reason == "cancelled"
    assert again.stop_reason == "end_turn"
    assert again.text.endswith(GOODBYE)


async def test_a_question_that_is_open_when_the_turn_is_cancelled_allows_nothing(talk: Talk, tmp_path: Path) -> None:
    async with staged(talk, tmp_path) as stage, stage.session() as session:
        stage.model.script = Script([stage.tool, Say(GOODBYE)])
        async with session.prompt(PROMPT) as turn:
            await stage.asked.wait()
            turn.cancel()
            stage.answer.set_result(True)
        (call,) = session.transcript.tool_calls.values()

    assert turn.stop_reason == "cancelled"
    assert call.status in {"cancelled", "failed"}
    assert not stage.place.file.exists()


async def test_a_conversation_is_there_again_in_the_next_process(talk: Talk, tmp_path: Path) -> None:
    if not talk.agent.loads:
        pytest.skip("this agent loses a session that it is asked to load soon after: see docs/real-agents.md")
    async with staged(talk, tmp_path) as stage:
        stage.model.script = Script([stage.tool, Say(GOODBYE)])
        stage.answer.set_result(True)
        async with stage.session() as session:
            await session.prompt(PROMPT)
        async with stage.connect() as agent:
            loaded = await agent.load_session(session.id, stage.place.project)
            # One of them replays an empty text before each tool call.
            told = [(each.speaker, each.text) for each in loaded.transcript.messages if each.text]
            calls = [call.status for call in loaded.transcript.tool_calls.values()]
            turn = await loaded.prompt("And now?")

    assert told == [("user", PROMPT), ("agent", GOODBYE)]
    assert calls == ["completed"]
    assert turn.stop_reason == "end_turn"


async def test_an_agent_that_was_killed_is_started_again_and_goes_on(talk: Talk, tmp_path: Path) -> None:
    if not talk.agent.loads:
        pytest.skip("this agent loses a session that it is asked to load soon after: see docs/real-agents.md")
    async with staged(talk, tmp_path) as stage, stage.connect() as agent:
        session = await agent.new_session(stage.place.project)
        await session.prompt(PROMPT)
        for process in living_in(stage.place.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        await agent.connection.wait_closed()
        turn = await session.prompt("Are you there?")
        respawns = agent.respawns
        messages = session.transcript.messages

    assert turn.stop_reason == "end_turn"
    assert turn.text.endswith(GOODBYE)
    assert respawns == 1
    assert [each.speaker for each in messages] == ["user", "agent", "user", "agent"]
    assert PROMPT in str(stage.model.questions[-1].body)


@pytest.mark.parametrize("talk", {each.agent.name: each for each in TALKS}.values(), ids=str, indirect=True)
async def test_whoever_wants_the_newest_edition_gets_the_newest_that_the_agent_has(talk: Talk, tmp_path: Path) -> None:
    async with staged(talk, tmp_path) as stage, stage.connect("newest") as agent:
        edition = agent.edition

    assert edition == f"v{talk.edition}"
