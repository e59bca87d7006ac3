"""The store at a place that a test gives to a program: the path of a SQLite file, or a connection string.

The fixture `place` (tests/conftest.py) makes one. `IN_BOTH_STORES` runs a test with a SQLite file and with PostgreSQL;
of `IN_BOTH_STORES_LONG` the latter is left to the long run.
"""

from __future__ import annotations

import os

import pytest

from accord.stores import PostgresStore, SqliteStore, Store

__all__ = ["IN_BOTH_STORES", "IN_BOTH_STORES_LONG", "LEASE_SECONDS", "is_database", "open_place"]

LEASE_SECONDS = float(os.environ.get("ACCORD_TEST_LEASE", "3"))

IN_BOTH_STORES = pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
IN_BOTH_STORES_LONG = pytest.mark.parametrize(
    "place", ["sqlite", pytest.param("postgres", marks=pytest.mark.long)], indirect=True
)


def is_database(place: str) -> bool:
    """Whether it is a connection string."""
    return "dbname=" in place


def open_place(place: str, node: str = "") -> Store:
    if is_database(place):
        # A process may be told another one by its environment, also if it is a fork.
        lease_seconds = float(os.environ.get("ACCORD_TEST_LEASE", LEASE_SECONDS))
        return PostgresStore(place, node=node, lease_seconds=lease_seconds, patience_seconds=30.0)
    return SqliteStore(place, busy_seconds=60.0)
