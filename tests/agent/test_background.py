"""Background work: listed in v2, reported in every edition, stopped by its client or at the close."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Tool, Turn
from accord.session.tool import TerminalView
from tests.agent.rig import IN_EVERY_EDITION, Hand, Heard, agent_of, noting, served, until
from tests.tables import rows

WAIT = [sys.executable, "-c", "import time; time.sleep(600)"]


class Backgrounder:
    """An agent whose first turn leaves a tool call behind; the test ends it."""

    def __init__(self, *, spawned: bool = False) -> None:
        self.tools: list[Tool] = []
        self.spawned = spawned
        self.ends: list[str] = []

    async def reply(self, turn: Turn) -> None:
        if self.tools:
            await turn.say("another turn")
            return
        tool = turn.tool("Index", background=True, cancellable=True, id="index")
        self.tools.append(tool)
        if self.spawned:
            begun = asyncio.Event()
            turn.session.spawn(self.work(tool, begun))
            await begun.wait()
        else:
            async with tool:
                await tool.show("begun")
        await turn.say("later")

    async def work(self, tool: Tool, begun: asyncio.Event) -> None:
        async with tool:
            await tool.show("begun")
            begun.set()
            await asyncio.Event().wait()
        self.ends.append(tool.status)


def backgrounds(heard: Heard) -> list[Any]:
    return [state.get("background") for state in heard.of("state_update")]


INDEX = {"type": "tool_call", "toolCallId": "index"}


async def test_a_background_call_is_listed_from_its_announcement_to_its_end_in_every_state() -> None:
    agent = Backgrounder()
    async with served(agent_of(agent.reply), "v2") as hand:
        session = await hand.new_session()
        heard = await hand.turn(session)
        assert heard.stop_reason == "end_turn"
        assert (heard.states, backgrounds(heard)) == (["running", "running", "idle"], [None, [INDEX], [INDEX]])
        assert heard.kinds.index("tool_call_update") < heard.updates.index(heard.of("state_update")[1])
        heard = await hand.turn(session)
        assert heard.text == "another turn"
        assert backgrounds(heard) == [[INDEX], [INDEX]]
        start = len(hand.received)
        await agent.tools[0].complete("all of it")
        await hand.state("idle")
        heard = Heard(hand.received[start:])
        assert heard.kinds == ["tool_call_content_chunk", "tool_call_update", "state_update"]
        assert heard.of("tool_call_update")[0]["status"] == "completed"
        assert backgrounds(heard) == [[]]
        assert backgrounds(await hand.turn(session)) == [[], []]


@IN_EVERY_EDITION
async def test_a_background_call_outlives_its_turn_and_is_told_outside_of_it(edition: str) -> None:
    agent = Backgrounder()
    async with served(agent_of(agent.reply), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session)
        assert heard.stop_reason == "end_turn"
        assert heard.tools()["index"]["status"] == "in_progress"
        start = len(hand.received)
        await agent.tools[0].show("more")
        await agent.tools[0].fail("no luck")
        await hand.drain()
        assert Heard(hand.received[start:]).tools()["index"]["status"] == "failed"


@IN_EVERY_EDITION
async def test_a_cancel_of_the_turn_leaves_the_background_alone(edition: str) -> None:
    agent = Backgrounder(spawned=True)
    async with served(agent_of(agent.reply), edition) as hand:
        session = await hand.new_session()
        await hand.turn(session)
        await hand.cancel(session)
        assert await hand.drain() == []
        assert not agent.tools[0].finished
        assert (await hand.turn(session)).text == "another turn"


async def test_a_client_can_stop_a_call_in_the_background() -> None:
    agent = Backgrounder(spawned=True)
    async with served(agent_of(agent.reply), "v2") as hand:
        session = await hand.new_session()
        await hand.turn(session)
        start = len(hand.received)
        answer = await hand.request("tool_call/cancel", {"sessionId": session, "toolCallId": "index"})
        assert answer["result"] == {}
        await until(lambda: agent.ends == ["cancelled"])
        await hand.drain()
        heard = Heard(hand.received[start:])
        assert heard.tools()["index"]["status"] == "cancelled"
        assert backgrounds(heard) == [[]]


async def test_a_client_can_stop_a_call_that_nobody_works_on_just_now() -> None:
    agent = Backgrounder()
    async with served(agent_of(agent.reply), "v2") as hand:
        session = await hand.new_session()
        await hand.turn(session)
        await hand.request("tool_call/cancel", {"sessionId": session, "toolCallId": "index"})
        await until(lambda: agent.tools[0].finished)
        assert agent.tools[0].cancel_requested
        assert agent.tools[0].status == "cancelled"


@IN_EVERY_EDITION
@rows("spawned", [False, True])
async def test_closing_the_session_stops_its_background_and_tells_its_end(edition: str, spawned: bool) -> None:  # noqa: FBT001
    agent = Backgrounder(spawned=spawned)
    async with served(agent_of(agent.reply), edition) as hand:
        session = await hand.new_session()
        await hand.turn(session)
        start = len(hand.received)
        answer = await hand.request("session/close", {"sessionId": session})
        assert answer["result"] == {}
        heard = Heard(hand.received[start:])
        assert heard.messages[-1] is answer
        assert heard.tools()["index"]["status"] == ("cancelled" if edition == "v2" else "failed")
        if edition == "v2":
            assert heard.updates[-1]["background"] == []
        assert agent.tools[0].finished
        assert await hand.drain() == []


async def test_closing_a_session_that_works_on_both_sides_ends_everything_in_order() -> None:
    gate = asyncio.Event()

    async def reply(turn: Turn) -> None:
        tool = turn.tool("Index", background=True, id="index")
        await tool.show("begun")
        await turn.say("begun")
        await gate.wait()

    async with served(agent_of(reply), "v2") as hand:
        session = await hand.new_session()
        running, held = await hand.prompt(session, "a"), await hand.prompt(session, "b")
        await hand.said("begun")
        answer = await hand.request("session/close", {"sessionId": session})
        assert answer["result"] == {}
        assert (await hand.answer_to(held))["error"]["code"] == -32800
        heard = await hand.ended(running)
        assert heard.answer is not None
        assert "messageId" in heard.answer["result"]
        assert heard.stop_reason == "cancelled"
        assert heard.tools()["index"]["status"] == "cancelled"
        assert (heard.updates[-1]["state"], heard.updates[-1]["background"]) == ("idle", [])
        assert await hand.drain() == []
        error = (await hand.turn(session)).error
        assert (error["code"], error["data"]) == (-32002, {"sessionId": session})


async def test_a_background_that_cannot_be_stopped_does_not_hold_up_the_close(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Backgrounder()

    async def broken() -> None:
        raise OSError("cannot")

    async with served(agent_of(agent.reply), "v2") as hand:
        session = await hand.new_session()
        await hand.turn(session)
        monkeypatch.setattr(agent.tools[0]._session, "_stop_background", broken)
        assert (await hand.request("session/close", {"sessionId": session}))["result"] == {}
    assert "could not be stopped" in caplog.text


# --- commands that are kept


class Keeper:
    """An agent that leaves a command running."""

    async def reply(self, turn: Turn) -> None:
        if turn.text == "run":
            terminal = await turn.terminals.start(WAIT, cancellable=True)
            turn.session.keep(terminal)
            async with turn.tool("Serve", kind="execute", id="serve") as tool:
                await tool.show(TerminalView(terminal.id))
        await turn.say("done")


async def running(hand: Hand, folder: Path) -> tuple[str, Heard, str]:
    session = await hand.new_session(str(folder))
    heard = await hand.turn(session, "run")
    assert heard.text == "done"
    listed = [item for item in backgrounds(heard)[-1] if item["type"] == "terminal"]
    return session, heard, listed[0]["terminalId"]


async def test_a_command_that_is_kept_is_listed_once_as_its_terminal(tmp_path: Path) -> None:
    async with served(agent_of(Keeper().reply), "v2") as hand:
        session, heard, terminal = await running(hand, tmp_path)
        assert backgrounds(heard)[-1] == [{"type": "terminal", "terminalId": terminal}]
        assert heard.tools()["serve"]["status"] == "completed"
        assert "exitStatus" not in heard.of("terminal_update")[-1]
        assert backgrounds(await hand.turn(session))[-1] == [{"type": "terminal", "terminalId": terminal}]


async def test_a_client_can_stop_a_command_in_the_background(tmp_path: Path) -> None:
    async with served(agent_of(Keeper().reply), "v2") as hand:
        session, _, terminal = await running(hand, tmp_path)
        start = len(hand.received)
        answer = await hand.request("terminal/cancel", {"sessionId": session, "terminalId": terminal})
        assert answer["result"] == {}
        while backgrounds(Heard(hand.received[start:]))[-1:] != [[]]:
            await hand.hear()
        heard = Heard(hand.received[start:])
        exits = [n for n, update in enumerate(heard.updates) if "exitStatus" in update]
        assert exits
        assert exits[0] < heard.kinds.index("state_update")
        assert (await hand.turn(session)).text == "done"


async def test_closing_the_session_ends_a_command_that_was_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(agent_of(Keeper().reply), "v2") as hand:
        session, _, terminal = await running(hand, tmp_path)
        start = len(hand.received)
        answer = await hand.request("session/close", {"sessionId": session})
        assert answer["result"] == {}
        heard = Heard(hand.received[start:])
        ended = [update for update in heard.of("terminal_update") if "exitStatus" in update]
        assert [update["terminalId"] for update in ended] == [terminal]
        assert heard.updates[-1]["background"] == []
        assert await hand.drain() == []
    assert not caplog.records, "the end of the command is reported twice, and both times in order"


async def test_a_client_that_leaves_ends_a_command_that_was_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(agent_of(Keeper().reply), "v2") as hand:
        await running(hand, tmp_path)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@IN_EVERY_EDITION
async def test_a_session_can_speak_outside_of_its_turns(edition: str) -> None:
    sessions: list[Any] = []
    agent = agent_of(lambda _: None)
    agent.on_session(noting(sessions))
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        await hand.turn(session)
        await sessions[0].set_title("Later")
        update = await hand.update_of("session_info_update")
        assert update["title"] == "Later"
