"""One fleet of two nodes for all tests that leave both alive: to start it costs more than most of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from accord.serve import TokenFile
from tests.fleet.nodes import TestFleet, fleet_of
from tests.limits import limit
from tests.postgres import Database, PostgresServer


@dataclass
class SharedFleet:
    """Two nodes, `a` and `b`, with the principals ada and bob."""

    fleet: TestFleet
    database: Database
    tokens: dict[str, str]

    @property
    def root(self) -> str:
        return self.fleet.root

    def address(self, node: str, scheme: str = "ws") -> str:
        return f"{scheme}://127.0.0.1:{self.fleet.nodes[node].port}/acp"

    def epoch(self, session_id: str) -> int:
        """How often the session was claimed."""
        return int(self.database.run("select epoch from accord.sessions where id = %s", [session_id])[0][0])

    def owner(self, session_id: str) -> str:
        """The name of the node that owns the session."""
        sql = """select n.name from accord.sessions s join accord.nodes n on n.incarnation = s.owner
            where s.id = %s and n.until > clock_timestamp()"""
        rows = self.database.run(sql, [session_id])
        return rows[0][0] if rows else ""


@pytest.fixture(scope="package")
def pair(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedFleet]:
    """The fleet; its loop runs in a thread, because every test has a loop of its own."""
    folder: Path = tmp_path_factory.mktemp("fleet")
    tokens = {name: TokenFile.add(folder / "tokens.json", name) for name in ("ada", "bob")}
    started: list[SharedFleet] = []
    is_started, is_over = threading.Event(), threading.Event()

    async def serve() -> None:
        with postgres_server.database() as database:
            # A long lease: no test here waits for its end, and a busy machine must not lose it.
            async with fleet_of(
                folder, database.conninfo, "a", "b", lease_seconds=20.0, arguments=("--token-file", "tokens.json")
            ) as fleet:
                started.append(SharedFleet(fleet, database, tokens))
                is_started.set()
                while not is_over.is_set():
                    await asyncio.sleep(0.1)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    # Also where an interrupt comes before the first test.
    try:
        assert is_started.wait(limit(90.0))
        yield started[0]
    finally:
        is_over.set()
        thread.join(limit(60.0))
