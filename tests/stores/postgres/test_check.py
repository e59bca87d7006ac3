"""The store in PostgreSQL keeps every promise of the interface."""

from __future__ import annotations

import re

from accord.stores import PostgresStore, Store, check_store
from tests.postgres import Database


async def test_the_store_passes_the_check(database: Database) -> None:
    async def make(name: str) -> Store:
        return PostgresStore(database.conninfo, schema=re.sub(r"\W", "_", name))

    await check_store(make)
