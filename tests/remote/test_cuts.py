"""Turns over links that are cut all the time: no update lost, none twice, order kept, every call answered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.serve import anyone, application
from accord.session.event import Noticed
from tests.limits import limit
from tests.remote.cutting_proxy import cutting_proxy
from tests.serve.in_process import running

UPDATES = 5000
QUESTIONS = 10
EDITIONS = pytest.mark.parametrize("edition", ["1", "2"])
TRANSPORTS = pytest.mark.parametrize("transport", ["ws", "http"])


class Counter:
    """An agent whose turn counts aloud, and asks, reads and writes on the way; `pause_seconds` makes it slow."""

    def __init__(self, pause_seconds: float) -> None:
        self.answers: list[str] = []
        self.read: list[str] = []
        self.agent = accord.Agent("counter", version="1", store=accord.MemoryStore())
        self._pause_seconds = pause_seconds
        self.agent.prompt(self._count)

    async def _count(self, turn: accord.agent.Turn) -> None:
        for number in range(UPDATES):
            await turn.say(f"{number} ")
            if number % 25 == 0:
                await asyncio.sleep(self._pause_seconds)
            if number % (UPDATES // QUESTIONS) == 0:
                await self._ask(turn, number)

    async def _ask(self, turn: accord.agent.Turn, number: int) -> None:
        async with turn.tool(f"Step {number}", kind="edit") as tool:
            answer = await turn.request_permission(tool)
            self.answers.append(f"{number} {answer.allowed}")
            await turn.files.write("note.txt", f"note {number}")
            self.read.append(await turn.files.read("note.txt"))


async def count_through(transport: str, edition: Any, folder: Path, cuts: int, pause_seconds: float) -> None:
    """Hold turns through the proxy until it has cut so often."""
    counter, asked = Counter(pause_seconds), list[str]()

    def permit(question: accord.client.PermissionQuestion) -> bool:
        asked.append(question.title)
        return True

    served = application(counter.agent, authenticate=anyone, root=folder)
    async with (
        running(served) as port,
        cutting_proxy(port, seed=18) as (proxy, proxy_port),
        accord.connect(
            f"{transport}://127.0.0.1:{proxy_port}/acp",
            edition=edition,
            offer=accord.client.Offer(terminals=False),
            permission=permit,
            deadlines=accord.Deadlines(start_seconds=limit(30.0), reconnect_seconds=limit(30.0)),
        ) as agent,
    ):
        session = await agent.new_session(folder)
        notices: list[str] = []
        session.listen(lambda event: notices.append(event.severity) if isinstance(event, Noticed) else None)
        proxy.begin()
        turns = 0
        while turns == 0 or proxy.cuts < cuts:
            turns += 1
            turn = await session.prompt("count")
            assert turn.stop_reason == "end_turn"
            assert turn.text.split() == [str(number) for number in range(UPDATES)]
        steps = list(range(0, UPDATES, UPDATES // QUESTIONS)) * turns
        assert counter.answers == [f"{number} True" for number in steps]
        assert counter.read == [f"note {number}" for number in steps]
        assert asked == [f"Step {number}" for number in steps]
        assert agent.respawns == 0
        assert "error" not in notices
        assert notices.count("info") > 0
        print(f"{transport}, edition {edition}: {turns} turns, {proxy.cuts} cuts")  # noqa: T201
        proxy.end()


@pytest.mark.rotated("edition")
@TRANSPORTS
@EDITIONS
async def test_nothing_is_lost_over_links_that_are_cut(transport: str, edition: str, tmp_path: Path) -> None:
    await count_through(transport, edition, tmp_path, cuts=5, pause_seconds=0.01)


@pytest.mark.long
@pytest.mark.rotated("edition", "transport")
@pytest.mark.timeout(900)
@TRANSPORTS
@EDITIONS
async def test_nothing_is_lost_over_a_hundred_cuts(transport: str, edition: str, tmp_path: Path) -> None:
    await count_through(transport, edition, tmp_path, cuts=100, pause_seconds=0.05)
