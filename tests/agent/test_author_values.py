"""Values that an author writes where the specification has a list: one that is not on it is refused at once.

mypy refuses each of these lines too: where it did not, it would report the comment that expects it.
"""

from __future__ import annotations

from typing import Any

import pytest

import accord
from accord.agent import BlockingTurn, Turn
from accord.session.event import PlanChanged, ToolChanged
from accord.session.tool import FileChange
from tests.agent.rig import Heard, agent_of, served


async def tried(handler: Any) -> Heard:
    async with served(agent_of(handler), "v1") as hand:
        return await hand.turn(await hand.new_session())


async def test_an_async_handler_gets_the_nearest_known_value() -> None:
    async def reply(turn: Turn) -> None:
        with pytest.raises(ValueError, match="'read'"):
            turn.tool("x", kind="raed")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'pending'"):
            turn.tool("x", status="pendign")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'end_turn'"):
            turn.finish("end-turn")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="One of end_turn"):
            turn.finish("error")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'completed'"):
            await turn.plan([accord.PlanEntry("x", "complete")])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'high'"):
            await turn.plan([accord.PlanEntry("x", "completed", "hihg")])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'warning'"):
            await turn.notice("x", severity="warn")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'assistant'"):
            await turn.say("x", annotations=accord.Annotations(["assistent"]))  # type: ignore[list-item]
        with pytest.raises(ValueError, match="'allow_once'"):
            await turn.request_permission("x", options=[accord.PermissionOption("y", "Yes", "allow")])  # type: ignore[arg-type]
        async with turn.tool("x") as tool:
            with pytest.raises(ValueError, match="'edit'"):
                await tool.update(kind="edti")  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="'paused'"):
                await tool.update(status="pause")  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="'modify'"):
                await tool.show(FileChange("/a", operation="modfy"))  # type: ignore[arg-type]
        await turn.say("all refused")

    assert "all refused" in (await tried(reply)).text


async def test_a_handler_without_async_gets_the_same() -> None:
    def reply(turn: BlockingTurn) -> None:
        with pytest.raises(ValueError, match="'read'"):
            turn.tool("x", kind="raed")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'end_turn'"):
            turn.finish("end-turn")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'completed'"):
            turn.plan([accord.PlanEntry("x", "complete")])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'warning'"):
            turn.notice("x", severity="warn")  # type: ignore[arg-type]
        with turn.tool("x") as tool, pytest.raises(ValueError, match="'edit'"):
            tool.update(kind="edti")  # type: ignore[arg-type]
        turn.say("all refused")

    assert "all refused" in (await tried(reply)).text


async def test_a_value_of_ones_own_is_taken() -> None:
    own = accord.custom("_mine")

    async def reply(turn: Turn) -> None:
        async with turn.tool("x", kind=own, status=own) as tool:
            await tool.update(kind=own)
        await turn.plan([accord.PlanEntry("x", own, own)])
        turn.finish(own)
        await turn.say("all taken")

    assert "all taken" in (await tried(reply)).text


async def test_what_a_peer_sent_is_passed_on_as_it_is() -> None:
    async def reply(turn: Turn) -> None:
        received = ToolChanged("call-1", title="x", kind="hologram", status="in_progress")
        await turn.send(received)
        await turn.send(ToolChanged("call-1", status="completed"))
        await turn.send(PlanChanged([accord.PlanEntry("x", accord.Custom("someday"))]))
        await turn.say("all passed on")

    assert "all passed on" in (await tried(reply)).text


def test_a_category_is_one_of_the_protocols_or_ones_own() -> None:
    agent = accord.Agent("tested", store=None)
    with pytest.raises(ValueError, match="'mode'"):
        agent.select("s", "S", ["a"], category="modes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'model'"):
        agent.toggle("t", "T", category="modell")  # type: ignore[arg-type]
    agent.toggle("t", "T", category=accord.custom("_mine"))
