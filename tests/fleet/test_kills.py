"""A fleet through which clients talk while its servers are killed, stopped and cut off: nothing is lost or doubled.

Three servers stand behind a balancer without affinity. What is asserted comes from the log itself: its positions, its
epochs, and the texts in it. `ACCORD_FLEET_KILLS` sets another number of kills.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import signal
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from accord.agent.kept_sessions import healing, outlined
from accord.session.transcript import Transcript
from accord.stores import PostgresStore
from tests.fleet.balancer import Balancer
from tests.fleet.conversations import PHASES, Conversation, Recovery, all_answer, answer_of
from tests.fleet.nodes import NodeProcess, TestFleet, fleet_of
from tests.limits import limit
from tests.postgres import Database

LEASE_SECONDS = 2.0
BOUND_SECONDS = 10.0
GOAL_SECONDS = 2.0
NAMES = ("a", "b", "c")
KILLS_BY_HAND = int(os.environ.get("ACCORD_FLEET_KILLS", "0"))

Row = tuple[str, int, int, int, str]


class Trouble:
    """What happens to the servers."""

    def __init__(self, fleet: TestFleet, balancer: Balancer, database: Database, seed: int) -> None:
        self._fleet = fleet
        self._balancer = balancer
        self._database = database
        self._draw = random.Random(seed)
        self.kinds: tuple[Callable[[], Coroutine[Any, Any, str]], ...] = (
            self.kill,
            self.stop,
            self.cut_database,
            self.cut_links,
        )

    def _victim(self) -> NodeProcess:
        """The node that owns most sessions, or any."""
        sql = """select n.name from accord.sessions s join accord.nodes n on n.incarnation = s.owner
            where n.until > clock_timestamp() group by n.name order by count(*) desc"""
        names = [row[0] for row in self._database.run(sql)]
        return self._fleet.nodes[names[0] if names and self._draw.random() < 0.7 else self._draw.choice(NAMES)]

    async def kill(self) -> str:
        node = self._victim()
        await node.kill()
        again = await self._fleet.start(node.name)
        self._balancer.set(node.name, again.port)
        return f"SIGKILL of {node.name}"

    async def stop(self) -> str:
        node = self._victim()
        node.signal(signal.SIGSTOP)
        await asyncio.sleep(LEASE_SECONDS + 1.5)  # past its lease: this is what is tried, nothing is waited for
        node.signal(signal.SIGCONT)
        return f"SIGSTOP of {node.name}"

    async def cut_database(self) -> str:
        count = self._database.cut("pid <> pg_backend_pid()")
        return f"{count} connections to the database cut"

    async def cut_links(self) -> str:
        return f"{self._balancer.cut()} links of the balancer cut"


def rows_of(database: Database) -> list[Row]:
    """Every row of the log: session, last position, count, epoch, and its texts as a digest."""
    return database.run(
        """select s.id, e.last, e.count, e.epoch, md5(e.texts) from accord.events e
        join accord.sessions s on s.number = e.session order by s.id, e.last"""
    )


def check_positions(rows: list[Row]) -> int:
    """Positions without gap and without overlap, and epochs that never go back: never two writers."""
    session, position, epoch = "", 0, 0
    claims = 0
    for name, last, count, number, _ in rows:
        if name != session:
            session, position, epoch = name, 0, 0
        assert last - count == position, f"{name} has a hole or an overlap at {position}"
        assert number >= epoch, f"{name}: epoch {number} behind {epoch} at {last}"
        claims += number > epoch
        position, epoch = last, number
    return claims


async def check_texts(conversations: list[Conversation], store: PostgresStore) -> None:
    """Each answered prompt is in the log once, with its whole answer; a failed one at most once; every turn ended."""
    for each in conversations:
        transcript = Transcript(await store.read(each.session_id))
        text = "".join(message.text for message in transcript.messages if message.speaker == "agent")
        asked = [message.text for message in transcript.messages if message.speaker == "user"]
        assert len(asked) == len(set(asked)), "a prompt is in the log twice"
        for tag in each.answered:
            assert text.count(answer_of(tag)) == 1, f"{tag} was answered, and its answer is not in the log once"
            assert f"work {tag}" in asked
        for tag in each.failed:
            assert text.count(f"<{tag}.0>") <= 1
        assert not healing(await outlined(store, each.session_id)), "a turn in the log has no end"


def described(recoveries: list[Recovery]) -> str:
    """How soon sessions were usable again, and what the clients of the slowest waited for."""
    slowest = sorted(recoveries, key=lambda recovery: recovery.seconds)
    p50, p95, most = (slowest[math.ceil(len(slowest) * part) - 1].seconds for part in (0.5, 0.95, 1.0))
    late = [recovery for recovery in slowest if recovery.seconds >= p95]
    parts = {name: sum(each.parts.get(name, 0.0) for each in late) / len(late) for name in PHASES}
    listed = ", ".join(f"{name} {seconds:.2f}" for name, seconds in parts.items() if seconds >= 0.01)
    return f"usable again after p50 {p50:.2f} s, p95 {p95:.2f} s, at most {most:.2f} s (the slowest: {listed})"


@pytest.mark.parametrize(
    ("kills", "sessions"),
    [
        # Each kind of trouble once.
        pytest.param(4, 8, marks=pytest.mark.timeout(limit(240))),
        pytest.param(6, 20, marks=[pytest.mark.long, pytest.mark.timeout(limit(240))]),
        pytest.param(30, 60, marks=[pytest.mark.every, pytest.mark.timeout(limit(1500))]),
        *([pytest.param(KILLS_BY_HAND, 60, marks=pytest.mark.timeout(7200))] if KILLS_BY_HAND else []),
    ],
)
async def test_nothing_is_lost_or_doubled_while_servers_are_killed(
    tmp_path: Path, database: Database, kills: int, sessions: int
) -> None:
    patience = limit(LEASE_SECONDS + BOUND_SECONDS)
    took: list[Recovery] = []
    seen: set[Row] = set()
    async with (
        fleet_of(tmp_path, database.conninfo, *NAMES, lease_seconds=LEASE_SECONDS) as fleet,
        Balancer.running() as balancer,
    ):
        for node in fleet.nodes.values():
            balancer.set(node.name, node.port)
        conversations = [
            Conversation(
                number, f"{'ws' if number % 2 else 'http'}://127.0.0.1:{balancer.port}/acp", fleet.root, patience
            )
            for number in range(sessions)
        ]
        talking = [asyncio.create_task(each.run()) for each in conversations]
        try:
            await all_answer(conversations, time.monotonic(), BOUND_SECONDS * 6)
            trouble = Trouble(fleet, balancer, database, kills)
            for number in range(kills):
                seen |= set(rows_of(database))
                since = time.monotonic()
                happening = asyncio.create_task(trouble.kinds[number % len(trouble.kinds)]())
                recoveries = await all_answer(conversations, since, LEASE_SECONDS + BOUND_SECONDS)
                print(f"{await happening}: {described(recoveries)}", flush=True)  # noqa: T201
                took += recoveries
            await all_answer(conversations, time.monotonic(), LEASE_SECONDS + BOUND_SECONDS)
        finally:
            for task in talking:
                task.cancel()
            await asyncio.gather(*talking, return_exceptions=True)
        # Turns that were running go on, or end, before the log is looked at.
        for node in fleet.nodes.values():
            node.signal(signal.SIGTERM)
        await asyncio.gather(*(node.wait() for node in fleet.nodes.values()))
    rows = rows_of(database)
    claims = check_positions(rows)
    assert seen <= set(rows), "a committed event was lost or changed"
    store = PostgresStore(database.conninfo)
    try:
        await check_texts(conversations, store)
    finally:
        await store.close()
    answered, failed = (
        sum(len(each.answered) for each in conversations),
        sum(len(each.failed) for each in conversations),
    )
    print(  # noqa: T201
        f"{kills} kills, {sessions} sessions, {claims} claims, {len(rows)} rows: {answered} prompts answered, {failed} "
        f"failed with an error; {described(took)} (lease {LEASE_SECONDS:g} s, goal {LEASE_SECONDS + GOAL_SECONDS:g} s)"
    )
    assert [tag for each in conversations for tag in each.hung] == []
    assert [answer for each in conversations for answer in each.wrong] == []
