"""The leases of nodes on one PostgreSQL: real processes that are killed, stopped past their lease, and of one name."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator

import psycopg
import pytest

from tests.limits import limit
from tests.postgres import Database
from tests.stores.places import LEASE_SECONDS
from tests.stores.test_processes import PATIENCE_SECONDS
from tests.stores.test_two_processes import Holder

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them"),
    pytest.mark.timeout(120),
]


@pytest.fixture
def holders(database: Database) -> Iterator[tuple[Holder, Holder]]:
    """Two nodes on one database that has the session `a`."""
    one, other = Holder(database.conninfo, "one"), Holder(database.conninfo, "other")
    assert one.do("create a") == "None"
    yield one, other
    for holder in (one, other):
        # Also ends one that is stopped.
        holder.child.kill()
        holder.end()


def until_taken(holder: Holder, seconds: float, session: str = "a") -> float:
    """Ask for a session until it is given, for so long at most; returns the seconds."""
    start = time.monotonic()
    while holder.do(f"acquire {session}") != "True":
        assert time.monotonic() - start < seconds, "a session that nobody owns is refused"
        time.sleep(0.05)
    return time.monotonic() - start


def epochs(database: Database) -> list[tuple[int, int, int]]:
    """The epoch, first and last position of each row of the log, in order."""
    rows = database.run("select epoch, last - count + 1, last from accord.events order by session, last")
    return [(epoch, first, last) for epoch, first, last in rows]


def test_the_sessions_of_a_killed_node_are_free_long_before_its_lease_is_over(
    holders: tuple[Holder, Holder], database: Database
) -> None:
    one, other = holders
    for line, answer in {"acquire a": "True", "append a last": "1", "create b owned": "None"}.items():
        assert one.do(line) == answer
    database.run("update accord.nodes set until = until + interval '1 hour', lease_seconds = lease_seconds + 3600")
    one.die()
    assert until_taken(other, limit(10.0)) < limit(10.0)
    assert other.do("append a next") == "2"
    # Not acquired, and still possible: nobody owns it any more.
    assert other.do("append b next") == "1"
    assert other.do("delete b") == "None"
    assert [row[0] for row in epochs(database)] == [1, 2]


def test_without_the_hint_a_session_is_free_when_the_lease_is_over(
    holders: tuple[Holder, Holder], database: Database
) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    # Another program holds the lock, as a machine would that the database does not know to be lost.
    one.do("append a last")
    number = database.run("select lock from accord.nodes where name = 'one'")[0][0]
    with psycopg.connect(database.conninfo, autocommit=True) as connection:
        os.kill(one.child.pid, signal.SIGKILL)
        one.child.wait(PATIENCE_SECONDS)
        connection.execute("select pg_advisory_lock(%s)", [number])
        assert other.do("acquire a") == "in_use"
        database.run("update accord.nodes set until = clock_timestamp() where name = 'one'")
        assert other.do("acquire a") == "True"
    assert other.do("append a next") == "2"


def test_a_node_that_was_stopped_past_its_lease_lands_no_event(
    holders: tuple[Holder, Holder], database: Database
) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert one.do("append a first") == "1"
    os.kill(one.child.pid, signal.SIGSTOP)
    assert other.do("acquire a") == "in_use"
    until_taken(other, LEASE_SECONDS + limit(10.0))
    # What it is told now waits in its pipe: the very first thing that it does when it goes on.
    assert one.child.stdin is not None
    one.child.stdin.write(b"append a late\npatch a late\ndelete a\nacquire a\n")
    assert other.do("append a second") == "2"
    os.kill(one.child.pid, signal.SIGCONT)
    assert [one.line() for _ in range(4)] == ["not_owned", "not_owned", "not_owned", "not_owned"]
    assert other.do("read a") == "['first', 'second']"
    # Released, it may be asked for again.
    assert one.do("release a") == "None"
    assert one.do("acquire a") == "in_use"
    assert other.do("release a") == "None"
    assert one.do("acquire a") == "True"
    assert one.do("append a third") == "3"
    assert [row[0] for row in epochs(database)] == [1, 2, 3]


def test_a_node_that_was_stopped_past_its_lease_lands_nothing_although_nobody_came(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Were it over before the process is stopped, nothing would be different.
    monkeypatch.setenv("ACCORD_TEST_LEASE", "1")
    one = Holder(database.conninfo, "one")
    assert [one.do("create a"), one.do("acquire a")] == ["None", "True"]
    os.kill(one.child.pid, signal.SIGSTOP)
    deadline = time.monotonic() + limit(20.0)
    while not database.run("select until < clock_timestamp() from accord.nodes where name = 'one'")[0][0]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert one.child.stdin is not None
    one.child.stdin.write(b"append a late\n")
    os.kill(one.child.pid, signal.SIGCONT)
    assert one.line() == "not_owned"
    assert epochs(database) == []
    one.die()
    one.end()


def test_the_second_of_two_live_nodes_of_one_name_is_refused(database: Database) -> None:
    one, twin = Holder(database.conninfo, "one"), Holder(database.conninfo, "one")
    try:
        assert one.do("create a owned") == "None"
        assert twin.do("create b owned") == "name_taken"
        assert twin.do("read a") == "[]"
        one.die()
        # The name of a dead process is free at once.
        assert twin.do("create b owned") == "None"
    finally:
        for each in (one, twin):
            each.child.kill()
            each.end()
