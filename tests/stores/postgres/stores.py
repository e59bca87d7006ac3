"""Stores of nodes for the tests of this room."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from accord.stores import PostgresStore
from tests.limits import limit
from tests.postgres import Database

__all__ = ["opened"]


@contextlib.asynccontextmanager
async def opened(place: Database | str, node: str = "", **options: Any) -> AsyncIterator[PostgresStore]:
    """A store that is closed again; what it could not keep is no failure here."""
    conninfo = place if isinstance(place, str) else place.conninfo
    options.setdefault("patience_seconds", limit(10.0))
    store = PostgresStore(conninfo, node=node, **options)
    try:
        yield store
    finally:
        with contextlib.suppress(Exception):
            await store.close()
