"""A process that writes to a store and tells on stdout what became of it; the tests start, feed and kill it.

writer.py stream PATH SEED      appends groups of events for ever; prints the position after each commit
writer.py share PATH NAME N     waits for a line on stdin, then appends N events one by one; prints each position
writer.py full PATH             appends until the file may not grow, then lets it grow; prints what it saw
writer.py locked PATH           opens the file as somebody who may not write there; prints the reason
writer.py unwritable PATH ID    reads the file as somebody who may not write there, then tries to; prints what it saw
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
from collections.abc import Callable, Coroutine

from accord.errors import StoreError
from accord.session.content import Text
from accord.session.event import MessageChunk
from accord.stores import SessionRecord, SqliteStore, Store
from tests.stores.places import open_place

NOBODY = 65534


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def open_session(path: str) -> Store:
    store = open_place(path)
    with contextlib.suppress(StoreError):
        await store.create(SessionRecord("a", "/work", 1.0, 1.0))
    return store


async def stream(path: str, seed: str) -> None:
    chance = random.Random(seed)
    store = await open_session(path)
    number = len(await store.read("a"))
    while True:
        texts = [f"word {number + more} " + "x" * chance.choice((0, 10, 3000)) for more in range(chance.randint(1, 40))]
        number += len(texts)
        if chance.random() < 0.5:
            await store.append("a", [MessageChunk("agent", Text(text)) for text in texts])
        else:
            tickets = [store.queue("a", [MessageChunk("agent", Text(text))]) for text in texts]
            await store.commit("a", tickets[-1])
        say(number)


async def share(path: str, name: str, count: str) -> None:
    say("ready")
    sys.stdin.readline()
    store = await open_session(path)
    for number in range(int(count)):
        say(await store.append("a", [MessageChunk("agent", Text(f"{name} {number}"))]))
    await store.close()


async def full(path: str) -> None:
    import resource  # noqa: PLC0415 - not everywhere

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    store = await open_session(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    kept, reason = 0, "none"
    while reason == "none":
        try:
            await store.append("a", [MessageChunk("agent", Text(f"word {kept} " + "x" * 5000))])
            kept += 1
        except StoreError as error:
            reason = error.reason
    say("kept", kept)
    say("reason", reason)
    say("read", len(await store.read("a")))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    say("position", await store.append("a", [MessageChunk("agent", Text(f"word {kept} again"))]))
    await store.close()


async def locked(path: str) -> None:
    if os.geteuid() == 0:
        os.setuid(NOBODY)  # no permission binds root
    for call in (SqliteStore(path).get("a"), SqliteStore(path).create(SessionRecord("b", "/", 1.0, 1.0))):
        try:
            await call
            say("none")
        except StoreError as error:
            say(error.reason, error.path)


async def unwritable(path: str, session_id: str) -> None:
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    store = SqliteStore(path)
    listed = (await store.list_sessions()).records
    has_state = await store.state(session_id) is not None
    say(f"{len(listed)} sessions, {len(await store.read(session_id))} events, state {has_state}")
    for call in (store.acquire(session_id), store.create(SessionRecord("b", "/", 1.0, 1.0))):
        try:
            await call
            say("none")
        except StoreError as error:
            say(error.reason, error.path)
    await store.close()


PROGRAMS: dict[str, Callable[..., Coroutine[None, None, None]]] = {
    "stream": stream,
    "share": share,
    "full": full,
    "locked": locked,
    "unwritable": unwritable,
}


def main() -> int:
    asyncio.run(PROGRAMS[sys.argv[1]](*sys.argv[2:]))
    return 0
