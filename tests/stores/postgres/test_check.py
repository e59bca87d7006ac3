"""The store in PostgreSQL keeps every promise of the interface."""

from __future__ import annotations

from accord.stores import PostgresStore, Store, check_store
from tests.postgres import Database


async def test_the_store_passes_the_check(database: Database) -> None:
    async def make(name: str) -> Store:
        return PostgresStore(database.conninfo, schema=name)

    async def make_rival(name: str) -> Store:
        return PostgresStore(database.conninfo, schema=name, node="rival")

    await check_store(make, make_rival=make_rival)
