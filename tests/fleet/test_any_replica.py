"""Any node of a fleet takes any client: it forwards what another node has, one hop, and claims what nobody owns."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import pytest

import accord
from tests.fleet.nodes import TOKEN, TestFleet, fleet_of
from tests.limits import limit
from tests.postgres import Database


async def answer_to(session: accord.client.Session, text: str) -> str:
    async with asyncio.timeout(limit(30.0)), session.prompt(text) as turn:
        async for _ in turn:
            pass
    assert turn.stop_reason == "end_turn"
    return turn.answer


def address(fleet: TestFleet, name: str, scheme: str) -> str:
    return f"{scheme}://127.0.0.1:{fleet.nodes[name].port}/acp"


@pytest.mark.parametrize("edition", ["1", "2"])
async def test_a_session_that_another_node_owns_is_relayed_to_it(
    tmp_path: Path, database: Database, edition: Literal["1", "2"]
) -> None:
    async with fleet_of(tmp_path, database.conninfo, "a", "b") as fleet:
        async with accord.connect(address(fleet, "a", "ws"), token=TOKEN, edition=edition) as at_a:
            first = await at_a.new_session(cwd=fleet.root)
            assert await answer_to(first, "one") == "You said: one"
            for scheme in ("ws", "http"):
                async with accord.connect(address(fleet, "b", scheme), token=TOKEN, edition=edition) as at_b:
                    second = await at_b.load_session(first.id, cwd=fleet.root)
                    assert "You said: one" in second.transcript.text
                    assert await answer_to(second, f"two by {scheme}") == f"You said: two by {scheme}"
                    assert await answer_to(first, "three") == "You said: three"
                    # A session of its own on the same connection: the ids of two agents' requests do not collide.
                    own = await at_b.new_session(cwd=fleet.root)
                    assert await answer_to(own, "four") == "You said: four"
        owners = database.run(
            "select distinct epoch from accord.events e join accord.sessions s on s.number = e.session where s.id = %s",
            [first.id],
        )
        assert owners == [(1,)]
