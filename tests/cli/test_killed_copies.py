"""`sessions import`, `fleet import` and `fleet export` that are killed: the second run makes whole what is not there.

The default run kills at chosen steps; `--long` kills each command 20 times at random moments, `--every` 200 times.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.cli.session_transfer import SessionHeader, write_session
from accord.session.event import Event
from accord.stores import PostgresStore, SqliteStore, Store
from accord.stores.interface import IS_DRAFT
from tests.cli.command import Accord
from tests.cli.test_sessions import listed
from tests.forked import ForkedProgram, accord_command
from tests.limits import limit
from tests.postgres import Database, PostgresServer
from tests.stores.sessions import record, words

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill")

SECONDS = limit(60.0)
FEW, MANY = 1200, 20_007
STATE = b'{"messages": []}'

VERBS = pytest.mark.parametrize("verb", ["sessions import", "fleet import", "fleet export"])


@pytest.fixture
def conninfo(request: pytest.FixtureRequest, verb: str) -> str:
    """A database for the commands that need one."""
    if verb == "sessions import":
        return ""
    database: Database = request.getfixturevalue("database")
    return database.conninfo


class Copy:
    """A command that copies sessions, and the places that it copies from and to."""

    def __init__(self, verb: str, folder: Path, conninfo: str, events: int) -> None:
        self.verb = verb
        self.conninfo = conninfo
        self.accord = Accord(folder)
        # Of several, a command that dies has whole ones behind it and others before it.
        self.counts = {"a": events} if verb == "sessions import" else {"a": 30, "b": events, "c": 30}
        self._source = folder / "source"
        if verb == "sessions import":
            header = SessionHeader(
                agent="demo",
                built_in=True,
                session="a",
                cwd="/work",
                title=None,
                prompt=None,
                created_at=1.0,
                updated_at=1.0,
                state="eyJtZXNzYWdlcyI6IFtdfQ==",
            )
            asyncio.run(write_session(self._source, header, self._pages()))
        else:
            asyncio.run(self._fill(SqliteStore(self._source) if verb == "fleet import" else PostgresStore(conninfo)))

    async def _pages(self) -> AsyncIterator[list[Event]]:
        yield words(self.counts["a"])

    async def _fill(self, store: Store) -> None:
        for name, count in self.counts.items():
            await store.create(record(name))
            await store.append(name, words(count))
            await store.patch(name, state=STATE)
        await store.close()

    @property
    def _file(self) -> Path:
        """The SQLite file that is copied into."""
        is_import = self.verb == "sessions import"
        return self.accord.home / ".local/state/accord/accord/sessions.db" if is_import else self.accord.cwd / "copy.db"

    @contextlib.asynccontextmanager
    async def target(self) -> AsyncIterator[Store]:
        store = PostgresStore(self.conninfo) if self.verb == "fleet import" else SqliteStore(self._file)
        try:
            yield store
        finally:
            await store.close()

    @property
    def words(self) -> list[str]:
        return [*self.verb.split(), str(self._file if self.verb == "fleet export" else self._source)]

    def start(self, main: Callable[[], int] | None = None) -> ForkedProgram:
        env = {**self.accord.env, "ACCORD_STORE": self.conninfo}
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return ForkedProgram(main or accord_command(), ["accord", *self.words], cwd=self.accord.cwd, env=env, **pipes)

    def run(self) -> None:
        result = self.accord.end_of(self.start())
        assert (result.status, result.stderr) == (0, "")

    def kill(self, seconds: float) -> bool:
        """Start it and kill it so much later; whether it was still at work."""
        with self.start() as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            process.kill()
            process.communicate(timeout=SECONDS)
        return process.returncode == -signal.SIGKILL

    def expect_whole(self, *, all_of_them: bool) -> None:
        """What is listed is whole."""

        async def check() -> None:
            async with self.target() as store:
                found = (await store.list_sessions()).records
                for one in found:
                    count = self.counts[one.id]
                    assert one.events == count
                    assert await store.read(one.id) == words(count)
                    assert await store.state(one.id) == STATE
                assert not all_of_them or {one.id for one in found} == set(self.counts)

        asyncio.run(check())
        if all_of_them:
            assert self.drafts() == 0

    def drafts(self) -> int:
        sql = f"SELECT count(*) FROM {{}} WHERE {IS_DRAFT}"  # noqa: S608 - a constant
        if self.verb == "fleet import":
            # Made by the run before the first kill.
            return int(PostgresServer(self.conninfo).run(sql.format("accord.sessions"))[0][0])
        with contextlib.closing(sqlite3.connect(self._file)) as connection:
            return int(connection.execute(sql.format("sessions")).fetchone()[0])

    def empty(self) -> None:
        """Forget what was copied."""

        async def empty() -> None:
            async with self.target() as store:
                for name in self.counts:
                    await store.delete(name)

        asyncio.run(empty())
        for path in (self.accord.home / ".local/state/accord").glob("sessions.db*"):
            if path.is_file():
                path.unlink()


def dying(method: str, times: int, *, behind: bool) -> Callable[[], int]:
    """The command, which is killed at a call of a method of its store, before that or behind it."""

    def main() -> int:
        calls = 0
        for kind in (SqliteStore, PostgresStore):

            def patch(work: Any) -> Any:
                async def call(*arguments: Any) -> Any:
                    nonlocal calls
                    calls += 1
                    result = await work(*arguments) if behind or calls < times else None
                    if calls == times:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return result

                return call

            setattr(kind, method, patch(getattr(kind, method)))
        return accord_command()()

    return main


@VERBS
@pytest.mark.parametrize(
    ("method", "times", "behind"), [("append", 2, True), ("publish", 1, False), ("publish", 1, True)]
)
def test_a_copy_that_is_killed_at_a_step_is_whole_behind_the_second_run(
    tmp_path: Path,
    conninfo: str,
    verb: str,
    method: str,
    times: int,
    behind: bool,  # noqa: FBT001
) -> None:
    copy = Copy(verb, tmp_path, conninfo, FEW)
    with copy.start(dying(method, times, behind=behind)) as process:
        process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGKILL
    copy.expect_whole(all_of_them=False)
    copy.run()
    copy.expect_whole(all_of_them=True)
    if verb == "sessions import":
        assert [row["session"] for row in listed(copy.accord)] == ["a"]
        assert copy.accord.end_of(copy.start()).status == 2
    else:
        copy.run()


@pytest.mark.parametrize("verb", ["fleet import", "fleet export"])
@pytest.mark.parametrize("there", [3, pytest.param(50, marks=pytest.mark.long)])
def test_a_session_with_another_number_of_events_is_named_and_left_and_the_others_are_copied(
    tmp_path: Path, conninfo: str, verb: str, there: int
) -> None:
    copy = Copy(verb, tmp_path, conninfo, FEW)

    async def make() -> None:
        async with copy.target() as store:
            await store.create(record("a"))
            # Not the beginning of what is copied: an export would continue that.
            await store.append("a", words(there + 1)[1:])

    async def counts() -> dict[str, int]:
        async with copy.target() as store:
            return {one.id: one.events for one in (await store.list_sessions()).records}

    asyncio.run(make())
    for _ in range(2):
        result = copy.accord.end_of(copy.start())
        assert result.status == 1
        assert "a is there already" in result.stderr
        assert asyncio.run(counts()) == {**copy.counts, "a": there}


@VERBS
def test_of_two_copies_at_the_same_time_none_takes_a_part_for_the_whole(
    tmp_path: Path, conninfo: str, verb: str
) -> None:
    copy = Copy(verb, tmp_path, conninfo, FEW)
    results = [copy.accord.end_of(each) for each in [copy.start() for _ in range(2)]]
    assert min(result.status for result in results) == 0
    copy.expect_whole(all_of_them=True)


@pytest.mark.parametrize("verb", ["sessions import", "fleet import"])
def test_the_progress_of_a_copy_is_shown_on_a_terminal(tmp_path: Path, conninfo: str, verb: str) -> None:
    copy = Copy(verb, tmp_path, conninfo, FEW)
    with copy.accord.terminal(*copy.words, ACCORD_STORE=conninfo) as screen:
        screen.expect(f"512 of {FEW} events")
        assert screen.status() == 0


def kill_at_random(copy: Copy, kills: int, seed: int) -> int:
    """Kill a command so often, and make whole after each kill what that has left; how often that was a draft."""
    chance = random.Random(seed)
    seconds = timed(copy.run)
    copy.expect_whole(all_of_them=True)
    killed = halves = tries = 0
    while killed < kills:
        tries += 1
        assert tries < kills * 3, f"seed {seed}: {killed} were killed"
        copy.empty()
        at = chance.random() * seconds
        with told(f"try {tries} of seed {seed}, killed after {at:.4f} s"):
            killed += copy.kill(at)
            copy.expect_whole(all_of_them=False)
            halves += copy.drafts()
            if not is_done(copy):
                seconds = timed(copy.run)
            copy.expect_whole(all_of_them=True)
    sys.stdout.write(f"{copy.verb}: seed {seed}, {killed} kills, {halves} of them in the middle of a session\n")
    return halves


def timed(work: Callable[[], None]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def is_done(copy: Copy) -> bool:
    """Whether an import of one session is done with: a second one would be refused."""
    return copy.verb == "sessions import" and bool(listed(copy.accord))


@contextlib.contextmanager
def told(where: str) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        error.add_note(where)
        raise


@VERBS
@pytest.mark.long
@pytest.mark.timeout(600)
def test_twenty_kills_at_random_moments_leave_no_partial_session(tmp_path: Path, conninfo: str, verb: str) -> None:
    kill_at_random(Copy(verb, tmp_path, conninfo, MANY), 20, random.randrange(10**6))


@VERBS
@pytest.mark.every
@pytest.mark.timeout(1800)
def test_two_hundred_kills_at_random_moments_leave_no_partial_session(tmp_path: Path, conninfo: str, verb: str) -> None:
    assert kill_at_random(Copy(verb, tmp_path, conninfo, MANY), 200, 30)
