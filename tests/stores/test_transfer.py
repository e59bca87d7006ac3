"""A session that is copied is not there until it is whole; counts are compared before a session is left out.

Commands that are killed in the middle of a copy are in `tests/cli/test_killed_copies.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from accord.errors import StoreError
from accord.session.event import Event, StateChanged
from accord.stores import MemoryStore, SessionRecord, Store, copy_sessions
from accord.stores.interface import DRAFT
from accord.stores.transfer import copy_session
from tests.stores.places import IN_BOTH_STORES, open_place
from tests.stores.sessions import record, words
from tests.stores.test_processes import PATIENCE_SECONDS, Process

EVENTS = 1200


async def nothing() -> None:
    """What happens before a page, unless a test has something else."""


class Pages:
    """A source of one session, which does what a test wants before each page, the empty last one and the state."""

    def __init__(self, events: list[Event], before_page: Callable[[], Awaitable[None]] = nothing) -> None:
        self.events = events
        self.before_page = before_page

    async def read_page(self, _: str, after: int = 0) -> list[Event]:
        await self.before_page()
        return self.events[after : after + 500]

    async def state(self, _: str) -> bytes | None:
        await self.before_page()
        return b"state"


def wanted(count: int) -> SessionRecord:
    return msgspec.structs.replace(record("a"), events=count)


async def is_gone(store: Store, session_id: str) -> bool:
    """Whether there is no such session, nor a draft of this id."""
    try:
        await store.append(session_id, [])
    except StoreError as error:
        return error.reason == "unknown_session"
    return False


async def filled(store: Store, *counts: int) -> Store:
    """A store with one session of each length, `s0` and so on; the last is the one that was updated last."""
    for number, count in enumerate(counts):
        await store.create(record(f"s{number}", float(number)))
        await store.append(f"s{number}", words(count))
    return store


@contextlib.asynccontextmanager
async def opened(place: str, node: str = "") -> AsyncIterator[Store]:
    store = open_place(place, node)
    try:
        yield store
    finally:
        await store.close()


@IN_BOTH_STORES
async def test_nothing_is_seen_of_a_session_until_its_last_event_and_its_state_are_in(place: str) -> None:
    async with opened(place) as target, opened(place, "other") as other:
        looks = 0

        async def look() -> None:
            nonlocal looks
            looks += 1
            assert (await other.list_sessions()).records == []
            assert (await other.list_sessions(unprompted=False)).records == []
            for name in ("a", f"{DRAFT}a"):
                assert await other.get(name) is None
                assert not await other.exists(name)
            with pytest.raises(StoreError) as caught:
                await other.fork("a", record("b"))
            assert caught.value.reason == "unknown_session"
            assert await other.prune_unprompted(1e12) == []

        seen: list[tuple[int, int]] = []
        source = Pages(words(EVENTS), look)
        assert await copy_session(source, target, wanted(EVENTS), lambda *one: seen.append(one))
        assert seen == [(500, EVENTS), (1000, EVENTS), (EVENTS, EVENTS)]
        assert looks == len(seen) + 2
        assert (await other.list_sessions()).records == [wanted(EVENTS)]
        assert await other.read("a") == words(EVENTS)
        assert await other.state("a") == b"state"
        assert await other.acquire("a")


@IN_BOTH_STORES
async def test_a_new_session_of_the_id_that_is_being_copied_is_the_one_that_counts(place: str) -> None:
    async with opened(place) as target:

        async def create() -> None:
            if not await target.exists("a"):
                await target.create(record("a"))
                await target.append("a", words(2))

        with pytest.raises(StoreError) as caught:
            await copy_session(Pages(words(EVENTS), create), target, wanted(EVENTS))
        assert (caught.value.reason, caught.value.session_id) == ("session_differs", "a")
        assert await target.read("a") == words(2)
        assert await is_gone(target, f"{DRAFT}a")


@IN_BOTH_STORES
async def test_a_session_that_is_being_copied_is_not_copied_a_second_time(place: str) -> None:
    async with opened(place) as target, opened(place, "other") as other:
        reasons: list[str] = []

        async def copy_too() -> None:
            for store in (target, other):
                with pytest.raises(StoreError) as caught:
                    await copy_session(Pages(words(3)), store, wanted(3))
                reasons.append(caught.value.reason)

        assert await copy_session(Pages(words(EVENTS), copy_too), target, wanted(EVENTS))
        assert set(reasons) == {"in_use"}
        assert await other.read("a") == words(EVENTS)


@IN_BOTH_STORES
async def test_a_copy_that_fails_leaves_nothing(place: str) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    async with opened(place) as target:
        with pytest.raises(ZeroDivisionError):
            await copy_session(Pages(words(3), fail), target, wanted(3))
        assert await is_gone(target, f"{DRAFT}a")
        assert await copy_session(Pages(words(3)), target, wanted(3))


# --- counts


@pytest.mark.parametrize("there", [0, 2, 4])
async def test_a_session_that_the_target_has_with_another_number_of_events_is_reported_and_left(there: int) -> None:
    source, target = await filled(MemoryStore(), 1, 3, 5), await filled(MemoryStore(), 1, there)
    with pytest.raises(StoreError) as caught:
        await copy_sessions(source, target)
    assert (caught.value.reason, caught.value.session_id) == ("session_differs", "s1")
    assert await target.read("s1") == words(there)
    assert await target.read("s2") == words(5)


async def test_a_session_that_the_target_has_with_as_many_events_is_left_out() -> None:
    source, target = await filled(MemoryStore(), 1, 3), await filled(MemoryStore(), 1)
    assert await copy_sessions(source, target) == 1
    assert await copy_sessions(source, target) == 0


@pytest.mark.parametrize("there", [0, 2, 700])
async def test_a_session_that_has_grown_gets_its_later_events_where_that_is_wanted(there: int) -> None:
    source, target = await filled(MemoryStore(), 1, 1_300), await filled(MemoryStore(), 1, there)
    await source.patch("s1", title="new", state=b"new", updated_at=9.0)
    assert await copy_sessions(source, target, extend=True) == 1
    assert await target.read("s1") == words(1_300)
    found = await target.get("s1")
    assert found is not None
    assert (found.title, found.updated_at, await target.state("s1")) == ("new", 9.0, b"new")
    assert await copy_sessions(source, target, extend=True) == 0


@pytest.mark.parametrize("there", ["longer", "other"])
async def test_a_session_that_is_no_beginning_of_the_other_is_never_extended(there: str) -> None:
    source, target = await filled(MemoryStore(), 3), await filled(MemoryStore(), 4 if there == "longer" else 0)
    if there == "other":
        await target.append("s0", words(2, start=7))
    before = await target.read("s0")
    with pytest.raises(StoreError) as caught:
        await copy_sessions(source, target, extend=True)
    assert caught.value.reason == "session_differs"
    assert await target.read("s0") == before


async def test_sessions_that_are_copied_in_the_middle_of_a_turn_are_named() -> None:
    source, cut = await filled(MemoryStore(), 1, 1, 1), list[str]()
    await source.append("s0", [StateChanged("running"), *words(2)])
    await source.append("s1", [StateChanged("running"), *words(2), StateChanged("idle", "end_turn")])
    assert await copy_sessions(source, MemoryStore(), on_cut=cut.append) == 3
    assert cut == ["s0"]


# --- what a process that was killed has left


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill")
@IN_BOTH_STORES
@pytest.mark.parametrize("killed_at", [0, 500, 1500, 2000])
async def test_a_copy_that_was_killed_is_replaced_by_the_next_also_of_another_file(place: str, killed_at: int) -> None:
    async def copy_and_die() -> None:
        done = 0

        async def die() -> None:
            nonlocal done
            if done >= killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 500

        store = open_place(place)
        await copy_session(Pages(words(EVENTS), die), store, wanted(EVENTS))

    def main() -> int:
        asyncio.run(copy_and_die())
        return 0

    killed = Process(program=main)
    assert await asyncio.to_thread(killed.child.wait, PATIENCE_SECONDS) == -signal.SIGKILL
    killed.end()
    async with opened(place) as store:
        assert (await store.list_sessions()).records == []
        others = words(EVENTS - 7, name="other")
        assert await copy_session(Pages(others), store, wanted(len(others)))
        assert await store.read("a") == others
        assert await is_gone(store, f"{DRAFT}a")


@pytest.mark.parametrize("is_copy", [True, False])
async def test_what_copies_have_left_goes_with_the_next_copy_or_pruning(tmp_path: Path, is_copy: bool) -> None:  # noqa: FBT001
    async with opened(str(tmp_path / "sessions.db")) as target:
        await target.create(record(f"{DRAFT}never again", 9.0))
        await target.append(f"{DRAFT}never again", words(3))
        if is_copy:
            assert await copy_sessions(MemoryStore(), target) == 0
        else:
            assert await target.prune_unprompted(0.0) == []
        assert await is_gone(target, f"{DRAFT}never again")
