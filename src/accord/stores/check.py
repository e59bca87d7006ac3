"""The conformance test of the `Store` interface, for authors of new stores."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TypeAlias

from accord.errors import StoreError
from accord.protocol.model import Unknown
from accord.session.content import Image, Text
from accord.session.event import Event, InfoChanged, MessageChunk, TerminalOutput, ToolChanged, UnknownUpdate
from accord.session.tool import Shown
from accord.stores.check_sharing import SHARING_CHECKS, check_drafts, check_principals, check_watchers
from accord.stores.check_steps import (
    PATIENCE_SECONDS,
    StoreCheckFailed,
    expect,
    expect_refusal,
    make_record,
    make_texts,
)
from accord.stores.interface import PAGE_EVENTS, SessionRecord, Store

__all__ = ["StoreCheckFailed", "check_store"]

MakeStore: TypeAlias = Callable[[str], Awaitable[Store]]
"""Opens the store of a name; the same name gives the same store again."""
Check: TypeAlias = Callable[[Store], Coroutine[None, None, None]]

_TASKS = 20
_EACH = 25


async def check_store(make_store: MakeStore, *, reopens: bool = True, make_rival: MakeStore | None = None) -> None:
    """Try everything that `Store` promises, each on an empty store from `make_store`.

    `make_store` gets the name of a store; for a name that it got before it must open the same store again. For a store
    that keeps nothing beyond `close`, pass `reopens=False`. A store with a `watch` is watched. Where processes of
    several machines share a store, `make_rival` opens the store of a name as another process would: then it is tried
    that only the owner writes, that each event is kept once and that a rival watches it. All stores are closed again.

    Raises:
        StoreCheckFailed: A promise was broken.
    """
    for check in _CHECKS:
        await _judge(check, await make_store(check.__name__.strip("_")))
    for sharing in SHARING_CHECKS if make_rival is not None else ():
        name = sharing.__name__
        assert make_rival is not None  # noqa: S101 - for the type checker
        rival = await make_rival(name)
        try:
            await _judge(_against(sharing, rival), await make_store(name))
        finally:
            with contextlib.suppress(StoreError):
                await rival.close()
    if reopens:
        await _judge_reopening(make_store)


def _against(check: Callable[[Store, Store], Coroutine[None, None, None]], rival: Store) -> Check:
    async def check_both(store: Store) -> None:
        await check(store, rival)

    check_both.__doc__ = check.__doc__
    return check_both


async def _judge(check: Check, store: Store) -> None:
    promise = (check.__doc__ or "").strip().rstrip(".")
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await check(store)
            await store.close()
    except TimeoutError as error:
        raise StoreCheckFailed(f"{promise}: it hangs") from error
    except (StoreCheckFailed, StoreError) as error:
        raise StoreCheckFailed(f"{promise}: {error}") from error
    finally:
        with contextlib.suppress(StoreError):
            await store.close()


async def _judge_reopening(make_store: MakeStore) -> None:
    await _judge(_fill, await make_store("reopened"))
    await _judge(_find_again, await make_store("reopened"))


_STRANGE: list[Event] = [
    MessageChunk("user", Text("é→😀 line\nfeed \ud83d"), id="m1", meta={"null": None}),
    MessageChunk("agent", Unknown("hologram", {"type": "hologram", "depth": [1, 2.5, None]})),
    MessageChunk("agent", Image("AAAA" * 100_000, "image/png")),
    ToolChanged("t1", title=None, content=[Shown(Text("x")), Unknown("odd", {"no": "tag"})], raw_output={"a": [None]}),
    TerminalOutput("t1", bytes(range(256))),
    InfoChanged(title=None),
    UnknownUpdate("later", {"sessionUpdate": "later", "n": 2**70}),
]


async def _order(store: Store) -> None:
    """Events come back as they were, in order, from any position."""
    await store.create(make_record("a"))
    events = [*make_texts("a", 300), *_STRANGE, *make_texts("b", 300)]
    expect(await store.append("a", events[:250]) == 250, "append returned another position than the last event's")  # noqa: PLR2004
    ticket = 0
    for event in events[250:]:
        ticket = store.queue("a", [event])
    await store.commit("a", ticket)
    expect(await store.read("a") == events, "the log differs from the appended events")
    length = len(events)
    for after, limit in (
        (0, 1),
        (249, 2),
        (250, None),
        (299, 10),
        (length - 1, 5),
        (length, None),
        (10_000, 1),
        (0, 0),
    ):
        expected = events[after:] if limit is None else events[after : after + limit]
        expect(await store.read("a", after, limit) == expected, f"reading {limit} events after {after} went wrong")
    record = await store.get("a")
    expect(record is not None and record.events == length, "the record has another length than its log")
    paged: list[Event] = []
    while page := await store.read_page("a", len(paged)):
        expect(len(page) <= PAGE_EVENTS, "a page has more events than it may")
        paged += page
    expect(paged == events, "the pages of a log differ from the log")


async def _ownership(store: Store) -> None:
    """An event may be changed after it was queued."""
    await store.create(make_record("a"))
    event = InfoChanged(title="before")
    ticket = store.queue("a", [event])
    event.title = "after"
    await store.commit("a", ticket)
    expect(await store.read("a") == [InfoChanged(title="before")], "the change was kept")


async def _queued_is_read(store: Store) -> None:
    """Queued events are read, copied and flushed without a commit of their own."""
    await store.create(make_record("a"))
    store.queue("a", make_texts("a", 3))
    expect(await store.read("a") == make_texts("a", 3), "it is not read")
    store.queue("a", make_texts("a", 3, start=3))
    await store.fork("a", make_record("b"))
    expect(await store.read("b") == make_texts("a", 6), "it is not in the copy")
    store.queue("a", make_texts("a", 3, start=6))
    await store.flush()
    expect(await store.read("a") == make_texts("a", 9), "it was not flushed")


async def _isolation(store: Store) -> None:
    """Sessions are independent of each other."""
    names = ["a", "b", "", "A", "a\x00", "ü/..", "\ud800"]
    for name in names:
        await store.create(make_record(name))
    for round_number in range(3):
        for name in names:
            await store.append(name, make_texts(name, 4, start=4 * round_number))
    await store.patch("a", title="mine", state=b"mine")
    for name in names:
        expect(await store.read(name) == make_texts(name, 12), f"the log of {name!r} has other events")
    record = await store.get("b")
    expect(record is not None and record.title is None, "a title went to another session")
    expect(await store.state("b") is None, "a state went to another session")


async def _record_kept(store: Store) -> None:
    """A record is kept as it was given, and patched field by field."""
    given = make_record("a", 12.25, cwd="/\udcff", title="Title \ud83d")
    await store.create(given)
    expect(await store.get("a") == given, "the record differs")
    await store.patch("a", updated_at=99.5)
    await store.patch("a", state=b"\x00\xff")
    await store.patch("a", title="")
    record = await store.get("a")
    expected = SessionRecord("a", given.cwd, 12.25, 99.5, "", given.roots)
    expect(record == expected, f"after three patches the record is {record}")
    await store.patch("a", title=None, updated_at=100.0)
    record = await store.get("a")
    expect(record is not None and (record.title, record.updated_at) == (None, 100.0), "None did not clear the title")
    expect(await store.state("a") == b"\x00\xff", "the state differs")
    await store.patch("a", state=None)
    expect(await store.state("a") is None, "None did not clear the state")


async def _unknown_session(store: Store) -> None:
    """A session that does not exist is distinguished from an empty one."""
    await store.create(make_record("empty"))
    expect(await store.read("empty") == [] and await store.exists("empty"), "an empty session is not there")
    expect(await store.append("empty", []) == 0, "nothing, appended to nothing, has a position")
    expect(await store.get("none") is None, "there is a record of it")
    expect(not await store.exists("none"), "it exists")
    for what, call in {
        "append": lambda: store.append("none", make_texts("x", 1)),
        "append of nothing": lambda: store.append("none", []),
        "read": lambda: store.read("none"),
        "read_page": lambda: store.read_page("none"),
        "state": lambda: store.state("none"),
        "patch": lambda: store.patch("none", title="x"),
        "fork": lambda: store.fork("none", make_record("copy")),
        "commit": lambda: store.commit("none", store.queue("none", make_texts("x", 1))),
    }.items():
        await expect_refusal(call, "unknown_session", what)
    expect(not await store.exists("copy"), "a failed fork left a session")
    await expect_refusal(lambda: store.create(make_record("empty")), "session_exists", "a second create")
    await expect_refusal(lambda: store.fork("empty", make_record("empty")), "session_exists", "a fork onto itself")


async def _loss_is_reported(store: Store) -> None:
    """The loss of events is reported to the caller that queued them, and no others are kept behind them until then."""
    store.queue("late", make_texts("late", 1))
    await store.create(make_record("other"))
    ticket = store.queue("late", make_texts("late", 1))
    await store.append("other", make_texts("other", 1))
    await store.create(make_record("late"))
    again = store.queue("late", make_texts("late", 1))
    await expect_refusal(lambda: store.commit("late", again), "unknown_session", "the first commit behind the loss")
    await expect_refusal(lambda: store.commit("late", ticket), "unknown_session", "the commit of a lost ticket")
    expect(await store.read("late") == [], "an event was kept behind a hole")
    await store.append("late", make_texts("late", 2))
    store.queue("gone", make_texts("gone", 1))
    await expect_refusal(store.flush, "unknown_session", "flush")
    await store.flush()
    expect(await store.read("late") == make_texts("late", 2), "the session did not recover")


async def _pages(store: Store) -> None:
    """Pages list every session once, newest first, also if others are created or deleted meanwhile."""
    for number in range(60):
        await store.create(make_record(f"s{number}", float(number // 3), cwd=f"/work/{number % 2}"))
    found: list[tuple[float, str]] = []
    cursor: str | None = None
    for page_number in range(100):
        page = await store.list_sessions(cursor=cursor, limit=7)
        found += [(record.updated_at, record.id) for record in page.records]
        cursor = page.next_cursor
        if cursor is None:
            break
        expect(len(page.records) == 7, "a page before the last one is not full")  # noqa: PLR2004
        await store.create(make_record(f"new{page_number}", 1000.0 + page_number))
        await store.delete(found[-1][1])
    expect(cursor is None, "the pages do not end")
    expect(len(set(found)) == len(found), "a session was listed twice")
    expect({name for _, name in found} >= {f"s{number}" for number in range(60)}, "a session was missed")
    expect([time for time, _ in found] == sorted((time for time, _ in found), reverse=True), "the newest is not first")
    page = await store.list_sessions(cwd="/work/1", limit=1000)
    expect(page.next_cursor is None, "there is a cursor behind the last page")
    expect(page.records and {record.cwd for record in page.records} == {"/work/1"}, "the cwd is not filtered exactly")
    expect((await store.list_sessions(cwd="/work")).records, "sessions that were created meanwhile are not listed")
    expect((await store.list_sessions(cwd="/wor")).records == [], "a cwd was matched by its beginning")
    for bad in ("", "nonsense", "WzFd", "é"):
        await expect_refusal(partial(store.list_sessions, cursor=bad), "bad_cursor", f"the cursor {bad!r}")


async def _forks(store: Store) -> None:
    """A fork has the log and the state of its source, and is independent from then on."""
    await store.create(make_record("a"))
    await store.append("a", make_texts("a", 10))
    await store.patch("a", state=b"both")
    await store.fork("a", make_record("b", 5.0, title="copy"))
    expect(await store.state("b") == b"both", "the copy of a session has not its state")
    await store.append("a", make_texts("only a", 1))
    await store.append("b", make_texts("only b", 2))
    await store.patch("b", state=b"only b")
    expect(await store.read("a") == make_texts("a", 10) + make_texts("only a", 1), "the copy changed its source")
    expect(await store.read("b") == make_texts("a", 10) + make_texts("only b", 2), "the copy has other events")
    expect(await store.state("a") == b"both", "the copy's state became its source's")
    expected = SessionRecord("b", "/work", 5.0, 5.0, "copy", ("/more", "/mehr/ü"), 12)
    expect(await store.get("b") == expected, "the copy has another record than the one given for it")
    await store.delete("a")
    expect(len(await store.read("b")) == 12, "the copy went with its source")  # noqa: PLR2004


async def _deletes(store: Store) -> None:
    """A deleted session is gone with all it had, and deleting it again does nothing."""
    for name in ("a", "b"):
        await store.create(make_record(name))
        await store.append(name, make_texts(name, 5))
        await store.patch(name, state=b"x")
    await store.delete("a")
    await store.delete("a")
    await store.delete("never")
    expect(not await store.exists("a"), "it is still there")
    await expect_refusal(lambda: store.append("a", make_texts("a", 1)), "unknown_session", "append to it")
    await store.create(make_record("a"))
    expect(await store.read("a") == [], "a new session of its name has its log")
    expect(await store.state("a") is None, "a new session of its name has its state")
    expect(await store.read("b") == make_texts("b", 5), "another session lost events")


async def _concurrency(store: Store) -> None:
    """Twenty tasks that write at the same time lose nothing, and each keeps its order."""
    await store.create(make_record("shared"))

    async def work(name: str) -> None:
        await store.create(make_record(name))
        for number in range(_EACH):
            event = make_texts(name, 1, start=number)
            await store.append("shared", event)
            await store.commit(name, store.queue(name, event))

    names = [f"task {number}" for number in range(_TASKS)]
    await asyncio.gather(*map(work, names))
    shared = await store.read("shared")
    expect(len(shared) == _TASKS * _EACH, f"{_TASKS * _EACH} events became {len(shared)}")
    for name in names:
        expected = make_texts(name, _EACH)
        expect(await store.read(name) == expected, "a task's own log is out of order")
        expect([event for event in shared if event in expected] == expected, "a shared log is out of order")


async def _calls_in_order(store: Store) -> None:
    """Calls take effect in the order in which they were made, also when no caller waited in between."""
    calls = [
        asyncio.ensure_future(call)
        for call in (
            store.create(make_record("a")),
            store.append("a", make_texts("a", 1)),
            store.fork("a", make_record("b")),
        )
    ]
    await asyncio.sleep(0)
    ticket = store.queue("b", make_texts("b", 1))
    await asyncio.gather(*calls)
    await store.commit("b", ticket)
    expect(await store.read("a") == make_texts("a", 1), "an event went to the copy's source")
    expect(await store.read("b") == make_texts("a", 1) + make_texts("b", 1), "an event overtook a fork")


async def _cancellation(store: Store) -> None:
    """A caller that is cancelled while it waits disturbs no other."""
    await store.create(make_record("a"))
    waiting = [asyncio.create_task(store.append("a", make_texts("a", 1, start=number))) for number in range(10)]
    await asyncio.sleep(0)
    for task in waiting[::2]:
        task.cancel()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    expect(all(isinstance(outcome, int) for outcome in outcomes[1::2]), "others failed with it")
    expect(await store.read("a") == make_texts("a", 10), "queued events were withdrawn")


async def _unwritable(store: Store) -> None:
    """An event that cannot be encoded is refused at once, with all events of the same call."""
    await store.create(make_record("a"))
    found = "nothing"
    try:
        store.queue("a", [*make_texts("a", 1), ToolChanged("t", raw_output=object())])
    except StoreError as error:
        found = error.reason
    expect(found == "unwritable", f"queue raised {found}")
    await store.append("a", make_texts("b", 1))
    expect(await store.read("a") == make_texts("b", 1), "a part of it was kept, or nothing can be kept any more")


async def _closing(store: Store) -> None:
    """A closed store refuses everything but closing it again."""
    await store.create(make_record("a"))
    ticket = store.queue("a", make_texts("a", 1))
    await store.close()
    await store.close()
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "create": lambda: store.create(make_record("b")),
        "get": lambda: store.get("a"),
        "exists": lambda: store.exists("a"),
        "patch": lambda: store.patch("a", title="x"),
        "state": lambda: store.state("a"),
        "append": lambda: store.append("a", []),
        "commit": lambda: store.commit("a", ticket),
        "flush": store.flush,
        "read": lambda: store.read("a"),
        "read_page": lambda: store.read_page("a"),
        "list_sessions": store.list_sessions,
        "fork": lambda: store.fork("a", make_record("b")),
        "delete": lambda: store.delete("a"),
        "acquire": lambda: store.acquire("a"),
        "release": lambda: store.release("a"),
    }
    for what, call in calls.items():
        await expect_refusal(call, "closed", what)


async def _owners(store: Store) -> None:
    """A session is owned until it was released as often as acquired, and a new one may be owned from the start."""
    await store.create(make_record("a"))
    expect(await store.acquire("a"), "the first acquire of a session did not return True")
    expect(not await store.acquire("a"), "the second to acquire a session was taken for the first")
    await store.release("a")
    expect(not await store.acquire("a"), "a session is free although it was acquired once more than released")
    expect(await store.append("a", make_texts("a", 1)) == 1, "the owner cannot append")
    await store.release("a")
    await store.release("a")
    await store.release("a")
    expect(await store.acquire("a"), "a session that was released as often as acquired is not free")
    await store.create(make_record("b"), owned=True)
    expect(not await store.acquire("b"), "a session that was made as an owned one has no owner")
    await store.fork("a", make_record("c"), owned=True)
    expect(not await store.acquire("c"), "a copy that was made as an owned one has no owner")
    await store.fork("a", make_record("d"))
    expect(await store.acquire("d"), "a copy has the owner of its source")
    await store.delete("d")
    await store.release("d")
    await expect_refusal(lambda: store.acquire("d"), "unknown_session", "acquire of a session that is gone")
    await store.create(make_record("d"))
    expect(await store.acquire("d"), "a new session has the owner of one that was deleted")


async def _unprompted(store: Store) -> None:
    """A session without a prompt is listed while it is owned, and pruned when it is old."""
    await store.create(make_record("open", 3.0), owned=True)
    await store.create(make_record("left", 2.0))
    await store.create(make_record("prompted", 1.0))
    await store.append("prompted", [MessageChunk("user", Text("go"))])

    async def listed() -> list[str]:
        return [record.id for record in (await store.list_sessions(unprompted=False)).records]

    expect(await listed() == ["open", "prompted"], "a session without a prompt or an owner is listed")
    expect(await store.prune_unprompted(2.0) == [], "a session was pruned that is not older")
    expect(await store.prune_unprompted(9.0) == ["left"], "a pruned session had a prompt or an owner")
    expect(await store.exists("open"), "a session that is owned was pruned")
    await store.release("open")
    expect(await listed() == ["prompted"], "a session without a prompt is listed although it has no owner")


async def _fill(store: Store) -> None:
    """Kept sessions are there again when the store is opened anew."""
    await store.create(make_record("a", 3.5, title="Title"))
    await store.append("a", _STRANGE)
    await store.patch("a", state=b"state")
    await store.create(make_record("b", 9.0), owned=True)
    await store.acquire("a")
    # Not committed by a caller: closing commits them.
    store.queue("a", make_texts("a", 50))


async def _find_again(store: Store) -> None:
    """Kept sessions are there again when the store is opened anew."""
    expected = [*_STRANGE, *make_texts("a", 50)]
    expect(await store.read("a") == expected, "the log differs")
    expect(await store.append("a", make_texts("a", 1)) == len(expected) + 1, "it is not continued where it ended")
    expect(await store.state("a") == b"state", "the state differs")
    for name in ("a", "b"):
        expect(await store.acquire(name), "a store that was closed still owns a session")
    names = [record.id for record in (await store.list_sessions()).records]
    expect(names == ["b", "a"], f"the sessions are {names}")


_CHECKS: tuple[Check, ...] = (
    _order,
    _ownership,
    _queued_is_read,
    _isolation,
    _record_kept,
    _unknown_session,
    _loss_is_reported,
    _pages,
    _forks,
    _deletes,
    _concurrency,
    _calls_in_order,
    _cancellation,
    _unwritable,
    _owners,
    _closing,
    _unprompted,
    check_drafts,
    check_principals,
    check_watchers,
)
