"""`accord fleet move`: a session goes to a named node when its turn is over, and its clients go with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import accord
from tests.fleet.nodes import FLEET_SECRET, TOKEN, fleet_of
from tests.fleet.talking import address, answer_to, ended, fleet_command, heard
from tests.limits import limit
from tests.postgres import Database

LEASE_SECONDS = 120.0


async def move(database: Database, session_id: str, node: str) -> tuple[int, str]:
    return await fleet_command(database, "move", session_id, node, ACCORD_FLEET_SECRET=FLEET_SECRET)


def owner(database: Database, session_id: str) -> str:
    sql = "select n.name from accord.sessions s join accord.nodes n on n.incarnation = s.owner where s.id = %s"
    rows = database.run(sql, [session_id])
    return rows[0][0] if rows else ""


@pytest.mark.parametrize("work", ["idle", "running", "asking"])
async def test_a_session_is_moved_when_its_turn_is_over(tmp_path: Path, database: Database, work: str) -> None:
    asked, allowed = asyncio.Event(), asyncio.Event()

    async def allow(_: accord.client.PermissionQuestion) -> bool:
        asked.set()
        await allowed.wait()
        return True

    async with fleet_of(tmp_path, database.conninfo, "a", "b", lease_seconds=LEASE_SECONDS) as fleet:
        connecting = accord.connect(address(fleet, "a"), token=TOKEN, permission=allow, respawn=False)
        async with (
            connecting as at_a,
            accord.connect(address(fleet, "b"), token=TOKEN, permission=allow, respawn=False) as at_b,
        ):
            session = await at_a.new_session(cwd=fleet.root)
            await answer_to(session, "one")
            watched = await at_b.load_session(session.id, cwd=fleet.root)
            turn = session.prompt({"idle": "done", "running": "until go", "asking": "ask"}[work])
            async with turn:
                if work == "running":
                    await heard(turn, "begun")
                elif work == "asking":
                    await asked.wait()
                else:
                    await ended(turn)
                moving = asyncio.create_task(move(database, session.id, "b"))
                if work != "idle":
                    async with asyncio.timeout(limit(20.0)):
                        while not any("is to be handed over" in line for line in fleet.nodes["a"].log):
                            await asyncio.sleep(0.02)
                    assert owner(database, session.id) == "a"
                    Path(fleet.root, "go").touch()
                    allowed.set()
                    await ended(turn)
            assert turn.stop_reason == "end_turn"
            status, text = await moving
            assert (status, owner(database, session.id)) == (0, "b"), text
            # Neither client had to do anything.
            assert await answer_to(session, "two") == "You said: two"
            assert await answer_to(watched, "three") == "You said: three"
            assert owner(database, session.id) == "b"


async def test_what_cannot_be_moved_is_said(tmp_path: Path, database: Database) -> None:
    async with fleet_of(tmp_path, database.conninfo, "a", lease_seconds=LEASE_SECONDS) as fleet:
        async with accord.connect(address(fleet, "a"), token=TOKEN) as at_a:
            session = await at_a.new_session(cwd=fleet.root)
            await answer_to(session, "one")
            assert (await move(database, session.id, "b"))[0] != 0
            assert (await move(database, "nothing", "a"))[0] != 0
            assert (await fleet_command(database, "move", session.id, "a"))[0] != 0
            wrong = {"ACCORD_FLEET_SECRET": "x" * 40}
            database.run(
                """insert into accord.nodes (incarnation, name, address, version, lock, lease_seconds, until)
                values ('other', 'b', 'http://127.0.0.1:1', '1', 0, 1, clock_timestamp() + interval '1 hour')"""
            )
            status, text = await fleet_command(database, "move", session.id, "b", **wrong)
            assert (status != 0, "its secret is another one" in text) == (True, True)
            assert await answer_to(session, "two") == "You said: two"
        status, _ = await move(database, session.id, "b")
        assert status == 0


async def test_a_node_with_another_secret_is_named_by_the_others(tmp_path: Path, database: Database) -> None:
    async with fleet_of(tmp_path, database.conninfo, "a", lease_seconds=LEASE_SECONDS) as fleet:
        other = await fleet.start("b", env={"ACCORD_FLEET_SECRET": "x" * 40})
        at_a = accord.connect(address(fleet, "a"), token=TOKEN)
        async with at_a, accord.connect(address(fleet, "b"), token=TOKEN, respawn=False) as at_b:
            session = await at_a.new_session(cwd=fleet.root)
            loading = asyncio.create_task(at_b.load_session(session.id, cwd=fleet.root))
            await other.logged("its secret is another one")
            loading.cancel()
            await asyncio.gather(loading, return_exceptions=True)
