"""One session, one owner, whichever the store: real processes, which are killed, forked and closed.

What is particular to the files of SQLite is in `test_owner`, to the leases of PostgreSQL in `postgres/test_owners`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from tests.limits import limit
from tests.stores.holder import main
from tests.stores.places import IN_BOTH_STORES, IN_BOTH_STORES_LONG, LEASE_SECONDS, is_database
from tests.stores.test_processes import PATIENCE_SECONDS, Process

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="flock and signals as POSIX has them"),
    pytest.mark.timeout(120),
]


class Holder(Process):
    """A child that runs `holder.py`."""

    def __init__(self, place: object, *arguments: object) -> None:
        super().__init__(place, *arguments, program=main)
        self._is_database = is_database(str(place))
        assert self.line() == "ready"

    def do(self, line: str) -> str:
        assert self.child.stdin is not None
        self.child.stdin.write(line.encode() + b"\n")
        answer = self.line()
        assert answer is not None, f"the holder died of {line!r}"
        return answer

    def do_behind_the_dead(self, line: str) -> str:
        """Do something to a session whose owner was killed: at once, where the system tells, else within its lease."""
        seconds = LEASE_SECONDS + limit(10.0) if self._is_database else 0.0
        deadline = time.monotonic() + seconds
        while (answer := self.do(line)) == "in_use":
            assert time.monotonic() < deadline, "a session that nobody owns is refused"
            time.sleep(0.05)
        return answer

    def die(self) -> None:
        """Killed by the system, with no time for anything."""
        self.child.kill()
        self.child.wait(PATIENCE_SECONDS)


@pytest.fixture
def holders(place: str) -> Iterator[tuple[Holder, Holder]]:
    """Two processes on one store that has the session `a`."""
    one, other = (Holder(place, *([name] if is_database(place) else [])) for name in ("one", "other"))
    assert one.do("create a") == "None"
    yield one, other
    for holder in (one, other):
        # Also ends one that is stopped.
        holder.child.kill()
        holder.end()


@IN_BOTH_STORES
def test_a_session_that_a_live_process_owns_is_refused(holders: tuple[Holder, Holder]) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert other.do("acquire a") == "in_use"
    for write in ("append a stolen", "patch a stolen", "delete a"):
        assert other.do(write) == "in_use", write
    assert one.do("append a mine") == "1"
    assert other.do("read a") == "['mine']"
    assert other.do("list") == "['a']"


@IN_BOTH_STORES_LONG
def test_a_new_session_is_owned_before_another_process_can_see_it(holders: tuple[Holder, Holder]) -> None:
    one, other = holders
    assert one.do("create b owned") == "None"
    assert other.do("acquire b") == "in_use"
    assert one.do("fork a c") == "None"
    assert other.do("acquire c") == "in_use"


@IN_BOTH_STORES_LONG
def test_a_session_of_another_process_can_be_copied(holders: tuple[Holder, Holder]) -> None:
    one, other = holders
    one.do("append a said")
    assert one.do("acquire a") == "True"
    assert other.do("fork a b") == "None"
    assert other.do("read b") == "['said']"
    assert one.do("acquire b") == "in_use"


@IN_BOTH_STORES_LONG
def test_a_dead_owners_session_can_be_written_and_deleted(holders: tuple[Holder, Holder]) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert one.do("create b owned") == "None"
    one.die()
    assert other.do_behind_the_dead("append a next") == "1"
    # Written by a process that does not own it: so it is free.
    assert other.do("acquire a") == "True"
    assert other.do_behind_the_dead("delete b") == "None"


@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("let_go", ["release a", "close"])
def test_a_session_that_was_let_go_is_free_while_its_owner_lives(holders: tuple[Holder, Holder], let_go: str) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert one.do(let_go) == "None"
    assert other.do("acquire a") == "True"


@IN_BOTH_STORES_LONG
def test_a_process_that_released_a_session_cannot_write_behind_its_next_owner(
    holders: tuple[Holder, Holder],
) -> None:
    one, other = holders
    assert [one.do(line) for line in ("acquire a", "append a first", "release a")] == ["True", "1", "None"]
    assert other.do("acquire a") == "True"
    assert one.do("append a late") == "in_use"
    assert other.do("read a") == "['first']"


@IN_BOTH_STORES
def test_two_stores_of_one_process_are_one_owner(holders: tuple[Holder, Holder]) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert one.do("second acquire a") == "False"
    assert one.do("second append a from_the_second") == "1"
    assert one.do("second release a") == "None"
    assert other.do("acquire a") == "in_use"
    assert one.do("second acquire a") == "False"
    # The first store goes, and the second still has it.
    assert one.do("close") == "None"
    assert other.do("acquire a") == "in_use"
    assert one.do("second close") == "None"
    assert other.do("acquire a") == "True"


@IN_BOTH_STORES
@pytest.mark.parametrize("kind", ["child", "program"])
def test_a_child_does_not_keep_the_sessions_of_its_dead_parent(holders: tuple[Holder, Holder], kind: str) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    child = int(one.do(kind))
    try:
        assert other.do("acquire a") == "in_use"
        one.die()
        assert other.do_behind_the_dead("acquire a") == "True"
    finally:
        os.kill(child, signal.SIGKILL)
