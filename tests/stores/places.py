"""The store at a place that a test gives to a program: the path of a SQLite file, or a connection string."""

from __future__ import annotations

import os

from accord.stores import PostgresStore, SqliteStore, Store

__all__ = ["LEASE_SECONDS", "open_place"]

LEASE_SECONDS = float(os.environ.get("ACCORD_TEST_LEASE", "3"))


def open_place(place: str, node: str = "") -> Store:
    if "dbname=" in place:
        return PostgresStore(place, node=node, lease_seconds=LEASE_SECONDS, patience_seconds=30.0)
    return SqliteStore(place, busy_seconds=60.0)
