"""Databases that older code made open after every later change; one of a later code is refused (see test_database)."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.errors import StoreError
from accord.stores import SqliteStore
from accord.stores.database import Database
from accord.stores.schema import SCHEMA_VERSION
from tests.limits import limit
from tests.stores.fixtures.fill import EXPECTED
from tests.stores.sessions import words
from tests.stores.test_processes import Process

FIXTURES = sorted(Path(__file__).with_name("fixtures").glob("sessions-*.sqlite"))
OLDER = [fixture for fixture in FIXTURES if int(fixture.stem.partition("-")[2]) < SCHEMA_VERSION]


@pytest.fixture(params=FIXTURES, ids=lambda fixture: fixture.stem)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a database that was made with that schema."""
    copy = tmp_path / "sessions.db"
    shutil.copyfile(request.param, copy)
    return copy


def version(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def tables(path: Path) -> dict[str, list[Any]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master ORDER BY name")]
        return {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in names}


def test_every_schema_has_a_fixture() -> None:
    assert [int(fixture.stem.partition("-")[2]) for fixture in FIXTURES] == list(range(1, SCHEMA_VERSION + 1))


async def test_what_older_code_kept_is_read(path: Path) -> None:
    store = SqliteStore(path)
    for session_id, (record, events, state) in EXPECTED.items():
        assert await store.get(session_id) == record
        assert await store.read(session_id) == events
        assert await store.state(session_id) == state
    listed = (await store.list_sessions()).records
    assert [record.id for record in listed] == ["talk", "\ud800", "cut"]
    await store.close()
    assert version(path) == SCHEMA_VERSION


async def test_what_older_code_kept_is_owned_and_continued(path: Path) -> None:
    store = SqliteStore(path)
    record, events, _ = EXPECTED["talk"]
    assert await store.acquire("talk")
    assert await store.append("talk", words(1)) == record.events + 1
    await store.fork("talk", record.__class__("copy", "/work", 1.0, 1.0))
    assert await store.read("copy") == [*events, *words(1)]
    await store.delete("talk")
    await store.close()


async def test_a_database_that_was_brought_up_has_the_tables_of_a_new_one(path: Path, tmp_path: Path) -> None:
    for file in (path, tmp_path / "new.db"):
        store = SqliteStore(file)
        await store.list_sessions()
        await store.close()
    assert tables(path) == tables(tmp_path / "new.db")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes as POSIX has them")
def test_processes_that_bring_up_one_database_at_once_never_collide(path: Path) -> None:
    names = [f"writer{number}" for number in range(4)]
    processes = [Process("share", path, name, 5) for name in names]
    assert [process.line() for process in processes] == ["ready"] * len(names)
    for process in processes:
        assert process.child.stdin is not None
        process.child.stdin.write(b"go\n")
    positions = sorted(int(line) for process in processes for line in process.lines())
    assert [process.end() for process in processes] == [0] * len(names)
    assert positions == list(range(1, 5 * len(names) + 1))
    database = Database.open(path, 1.0)
    assert database.read("talk", 0, None) == EXPECTED["talk"][1]
    database.close()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fixture", OLDER, ids=lambda fixture: fixture.stem)
def test_a_migration_that_is_broken_off_anywhere_leaves_the_database_as_it_was(fixture: Path, tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    said: list[str] = []

    class Dying(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> Any:
            said.append(sql)
            if len(said) == dies_at:
                raise Killed
            return super().execute(sql, *values)

    connect = sqlite3.connect
    dies_at = 0
    steps = 0
    while True:
        path = tmp_path / f"{steps}.db"
        shutil.copyfile(fixture, path)
        said.clear()
        steps += 1
        dies_at = steps
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite3, "connect", lambda *args, **options: connect(*args, factory=Dying, **options))
            try:
                Database.open(path, 1.0).close()
            except Killed:
                done = False
            else:
                done = True
        # Whole or not at all, and the next one finishes it.
        expected = tables(path)["sessions"]
        assert (version(path) == SCHEMA_VERSION) == ("principal" in [column[1] for column in expected])
        Database.open(path, 1.0).close()
        assert version(path) == SCHEMA_VERSION
        if done:
            break
    assert any(sql.startswith("ALTER") for sql in said)
    assert steps > said.index("COMMIT")


async def test_a_later_schema_is_refused_in_one_sentence(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    store = SqliteStore(path)
    for call in (store.list_sessions(), store.acquire("talk")):
        with pytest.raises(StoreError) as caught:
            await call
        assert caught.value.reason == "newer"
        assert "\n" not in str(caught.value)
    await asyncio.wait_for(store.close(), limit(10))
    assert path.read_bytes() == before
