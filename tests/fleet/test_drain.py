"""A node that drains: nothing new begins, each session goes on elsewhere as soon as its turn is over, none is cut."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest

import accord
from accord.session.event import StateChanged
from accord.stores import PostgresStore
from tests.fleet.balancer import Balancer
from tests.fleet.nodes import TOKEN, TestFleet, fleet_of
from tests.fleet.talking import address, answer_to, ended, heard
from tests.limits import limit
from tests.postgres import Database

# A lease that no test waits for: what is free afterwards was handed over.
LEASE_SECONDS = 120.0


@asynccontextmanager
async def pair_of(tmp_path: Path, database: Database, drain: str = "60") -> AsyncIterator[TestFleet]:
    async with fleet_of(
        tmp_path, database.conninfo, "a", "b", lease_seconds=LEASE_SECONDS, arguments=("--drain", drain)
    ) as fleet:
        yield fleet


async def is_ready(fleet: TestFleet, node: str) -> bool:
    async with httpx2.AsyncClient(timeout=limit(20.0)) as http:
        try:
            return (await http.get(f"http://127.0.0.1:{fleet.nodes[node].port}/ready")).status_code == 200
        except httpx2.TransportError:
            return False  # it has ended


async def drained(fleet: TestFleet, node: str) -> None:
    """Ask a node to end, and wait until it begins nothing new."""
    fleet.nodes[node].signal(signal.SIGTERM)
    async with asyncio.timeout(limit(20.0)):
        while await is_ready(fleet, node):
            await asyncio.sleep(0.02)


def owner(database: Database, session_id: str) -> str:
    sql = """select n.name from accord.sessions s join accord.nodes n on n.incarnation = s.owner
        where s.id = %s and n.until > clock_timestamp()"""
    rows = database.run(sql, [session_id])
    return rows[0][0] if rows else ""


async def ends_of(database: Database, session_id: str) -> list[StateChanged]:
    """The ends of turns in the log."""
    store = PostgresStore(database.conninfo)
    try:
        events = await store.read(session_id)
    finally:
        await store.close()
    return [event for event in events if isinstance(event, StateChanged) and event.state == "idle"]


def finish(fleet: TestFleet, name: str) -> None:
    Path(fleet.root, name).touch()


@pytest.mark.parametrize("edition", ["1", "2"])
async def test_an_idle_session_is_handed_over_at_once_and_a_busy_one_when_its_turn_ends(
    tmp_path: Path, database: Database, edition: Literal["1", "2"]
) -> None:
    async with pair_of(tmp_path, database) as fleet:
        at_a, at_b = address(fleet, "a"), address(fleet, "b")
        async with (
            accord.connect(at_a, token=TOKEN, edition=edition) as busy_client,
            accord.connect(at_a, token=TOKEN, edition=edition) as idle_client,
            accord.connect(at_b, token=TOKEN, edition=edition) as other,
        ):
            busy = await busy_client.new_session(cwd=fleet.root)
            # The connection of one ends with the drain, that of the other has the turn.
            idle = [await client.new_session(cwd=fleet.root) for client in (idle_client, busy_client)]
            for session in idle:
                await answer_to(session, "one")
            turn = busy.prompt("until go")
            await heard(turn, "begun")
            await drained(fleet, "a")
            # The other turn runs on meanwhile.
            for session in idle:
                async with asyncio.timeout(limit(20.0)):
                    taken = await other.load_session(session.id, cwd=fleet.root)
                assert await answer_to(taken, "two") == "You said: two"
            assert owner(database, busy.id) == "a"
            loading = asyncio.create_task(other.load_session(busy.id, cwd=fleet.root))
            finish(fleet, "go")
            await ended(turn)
            assert (turn.stop_reason, turn.answer) == ("end_turn", "begun, done")
            # It waited for the end of the turn, and then had the session.
            async with asyncio.timeout(limit(20.0)):
                again = await loading
            assert "begun, done" in again.transcript.text
            assert await answer_to(again, "three") == "You said: three"
            assert await fleet.nodes["a"].wait() == 0


async def test_no_session_and_no_prompt_begins_at_a_node_that_drains(tmp_path: Path, database: Database) -> None:
    async with pair_of(tmp_path, database) as fleet:
        at_a = address(fleet, "a")
        async with accord.connect(at_a, token=TOKEN, respawn=False) as client:
            busy, idle = [await client.new_session(cwd=fleet.root) for _ in range(2)]
            await answer_to(idle, "one")
            turn = busy.prompt("until go")
            await heard(turn, "begun")
            await drained(fleet, "a")
            refused: list[Any] = []
            for ask in (
                lambda: answer_to(idle, "two"),
                lambda: client.new_session(cwd=fleet.root),
                lambda: client.load_session(idle.id, cwd=fleet.root),
            ):
                with pytest.raises(accord.ResourceNotFound) as caught:
                    await ask()
                refused.append(caught.value.data["reason"])
            assert refused == ["draining"] * 3
            finish(fleet, "go")
            await ended(turn)
            assert turn.stop_reason == "end_turn"


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_the_client_of_a_node_that_drains_goes_on_at_another_one_by_itself(
    tmp_path: Path, database: Database, scheme: str
) -> None:
    async with pair_of(tmp_path, database) as fleet, Balancer.running() as balancer:
        balancer.set("a", fleet.nodes["a"].port)
        balanced = f"{scheme}://127.0.0.1:{balancer.port}/acp"
        async with accord.connect(balanced, token=TOKEN) as client:
            busy, idle = [await client.new_session(cwd=fleet.root) for _ in range(2)]
            await answer_to(idle, "one")
            turn = busy.prompt("until go")
            await heard(turn, "begun")
            balancer.set("b", fleet.nodes["b"].port)
            await drained(fleet, "a")
            going_on = asyncio.create_task(answer_to(idle, "two"))
            made = asyncio.create_task(client.new_session(cwd=fleet.root))
            finish(fleet, "go")
            await ended(turn)
            assert (turn.stop_reason, turn.answer) == ("end_turn", "begun, done")
            assert await going_on == "You said: two"
            assert await answer_to(busy, "three") == "You said: three"
            new = await made
            assert await answer_to(new, "four") == "You said: four"
            assert [owner(database, each.id) for each in (idle, busy, new)] == ["b", "b", "b"]
            asked = [message.text for message in idle.transcript.messages if message.speaker == "user"]
            assert asked == ["one", "two"]


async def test_a_relayed_session_is_prompted_during_a_drain_and_goes_on_at_the_node_of_its_client(
    tmp_path: Path, database: Database
) -> None:
    async with (
        pair_of(tmp_path, database) as fleet,
        accord.connect(address(fleet, "a"), token=TOKEN) as at_a,
        accord.connect(address(fleet, "b"), token=TOKEN, respawn=False) as at_b,
    ):
        first = await at_a.new_session(cwd=fleet.root)
        await answer_to(first, "one")
        relayed = await at_b.load_session(first.id, cwd=fleet.root)
        turn = first.prompt("until go")
        await heard(turn, "begun")
        await drained(fleet, "a")
        waiting = asyncio.create_task(answer_to(relayed, "two"))
        async with asyncio.timeout(limit(20.0)):
            while relayed.running_turn is None:
                await asyncio.sleep(0.01)
        finish(fleet, "go")
        await ended(turn)
        assert turn.stop_reason == "end_turn"
        assert await waiting == "You said: two"
        assert owner(database, first.id) == "b"
        assert relayed.transcript.text.count("begun, done") == 1


@pytest.mark.parametrize("words", ["hold", "ask"])
async def test_a_turn_that_does_not_end_within_the_drain_ends_with_the_same_error_in_log_and_answer(
    tmp_path: Path, database: Database, words: str
) -> None:
    async def think(_: accord.client.PermissionQuestion) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return False

    asked = asyncio.Event()
    async with pair_of(tmp_path, database, "0.3") as fleet:
        async with accord.connect(address(fleet, "a"), token=TOKEN, permission=think, respawn=False) as client:
            session = await client.new_session(cwd=fleet.root)
            turn = session.prompt(words)
            async with turn:
                async with asyncio.timeout(limit(20.0)):
                    while not (asked.is_set() or "holding" in turn.answer):
                        await asyncio.sleep(0.02)
                await drained(fleet, "a")
                with pytest.raises(accord.InternalError) as caught:
                    await ended(turn)
        assert caught.value.data == {"reason": "drained"}
        assert await fleet.nodes["a"].wait() == 0
        (end,) = await ends_of(database, session.id)
        assert end.error is not None
        assert (end.stop_reason, end.error.message) == ("error", caught.value.message)
        assert any(session.id in line for line in fleet.nodes["a"].log)


async def test_a_turn_whose_prompt_is_answered_keeps_its_connection(tmp_path: Path, database: Database) -> None:
    # v2 answers a prompt when it is inserted: no request is open while its turn runs, here at another node.
    async with (
        pair_of(tmp_path, database) as fleet,
        accord.connect(address(fleet, "a"), token=TOKEN, edition="2") as at_a,
        accord.connect(address(fleet, "b"), token=TOKEN, edition="2", respawn=False) as at_b,
    ):
        owned = await at_a.new_session(cwd=fleet.root)
        await answer_to(owned, "one")
        relayed = await at_b.load_session(owned.id, cwd=fleet.root)
        turn = relayed.prompt("until go")
        await heard(turn, "begun")
        await drained(fleet, "b")
        finish(fleet, "go")
        await ended(turn)
        assert (turn.stop_reason, turn.answer) == ("end_turn", "begun, done")
        assert await fleet.nodes["b"].wait() == 0
