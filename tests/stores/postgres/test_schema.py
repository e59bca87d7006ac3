"""The tables: made once by many at once, brought up from an earlier step, refused when newer or another program's."""

from __future__ import annotations

import asyncio

import pytest

from accord.errors import StoreError
from accord.stores import PostgresStore
from accord.stores.postgres import schema
from tests.postgres import Database
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words
from tests.tables import rows


async def reason(store: PostgresStore) -> str:
    with pytest.raises(StoreError) as caught:
        await store.open()
    return caught.value.reason


def version(database: Database) -> object:
    return database.run("select version, usable_since from accord.format")


def columns(database: Database) -> list[tuple[object, ...]]:
    return database.run(
        "select table_name, column_name, data_type from information_schema.columns where table_schema = 'accord' "
        "order by 1, 2"
    )


async def test_many_that_start_at_once_make_the_tables_once(database: Database) -> None:
    stores = [PostgresStore(database.conninfo, node=f"node{number}") for number in range(5)]
    await asyncio.gather(*(store.open() for store in stores))
    assert len(await stores[0].nodes()) == 5
    assert version(database) == [(schema.SCHEMA_VERSION, 1)]
    await asyncio.gather(*(store.close() for store in stores))


async def test_tables_of_an_earlier_step_are_brought_up_and_keep_what_they_have(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "SCHEMA_VERSION", 1)
        async with opened(database) as store:
            await store.create(record("a"))
            await store.append("a", words(3))
    assert version(database) == [(1, 1)]
    async with opened(database) as store:
        assert await store.read("a") == words(3)
        assert [found.id for found in (await store.search_sessions("word")).records] == ["a"]
    assert version(database) == [(schema.SCHEMA_VERSION, 1)]
    brought_up = columns(database)
    database.run("drop schema accord cascade")
    async with opened(database) as store:
        await store.open()
    assert columns(database) == brought_up


async def test_tables_that_this_code_may_not_use_are_refused_and_others_used(database: Database) -> None:
    async with opened(database) as store:
        await store.create(record("a"))
    # A later step that older code can live with: a fleet of mixed versions.
    database.run("update accord.format set version = 99")
    async with opened(database) as store:
        assert await store.append("a", words(1)) == 1
    database.run("update accord.format set usable_since = 99")
    async with opened(database) as store:
        with pytest.raises(StoreError, match="update Accord") as caught:
            await store.open()
        assert caught.value.reason == "newer"


async def test_tables_of_another_program_are_left_alone(database: Database) -> None:
    database.run("create schema accord")
    database.run("create table accord.sessions (x int)")
    async with opened(database) as store:
        assert await reason(store) == "foreign"
    assert database.run("select count(*) from information_schema.tables where table_schema = 'accord'") == [(1,)]


async def test_schemas_of_one_database_are_apart(database: Database) -> None:
    async with opened(database, schema="select") as one, opened(database) as other:
        await one.create(record("a"))
        assert not await other.exists("a")


@rows("name", ["", "a b", "a;b", 'a"b', "A", "x" * 40])
def test_a_schema_has_an_ordinary_name(name: str) -> None:
    with pytest.raises(ValueError, match="schema"):
        PostgresStore("dbname=x", schema=name)


@rows("options", [{"lease_seconds": 0}, {"patience_seconds": -1}])
def test_times_are_positive(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        PostgresStore("dbname=x", **options)  # type: ignore[arg-type]
