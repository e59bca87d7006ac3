"""Statements that run all the time: values in binary, prepared on the server where it is the connection's own."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from psycopg.conninfo import make_conninfo

from accord.stores.postgres.connection import DatabaseAddress, PersistentConnection, PostgresConnection
from accord.stores.postgres.encoding import (
    FrequentStatement,
    array_of_bytes,
    array_of_numbers,
    array_of_texts,
    array_of_truths,
)
from tests.limits import limit
from tests.postgres import Database
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words

SUM = FrequentStatement("sum", "select sum(number)::bigint from unnest($1::bigint[]) as given(number)")
PREPARED = "select name from pg_prepared_statements"


@pytest.fixture
def address(database: Database) -> DatabaseAddress:
    return DatabaseAddress(database.conninfo, limit(10.0))


@pytest.fixture
def connection(address: DatabaseAddress) -> Iterator[PostgresConnection]:
    connected = address.connect()
    connected.set_deadline(time.monotonic() + limit(30.0))
    yield connected
    connected.close()


@pytest.mark.parametrize(
    ("kind", "array", "expected"),
    [
        ("text", array_of_texts(["", "one", "zwölf 🦉", "{a,b}"]), ["", "one", "zwölf 🦉", "{a,b}"]),
        ("bytea", array_of_bytes([b"", b"\x00\xff\n"]), [b"", b"\x00\xff\n"]),
        ("bigint", array_of_numbers([0, None, -1, 2**63 - 1]), [0, None, -1, 2**63 - 1]),
        ("boolean", array_of_truths([True, False]), [True, False]),
        ("text", array_of_texts([]), []),
    ],
)
def test_the_server_reads_an_array_as_it_was_given(
    connection: PostgresConnection, kind: str, array: bytes, expected: list[object]
) -> None:
    connection.rows(f"create temporary table given (number bigint, value {kind})")
    keep = f"insert into given select place, value from unnest($1::{kind}[]) with ordinality as a(value, place)"  # noqa: S608
    assert connection.rows_frequent(FrequentStatement("keep", keep), [array]) == []
    assert [row[0] for row in connection.rows("select value from given order by number")] == expected


def test_a_statement_is_prepared_once_for_a_connection(connection: PostgresConnection) -> None:
    for numbers in ([1, 2], [3, 4], [5]):
        assert connection.rows_frequent(SUM, [array_of_numbers(numbers)]) == [[str(sum(numbers)).encode()]]
    assert connection.rows(PREPARED) == [(SUM.name.decode(),)]


def test_nothing_is_prepared_where_a_pooler_may_change_the_server(address: DatabaseAddress) -> None:
    class Pooled(PostgresConnection):
        """As through a pooler: the server announced itself under another number."""

        announced_process = 0

    connected = Pooled(address.connect()._connected)
    try:
        assert connected.rows_frequent(SUM, [array_of_numbers([1, 2])]) == [[b"3"]]
        assert connected.rows(PREPARED) == []
    finally:
        connected.close()


def test_a_prepared_statement_that_is_gone_is_prepared_on_another_connection(address: DatabaseAddress) -> None:
    connecting = PersistentConnection(address, limit(10.0))
    tries: list[bool] = []

    def add(connection: PostgresConnection, again: bool) -> object:  # noqa: FBT001 - the form of a job
        tries.append(again)
        return connection.rows_frequent(SUM, [array_of_numbers([1, 2])])

    try:
        assert connecting.run(add) == [[b"3"]]
        connecting.run(lambda connection, _: connection.rows("deallocate all"))
        assert connecting.run(add) == [[b"3"]]
        assert tries == [False, False, True]
    finally:
        connecting.close()


async def test_a_session_with_more_than_a_row_of_events_is_appended_beside_others(database: Database) -> None:
    async with opened(database) as store:
        for name in ("large", "small"):
            await store.create(record(name), owned=True)
            await store.append(name, words(1))
        large = words(3, start=1, name="word " * 40_000)
        tickets = [store.queue("small", words(1, start=1)), store.queue("large", large)]
        tickets += [store.queue("small", words(1, start=2)), store.queue("large", words(1, start=4))]
        await store.commit("large", tickets[-1])
        await store.commit("small", tickets[-2])
        assert await store.read("small") == words(3)
        assert await store.read("large") == [*words(1), *large, *words(1, start=4)]
        sql = "select s.id, e.last, e.count from accord.events e join accord.sessions s on s.number = e.session"
        rows = database.run(sql)
        assert {row[1:] for row in rows if row[0] == "large"} == {(1, 1), (3, 2), (5, 2)}
        assert {row[1:] for row in rows if row[0] == "small"} == {(1, 1), (3, 2)}


async def test_names_are_kept_whatever_encoding_the_connection_string_asks_for(database: Database) -> None:
    async with opened(make_conninfo(database.conninfo, client_encoding="LATIN1")) as store:
        await store.create(record("🦉"), owned=True)
        assert await store.append("🦉", words(2)) == 2
        assert await store.read("🦉") == words(2)
