"""A process that runs the store calls of its stdin, one per line, and prints their results.

After `holder.py PATH [NODE]` come lines such as `acquire a`, `append a hello`, `release a`, `delete a`,
`patch a title`, `read a`, `fork a b`, `second acquire a` (by another store of the process), `child` (forks a process
that stays), `program` (starts a program that stays) and `close`. Each line is answered by one: what the call returned,
or the reason of its error.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any

from accord.errors import StoreError
from accord.session.content import Text
from accord.session.event import MessageChunk
from accord.stores import SessionRecord, Store
from tests.stores.places import open_place


def say(value: object) -> None:
    os.write(1, f"{value}\n".encode())


class Holder:
    def __init__(self, path: str, node: str = "") -> None:
        self._path = path
        self._node = node
        self._stores = {"": open_place(path, node)}

    async def do(self, line: str) -> object:
        name = ""
        word, *rest = line.split()
        if word == "second":
            name = word
            self._stores.setdefault(name, open_place(self._path, self._node))
            word, *rest = rest
        return await getattr(self, word)(self._stores[name], *rest)

    async def create(self, store: Store, session: str, owned: str = "") -> None:
        await store.create(SessionRecord(session, "/work", 1.0, 1.0), owned=bool(owned))

    async def acquire(self, store: Store, session: str) -> object:
        return await store.acquire(session)

    async def release(self, store: Store, session: str) -> None:
        await store.release(session)

    async def append(self, store: Store, session: str, *words: str) -> object:
        return await store.append(session, [MessageChunk("agent", Text(" ".join(words)))])

    async def patch(self, store: Store, session: str, title: str) -> None:
        await store.patch(session, title=title)

    async def delete(self, store: Store, session: str) -> None:
        await store.delete(session)

    async def fork(self, store: Store, session: str, copy: str) -> None:
        await store.fork(session, SessionRecord(copy, "/work", 2.0, 2.0), owned=True)

    async def read(self, store: Store, session: str) -> object:
        events: list[Any] = await store.read(session)
        return [event.block.text for event in events]

    async def list(self, store: Store) -> object:
        return [record.id for record in (await store.list_sessions()).records]

    async def close(self, store: Store) -> None:
        await store.close()

    async def child(self, _: Store) -> object:
        number = os.fork()
        if number == 0:
            os.close(1)
            signal.pause()
        return number

    async def program(self, _: Store) -> object:
        return subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).pid  # noqa: ASYNC220


async def hold(*arguments: str) -> None:
    holder = Holder(*arguments)
    say("ready")
    for line in sys.stdin:
        try:
            say(await holder.do(line))
        except StoreError as error:
            say(error.reason)


def main() -> int:
    asyncio.run(hold(*sys.argv[1:]))
    return 0
