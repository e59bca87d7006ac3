"""Busy clients while their node drains: no turn is cut, none begins there, and all go on at another node at once.

`ACCORD_DRAIN_TRIALS` sets another number of drains; each has its number as the seed.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import httpx2
import pytest

import accord
from accord.session.event import StateChanged
from accord.session.transcript import Transcript
from accord.stores import PostgresStore
from tests.fleet.balancer import Balancer
from tests.fleet.nodes import TOKEN, fleet_of
from tests.fleet.test_kills import check_positions, rows_of
from tests.limits import limit
from tests.postgres import Database

TRIALS_BY_HAND = int(os.environ.get("ACCORD_DRAIN_TRIALS", "0"))
CLIENTS = 4
LEASE_SECONDS = 30.0
BEYOND_SECONDS = 1.5
"""How long the clients go on at the other node."""


@dataclass
class Prompt:
    """One prompt, by the monotonic clock."""

    sent: float
    begun: float = 0.0
    ended: float = 0.0
    node: str = ""
    failure: str = ""


@dataclass
class Busy:
    """A client that prompts without a pause."""

    number: int
    address: str
    root: str
    draw: random.Random
    session_id: str = ""
    prompts: list[Prompt] = field(default_factory=list)
    is_over: bool = False

    @property
    def edition(self) -> Literal["1", "2"]:
        return "1" if self.number // 2 % 2 else "2"

    async def run(self) -> None:
        async with accord.connect(self.address, token=TOKEN, edition=self.edition) as agent:
            session = await agent.new_session(cwd=self.root)
            self.session_id = session.id
            while not self.is_over:
                await self._prompt(session)

    async def _prompt(self, session: accord.client.Session) -> None:
        prompt = Prompt(time.monotonic())
        self.prompts.append(prompt)
        try:
            async with asyncio.timeout(limit(30.0)), session.prompt(f"at {self.draw.uniform(0.2, 1.5)}") as turn:
                async for _ in turn:
                    if not prompt.begun and turn.answer:
                        prompt.begun = time.monotonic()
            prompt.node = turn.answer.partition(":")[0]
            if turn.stop_reason != "end_turn" or not turn.answer.endswith("....."):
                prompt.failure = f"{turn.stop_reason}: {turn.answer}"
        except (accord.AccordError, TimeoutError) as error:
            prompt.failure = repr(error)
        prompt.ended = time.monotonic()


async def begins_nothing(port: int) -> None:
    async with httpx2.AsyncClient(timeout=limit(20.0)) as http:
        while (await http.get(f"http://127.0.0.1:{port}/ready")).status_code == 200:
            await asyncio.sleep(0.01)


async def trial(folder: Path, database: Database, seed: int) -> list[float]:
    """One drain; how long after the end of its last turn there each session had begun one at the other node."""
    draw = random.Random(seed)
    folder.mkdir()
    async with (
        fleet_of(
            folder, database.conninfo, "a", "b", lease_seconds=LEASE_SECONDS, arguments=("--drain", "30")
        ) as fleet,
        Balancer.running(cuts=False) as balancer,
    ):
        balancer.set("a", fleet.nodes["a"].port)
        clients = [
            Busy(
                number,
                f"{'ws' if number % 2 else 'http'}://127.0.0.1:{balancer.port}/acp",
                fleet.root,
                random.Random(seed * CLIENTS + number),
            )
            for number in range(CLIENTS)
        ]
        working = [asyncio.create_task(client.run()) for client in clients]
        async with asyncio.timeout(limit(30.0)):
            while not all(client.prompts and client.prompts[0].begun for client in clients):
                await asyncio.sleep(0.01)
        balancer.set("b", fleet.nodes["b"].port)
        await asyncio.sleep(draw.uniform(0.0, 1.5))  # the moment of the signal is what is drawn
        fleet.nodes["a"].signal(signal.SIGTERM)
        await begins_nothing(fleet.nodes["a"].port)
        asked = time.monotonic()
        assert await fleet.nodes["a"].wait() == 0
        took = time.monotonic() - asked
        await asyncio.sleep(BEYOND_SECONDS)
        for client in clients:
            client.is_over = True
        await asyncio.gather(*working)
    failures = [prompt.failure for client in clients for prompt in client.prompts if prompt.failure]
    assert failures == [], f"seed {seed}"
    assert took < limit(10.0), f"seed {seed}: the turns took 1.5 s at most"
    gaps: list[float] = []
    for client in clients:
        late = [prompt for prompt in client.prompts if prompt.sent > asked and prompt.node == "a"]
        assert late == [], f"seed {seed}: a prompt began after the signal"
        there = [prompt for prompt in client.prompts if prompt.node == "a"]
        here = [prompt for prompt in client.prompts if prompt.node == "b"]
        assert there
        assert here
        gaps.append(here[0].begun - max(there[-1].ended, asked))
    await check_log(database, clients)
    return gaps


async def check_log(database: Database, clients: list[Busy]) -> None:
    """The log says of each prompt what the client was told, once."""
    check_positions(rows_of(database))
    store = PostgresStore(database.conninfo)
    try:
        for client in clients:
            events = await store.read(client.session_id)
            asked = [each for each in Transcript(events).messages if each.speaker == "user"]
            ends = [each.stop_reason for each in events if isinstance(each, StateChanged) and each.state == "idle"]
            assert len(asked) == len(client.prompts)
            assert ends == ["end_turn"] * len(client.prompts)
    finally:
        await store.close()


@pytest.mark.parametrize(
    "trials",
    [
        pytest.param(1, marks=[pytest.mark.long, pytest.mark.timeout(limit(120))]),
        *(
            [pytest.param(TRIALS_BY_HAND, marks=[pytest.mark.long, pytest.mark.timeout(3600)])]
            if TRIALS_BY_HAND
            else []
        ),
    ],
)
async def test_busy_clients_lose_no_turn_while_their_node_drains(
    tmp_path: Path, database: Database, trials: int
) -> None:
    gaps: list[float] = []
    for seed in range(trials):
        found = await trial(tmp_path / str(seed), database, seed)
        print(f"seed {seed}: on the other node after {', '.join(f'{gap:.2f}' for gap in found)} s", flush=True)  # noqa: T201
        gaps += found
    print(f"{trials} drains with {CLIENTS} clients: at most {max(gaps):.2f} s from a turn's end to the next one")  # noqa: T201
    assert max(gaps) < limit(5.0)
