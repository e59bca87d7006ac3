"""A real pooler before PostgreSQL: in session mode all works, in transaction mode the lease needs the server itself."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from accord.errors import StoreError
from accord.stores import PostgresStore, check_store
from accord.stores.interface import Store
from tests.limits import limit
from tests.postgres import Database, server_user
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(180),
    pytest.mark.skipif(PROGRAM is None, reason="a pooler is missing: apt-get install pgbouncer"),
]


class Pooler:
    """A pgbouncer before one database."""

    def __init__(self, settings: Path, user: str | None, conninfo: str) -> None:
        self._settings = settings
        self._user = user
        self.conninfo = conninfo
        self.start()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        assert PROGRAM is not None
        command = [PROGRAM, "--quiet", str(self._settings)]
        self._process = subprocess.Popen(command, user=self._user, cwd="/", stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + limit(20.0)
        while True:
            assert self._process.poll() is None, "pgbouncer does not start"
            try:
                psycopg.connect(self.conninfo, connect_timeout=2).close()
            except psycopg.OperationalError:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def pooled(database: Database, mode: str, *, size: int = 20) -> Iterator[Pooler]:
    host, server_port = database.endpoint()
    # Neither may it run as root, nor may others enter the folder of the server's socket.
    user = None
    if os.geteuid() == 0:
        user = Path(host).owner() if host.startswith("/") else server_user()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="accord-pooler-") as name:
        folder = Path(name)
        (folder / "users").write_text('"postgres" ""\n', encoding="utf-8")
        (folder / "settings").write_text(
            "[databases]\n"
            f"* = host={host} port={server_port}\n"
            "[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {folder / 'users'}\n"
            f"pool_mode = {mode}\ndefault_pool_size = {size}\nlogfile =\npidfile =\n",
            encoding="utf-8",
        )
        if user is not None:
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, user)
        pooler = Pooler(folder / "settings", user, make_conninfo(database.conninfo, host="127.0.0.1", port=port))
        try:
            yield pooler
        finally:
            pooler.kill()


@pytest.mark.parametrize("mode", ["session", "transaction"])
async def test_a_store_behind_a_pooler_passes_the_check(database: Database, mode: str) -> None:
    with pooled(database, mode) as pooler:
        direct = database.conninfo if mode == "transaction" else None

        async def make(name: str) -> Store:
            return PostgresStore(pooler.conninfo, schema=name, direct=direct)

        await check_store(make)


async def test_in_transaction_mode_whatever_needs_no_owner_works_without_another_address(database: Database) -> None:
    with pooled(database, "transaction", size=2) as pooler:
        async with opened(pooler.conninfo) as store:
            await store.create(record("a"))
            await asyncio.gather(*(store.append("a", words(1)) for _ in range(50)))
            assert len(await store.read("a")) == 50
            assert [found.id for found in (await store.search_sessions("word")).records] == ["a"]
            assert len((await store.list_sessions()).records) == 1
            await store.delete("a")


async def test_in_transaction_mode_the_lease_and_watchers_ask_for_the_server_itself(database: Database) -> None:
    with pooled(database, "transaction") as pooler:
        async with opened(pooler.conninfo, "one") as store:
            with pytest.raises(StoreError, match="direct=") as caught:
                await store.open()
            assert caught.value.reason == "pooled"
            with pytest.raises(StoreError) as caught:
                await store.create(record("a"), owned=True)
            assert caught.value.reason == "pooled"
            await store.create(record("b"))
            with pytest.raises(StoreError) as caught:
                await anext(store.watch("b"))
            assert caught.value.reason == "pooled"
        async with opened(pooler.conninfo, "one", direct=database.conninfo) as store:
            await store.open()
            await store.create(record("a"), owned=True)
            assert await store.append("a", words(2)) == 2
            watching = store.watch("a")
            assert [position for position, _ in await anext(watching)] == [1, 2]
            await watching.aclose()  # type: ignore[attr-defined]


async def test_in_session_mode_a_lease_holds_and_outlives_a_restart_of_the_pooler(database: Database) -> None:
    with pooled(database, "session") as pooler:
        async with opened(pooler.conninfo, "one", lease_seconds=60.0) as store, opened(database, "other") as other:
            await store.create(record("a"), owned=True)
            await store.append("a", words(1))
            with pytest.raises(StoreError) as caught:
                await other.acquire("a")
            assert caught.value.reason == "in_use"
            first = store.incarnation
            await asyncio.to_thread(pooler.kill)
            await asyncio.to_thread(pooler.start)
            assert await store.append("a", words(1, start=1)) == 2
            assert store.incarnation == first


async def test_a_pool_that_is_smaller_than_a_store_wants_is_reported_in_time(database: Database) -> None:
    with pooled(database, "session", size=1) as pooler:
        async with opened(pooler.conninfo, "one", patience_seconds=1.0) as store:
            began = time.monotonic()
            with pytest.raises(StoreError) as caught:
                await store.open()
            assert caught.value.reason in {"slow", "away"}
            assert time.monotonic() - began < limit(15.0)
