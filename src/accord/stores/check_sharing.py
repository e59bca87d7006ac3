"""The part of the conformance test about stores that are shared: by principals, copies, watchers, several processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeAlias

import msgspec

from accord.session.event import Event
from accord.stores.check_steps import expect, expect_refusal, make_record, make_texts
from accord.stores.interface import DRAFT, Store

__all__ = ["SHARING_CHECKS", "check_drafts", "check_principals", "check_watchers"]

SharingCheck: TypeAlias = Callable[[Store, Store], Coroutine[None, None, None]]

_EACH = 25


async def check_principals(store: Store) -> None:
    """Each principal has a list of its own."""
    for number, principal in enumerate(("ada", "bob", "", "ada", "ad")):
        record = msgspec.structs.replace(make_record(f"s{number}", float(number)), principal=principal)
        await store.create(record)
        expect(await store.get(record.id) == record, "the principal of a session is not kept")

    async def listed(principal: str | None) -> list[str]:
        return [record.id for record in (await store.list_sessions(principal=principal)).records]

    expect(await listed("ada") == ["s3", "s0"], "a list has the sessions of another principal, or not all of its own")
    expect(await listed("") == ["s2"], "the sessions without a principal are not listed apart")
    expect(await listed("eve") == [], "a principal without sessions has some")
    expect(await listed(None) == ["s4", "s3", "s2", "s1", "s0"], "not all sessions are listed where all are wanted")
    await store.fork("s0", msgspec.structs.replace(make_record("copy", 9.0), principal="bob"))
    expect(await listed("bob") == ["copy", "s1"], "a copy has not the principal that was given for it")


async def check_drafts(store: Store) -> None:
    """A draft is passed over until it is published, whole and in one step."""
    draft = f"{DRAFT}a"
    await store.create(make_record(draft), owned=True)
    await store.append(draft, make_texts("a", 5))
    await store.patch(draft, state=b"state")
    await store.create(make_record("other"), owned=True)

    async def expect_shown(expected: list[str], what: str) -> None:
        listed = (await store.list_sessions()).records + (await store.list_sessions(unprompted=False)).records
        expect({record.id for record in listed} == set(expected), f"{what}: {[record.id for record in listed]}")
        expect(await store.get(draft) is None, f"{what}: there is a record of a draft")
        expect(not await store.exists(draft), f"{what}: a draft exists")

    await expect_shown(["other"], "before it is published")
    expect(await store.prune_unprompted(0.0) == [], "a draft that has an owner was deleted, or reported")
    await expect_refusal(lambda: store.publish(draft, "other"), "session_exists", "publish onto another session")
    await store.publish(draft, "a")
    await store.release(draft)
    await expect_shown(["a", "other"], "after it was published")
    record = await store.get("a")
    expected = msgspec.structs.replace(make_record("a"), events=5)
    expect(record == expected, f"its record is {record}")
    expect(await store.read("a") == make_texts("a", 5), "its log differs")
    expect(await store.state("a") == b"state", "its state differs")
    expect(await store.acquire("a"), "it has an owner")
    await expect_refusal(lambda: store.publish(draft, "b"), "unknown_session", "publish of a draft that is gone")
    await store.create(make_record(draft, 9.0))
    expect(await store.prune_unprompted(0.0) == [], "a draft without an owner was reported")
    await expect_refusal(lambda: store.append(draft, []), "unknown_session", "append to a draft that was pruned")


async def check_watchers(store: Store) -> None:
    """A watcher gets the events behind its position and every later one, in order and once."""
    if hasattr(store, "watch"):
        await store.create(make_record("a"))
        await _watch_while_written(store, store)


async def check_fencing(store: Store, rival: Store) -> None:
    """Of two processes only the owner writes, and one that lost a session lands nothing."""
    await store.create(make_record("a"))
    expect(await store.acquire("a"), "the first acquire of a session did not return True")

    async def expect_in_use(intruder: Store) -> None:
        for what, call in {
            "acquire": lambda: intruder.acquire("a"),
            "append": lambda: intruder.append("a", make_texts("stolen", 1)),
            "patch": lambda: intruder.patch("a", title="stolen"),
            "delete": lambda: intruder.delete("a"),
        }.items():
            await expect_refusal(call, "in_use", f"{what} by another process")

    await expect_in_use(rival)
    expect(await rival.read("a") == [], "another process cannot read, or has written")
    expect(await store.append("a", make_texts("a", 1)) == 1, "the owner cannot append")
    await store.release("a")
    expect(await rival.acquire("a"), "a session that was released is not free")
    await expect_in_use(store)
    expect(await rival.append("a", make_texts("a", 1, start=1)) == 2, "the next owner does not continue the log")  # noqa: PLR2004
    expect(await store.read("a") == make_texts("a", 2), "the log differs from what its owners have written")
    await rival.close()
    expect(await store.acquire("a"), "a process that is gone still owns a session")


async def check_exactly_once(store: Store, rival: Store) -> None:
    """Two processes that write to a session without an owner keep every event once, each at a position of its own."""
    await store.create(make_record("a"))

    async def write(writer: Store, name: str) -> list[int]:
        return [await writer.append("a", make_texts(name, 1, start=number)) for number in range(_EACH)]

    positions = await asyncio.gather(write(store, "one"), write(rival, "two"))
    expect(sorted(positions[0] + positions[1]) == list(range(1, 2 * _EACH + 1)), "positions are missing or twice")
    log = await store.read("a")
    for name, own in zip(("one", "two"), positions, strict=True):
        expect([log[position - 1] for position in own] == make_texts(name, _EACH), "an event is not at its position")


async def check_rival_watchers(store: Store, rival: Store) -> None:
    """Another process watches a session while its owner writes."""
    await store.create(make_record("a"), owned=True)
    if hasattr(rival, "watch"):
        await _watch_while_written(store, rival)


async def _watch_while_written(store: Store, watching: Store) -> None:
    await store.append("a", make_texts("a", 3))
    found: list[tuple[int, Event]] = []

    async def watch() -> None:
        # Not a part of `Store`: a store need not have it.
        async for events in watching.watch("a", 1):  # type: ignore[attr-defined]
            found.extend(events)
            if len(found) >= _EACH + 2:
                return

    watcher = asyncio.create_task(watch())
    try:
        for number in range(_EACH):
            await store.append("a", make_texts("a", 1, start=3 + number))
        await watcher
    finally:
        watcher.cancel()
    expected = list(enumerate(make_texts("a", _EACH + 2, start=1), 2))
    expect(found == expected, "a watcher got other events than the log has, or not each once and in order")


SHARING_CHECKS: tuple[SharingCheck, ...] = (check_fencing, check_exactly_once, check_rival_watchers)
