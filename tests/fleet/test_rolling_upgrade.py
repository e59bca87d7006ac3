"""A fleet of an earlier commit and this one together: nodes are replaced one after the other, and no prompt is lost.

`ACCORD_UPGRADE_FROM` names the earlier commit, of this repository. Without it this commit is the earlier one, which
tries the replacement itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from accord.stores import PostgresStore
from tests.fleet.balancer import Balancer
from tests.fleet.conversations import Conversation, all_answer
from tests.fleet.nodes import fleet_of
from tests.fleet.test_kills import check_positions, check_texts, rows_of
from tests.limits import limit
from tests.postgres import Database

ROOT = Path(__file__).parents[2]
SESSIONS = 12
LEASE_SECONDS = 5.0


def earlier_source(folder: Path) -> str:
    """The source of the earlier commit, for `PYTHONPATH`."""
    reference = os.environ.get("ACCORD_UPGRADE_FROM", "HEAD")
    archive = subprocess.run(["git", "archive", reference, "src"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return str(folder / "src")


@pytest.mark.long
@pytest.mark.timeout(limit(300))
async def test_nodes_of_two_versions_serve_together_and_no_prompt_is_lost(tmp_path: Path, database: Database) -> None:
    folder = tmp_path / "earlier"
    folder.mkdir()
    source = earlier_source(folder)
    async with (
        fleet_of(tmp_path, database.conninfo, lease_seconds=LEASE_SECONDS) as fleet,
        Balancer.running(cuts=False) as balancer,
    ):
        names = ("a", "b", "c")
        fleet.python = dict.fromkeys(names, source)
        for node in await asyncio.gather(*(fleet.start(name) for name in names)):
            balancer.set(node.name, node.port)
        conversations = [
            Conversation(
                number, f"{'ws' if number % 2 else 'http'}://127.0.0.1:{balancer.port}/acp", fleet.root, limit(30.0)
            )
            for number in range(SESSIONS)
        ]
        talking = [asyncio.create_task(each.run()) for each in conversations]
        try:
            await all_answer(conversations, time.monotonic(), 60.0)
            for name in names:
                fleet.nodes[name].signal(signal.SIGTERM)
                assert await fleet.nodes[name].wait() == 0
                del fleet.python[name]
                node = await fleet.start(name)
                balancer.set(name, node.port)
                await all_answer(conversations, time.monotonic(), 60.0)
        finally:
            for task in talking:
                task.cancel()
            await asyncio.gather(*talking, return_exceptions=True)
        for node in fleet.nodes.values():
            node.signal(signal.SIGTERM)
        await asyncio.gather(*(node.wait() for node in fleet.nodes.values()))
    check_positions(rows_of(database))
    store = PostgresStore(database.conninfo)
    try:
        await check_texts(conversations, store)
    finally:
        await store.close()
    answered, failed = (
        sum(len(each.answered) for each in conversations),
        sum(len(each.failed) for each in conversations),
    )
    print(f"{answered} prompts answered, {failed} failed with an error while three nodes were replaced")  # noqa: T201
    if "ACCORD_UPGRADE_FROM" not in os.environ:
        # An earlier commit may cut turns when it drains.
        assert [each.failed for each in conversations if each.failed] == []
    assert [tag for each in conversations for tag in each.hung] == []
    assert [answer for each in conversations for answer in each.wrong] == []
