"""The end of an owner: it dies, it is stopped past its lease, it drains; its sessions go on at another node."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path

import pytest

import accord
from tests.fleet.nodes import TOKEN, fleet_of
from tests.fleet.talking import address, answer_to, ended, fleet_command, heard
from tests.limits import limit
from tests.postgres import Database

LEASE_SECONDS = 2.0


async def test_after_the_death_of_its_owner_a_session_says_what_happened_and_can_be_prompted(
    tmp_path: Path, database: Database
) -> None:
    async with fleet_of(tmp_path, database.conninfo, "a", "b", lease_seconds=LEASE_SECONDS) as fleet:
        at_a = accord.connect(address(fleet, "a"), token=TOKEN)
        async with accord.connect(address(fleet, "b"), token=TOKEN) as at_b, at_a:
            session = await at_a.new_session(cwd=fleet.root)
            relayed = await at_b.load_session(session.id, cwd=fleet.root)
            turn = relayed.prompt("tool")
            await heard(turn, "at work")
            await fleet.nodes["a"].kill()
            killed = time.monotonic()
            with pytest.raises(accord.ResourceNotFound) as caught:
                await ended(turn)
            assert caught.value.data["reason"] == "session_lost"
            # On the same connection, which is the other node's: it claims the session when the lease is over.
            assert await answer_to(relayed, "soon") == "You said: soon"
            again = await at_b.load_session(session.id, cwd=fleet.root)
            assert await answer_to(again, "and now") == "You said: and now"
            assert time.monotonic() - killed < limit(LEASE_SECONDS + 10.0)
            (call,) = again.transcript.tool_calls.values()
            assert call.status == "failed"
            assert database.run("select epoch from accord.sessions where id = %s", [session.id]) == [(2,)]


async def test_a_node_that_was_stopped_past_its_lease_stops_its_turns_and_writes_nothing(
    tmp_path: Path, database: Database
) -> None:
    async with fleet_of(tmp_path, database.conninfo, "a", "b", lease_seconds=LEASE_SECONDS) as fleet:
        async with (
            accord.connect(address(fleet, "a"), token=TOKEN) as at_a,
            accord.connect(address(fleet, "b"), token=TOKEN) as at_b,
        ):
            session = await at_a.new_session(cwd=fleet.root)
            turn = session.prompt("hold")
            await heard(turn, "holding")
            fleet.nodes["a"].signal(signal.SIGSTOP)
            async with asyncio.timeout(limit(LEASE_SECONDS + 20.0)):
                claimed = await at_b.load_session(session.id, cwd=fleet.root)
            assert await answer_to(claimed, "mine now") == "You said: mine now"
            fleet.nodes["a"].signal(signal.SIGCONT)
            with pytest.raises(accord.RequestError):
                await ended(turn)
            async with asyncio.timeout(limit(20.0)):
                while not Path(fleet.root, f"stopped-{session.id}").exists():
                    await asyncio.sleep(0.02)
            # The client of the stopped node is led to the new owner, and so is one that opens the session again.
            assert await answer_to(session, "lost") == "You said: lost"
            assert session.transcript.text.count("You said: mine now") == 1
            back = await at_a.load_session(session.id, cwd=fleet.root)
            assert await answer_to(back, "hello") == "You said: hello"
        epochs = database.run(
            """select e.epoch from accord.events e join accord.sessions s on s.number = e.session
            where s.id = %s order by e.last""",
            [session.id],
        )
        numbers = [row[0] for row in epochs]
        assert numbers == sorted(numbers)
        assert set(numbers) == {1, 2}


async def test_a_node_that_is_asked_to_drain_lets_turns_end_and_hands_its_sessions_over(
    tmp_path: Path, database: Database
) -> None:
    # A lease that no test waits for: what is free afterwards was handed over.
    async with fleet_of(tmp_path, database.conninfo, "a", "b", lease_seconds=120.0) as fleet:
        async with accord.connect(address(fleet, "a"), token=TOKEN) as at_a:
            session = await at_a.new_session(cwd=fleet.root)
            await answer_to(session, "one")
            turn = session.prompt("work x")
            await heard(turn, "<x.0>")
            status, text = await fleet_command(database, "ls", "--json")
            nodes = {node["node"]: node for node in json.loads(text)}
            assert (status, nodes["a"]["sessions"], nodes["b"]["sessions"]) == (0, 1, 0)
            _, text = await fleet_command(database, "sessions", "--json")
            assert [(each["sessionId"], each["node"]) for each in json.loads(text)] == [(session.id, "a")]
            assert (await fleet_command(database, "drain", "a"))[0] == 0
            await ended(turn)
            assert turn.stop_reason == "end_turn"
            assert await fleet.nodes["a"].wait() == 0
        async with accord.connect(address(fleet, "b"), token=TOKEN) as at_b:
            async with asyncio.timeout(limit(20.0)):
                again = await at_b.load_session(session.id, cwd=fleet.root)
            assert "<x.3>" in again.transcript.text
            assert await answer_to(again, "two") == "You said: two"
        status, text = await fleet_command(database, "ls", "--json")
        assert [node["node"] for node in json.loads(text)] == ["b"]
        assert (await fleet_command(database, "drain", "nobody"))[0] != 0
