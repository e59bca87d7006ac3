"""A client that only watches a session is led to each next owner, from the last event that it has."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Literal

import pytest

import accord
from tests.fleet.nodes import TOKEN, TestFleet, fleet_of
from tests.fleet.talking import address, answer_to, heard
from tests.limits import limit
from tests.postgres import Database

LEASE_SECONDS = 2.0


async def sees(session: accord.client.Session, text: str) -> None:
    async with asyncio.timeout(limit(LEASE_SECONDS + 20.0)):
        while text not in session.transcript.text:
            await asyncio.sleep(0.02)


async def end(fleet: TestFleet, node: str, how: str) -> None:
    if how == "kill":
        await fleet.nodes[node].kill()
    elif how == "freeze":
        fleet.nodes[node].signal(signal.SIGSTOP)
    else:
        fleet.nodes[node].signal(signal.SIGTERM)


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", ["1", "2"])
@pytest.mark.parametrize("how", ["kill", "freeze", "drain"])
async def test_a_watcher_sees_the_next_turn_after_the_end_of_the_owner(
    tmp_path: Path, database: Database, how: str, edition: Literal["1", "2"]
) -> None:
    async with fleet_of(tmp_path, database.conninfo, "a", "b", "c", lease_seconds=LEASE_SECONDS) as fleet:
        at_a = accord.connect(address(fleet, "a"), token=TOKEN, edition=edition)
        async with (
            at_a,
            accord.connect(address(fleet, "b"), token=TOKEN, edition=edition, respawn=False) as at_b,
            accord.connect(address(fleet, "c"), token=TOKEN, edition=edition) as at_c,
        ):
            session = await at_a.new_session(cwd=fleet.root)
            watched = await at_b.load_session(session.id, cwd=fleet.root)
            assert await answer_to(session, "one") == "You said: one"
            await sees(watched, "You said: one")
            await end(fleet, "a", how)
            async with asyncio.timeout(limit(LEASE_SECONDS + 20.0)):
                taken = await at_c.load_session(session.id, cwd=fleet.root)
            assert await answer_to(taken, "two") == "You said: two"
            await sees(watched, "You said: two")
            # And it takes part in the session.
            assert await answer_to(watched, "three") == "You said: three"
            await sees(taken, "You said: three")
            for text in ("You said: one", "You said: two", "You said: three"):
                assert watched.transcript.text.count(text) == 1
                assert taken.transcript.text.count(text) == 1


async def test_a_watcher_gets_the_end_of_a_turn_whose_owner_died_before_its_lease_ends(
    tmp_path: Path, database: Database
) -> None:
    async with fleet_of(tmp_path, database.conninfo, "a", "b", lease_seconds=600.0) as fleet:
        at_a = accord.connect(address(fleet, "a"), token=TOKEN)
        async with accord.connect(address(fleet, "b"), token=TOKEN, respawn=False) as at_b, at_a:
            session = await at_a.new_session(cwd=fleet.root)
            watched = await at_b.load_session(session.id, cwd=fleet.root)
            turn = session.prompt("tool")
            await heard(turn, "at work")
            await sees(watched, "at work")
            await fleet.nodes["a"].kill()
            (call,) = watched.transcript.tool_calls.values()
            async with asyncio.timeout(limit(20.0)):
                while call.status != "failed":
                    await asyncio.sleep(0.02)
