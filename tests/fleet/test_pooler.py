"""Nodes behind a real pooler in transaction mode: they own sessions, relay them, and take over those of a dead one."""

from __future__ import annotations

from pathlib import Path

import pytest

import accord
from tests.fleet.nodes import TOKEN, fleet_of
from tests.fleet.talking import answer_to
from tests.postgres import Database
from tests.stores.postgres.test_pooler import PROGRAM, pooled

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(180),
    pytest.mark.skipif(PROGRAM is None, reason="a pooler is missing: apt-get install pgbouncer"),
]


async def test_a_fleet_behind_a_transaction_pooler_fails_over(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_STORE_DIRECT", database.conninfo)
    with pooled(database, "transaction", size=4) as pooler:
        async with fleet_of(tmp_path, pooler.conninfo, "a", "b") as fleet:
            addresses = {name: f"ws://127.0.0.1:{node.port}/acp" for name, node in fleet.nodes.items()}
            async with accord.connect(addresses["a"], token=TOKEN) as at_a:
                session = await at_a.new_session(cwd=fleet.root)
                assert await answer_to(session, "one") == "You said: one"
                async with accord.connect(addresses["b"], token=TOKEN) as at_b:
                    relayed = await at_b.load_session(session.id, cwd=fleet.root)
                    assert await answer_to(relayed, "two") == "You said: two"
                await fleet.nodes["a"].kill()
            async with accord.connect(addresses["b"], token=TOKEN) as at_b:
                again = await at_b.load_session(session.id, cwd=fleet.root)
                assert await answer_to(again, "three") == "You said: three"


async def test_a_node_that_needs_the_server_itself_says_how_to_name_it(tmp_path: Path, database: Database) -> None:
    with pooled(database, "transaction") as pooler:
        async with fleet_of(tmp_path, pooler.conninfo) as fleet:
            node = await fleet.spawn("a")
            assert await node.wait() != 0
            assert any("direct" in line for line in node.log), node.log
