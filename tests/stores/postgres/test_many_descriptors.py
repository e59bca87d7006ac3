"""A process with more than a thousand sockets: the connections of a store are waited for as in any other."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from accord.stores.postgres.connection import PostgresConnection
from accord.stores.postgres.nodes import NodeTable
from tests.limits import limit
from tests.postgres import Database
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words

SOCKETS = 1_200


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < SOCKETS + 400:
        pytest.skip(f"this process may open {hard} files only: raise the limit (ulimit -Hn)")
    if soft != resource.RLIM_INFINITY and soft < SOCKETS + 400:
        resource.setrlimit(resource.RLIMIT_NOFILE, (SOCKETS + 400, hard))
    opened_now = [socket.socket() for _ in range(SOCKETS)]
    try:
        yield opened_now
    finally:
        for each in opened_now:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_beside_many_sockets_a_lease_is_renewed_as_often_as_ever(
    database: Database, sockets: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert max(each.fileno() for each in sockets) > 1023
    calls: Counter[str] = Counter()

    def counted(kind: type, name: str) -> None:
        real = getattr(kind, name)

        def call(*arguments: Any, **options: Any) -> Any:
            calls[name] += 1
            return real(*arguments, **options)

        monkeypatch.setattr(kind, name, call)

    counted(NodeTable, "renew")
    counted(PostgresConnection, "receive_pending")
    lease_seconds = limit(6.0)
    async with opened(database, "one", lease_seconds=lease_seconds) as store:
        await store.create(record("a"), owned=True)
        incarnation = store.incarnation
        watched: list[int] = []

        async def watch() -> None:
            async for events in store.watch("a"):
                watched.extend(position for position, _ in events)

        watching = asyncio.create_task(watch())
        await store.append("a", words(1))
        async with asyncio.timeout(limit(10.0)):
            while not watched:
                await asyncio.sleep(0.01)
            # The lease and the listener go on with other connections, of higher descriptors.
            database.cut("pid <> pg_backend_pid()")
            while not calls["renew"]:
                await asyncio.sleep(0.01)
        calls.clear()
        await asyncio.sleep(1.0)
        assert calls["renew"] <= 2
        assert calls["receive_pending"] <= 4
        assert store.incarnation == incarnation
        await store.append("a", words(1, start=1))
        async with asyncio.timeout(limit(10.0)):
            while watched != [1, 2]:
                await asyncio.sleep(0.01)
        watching.cancel()
