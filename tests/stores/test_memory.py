"""The store in memory keeps every promise but the one to outlive its process."""

from __future__ import annotations

import asyncio

import pytest

from accord.errors import StoreError
from accord.stores import MemoryStore, Store, check_store
from tests.stores.sessions import record, words


async def test_it_keeps_the_promises_of_a_store() -> None:
    async def make_store(_: str) -> Store:
        return MemoryStore()

    await check_store(make_store, reopens=False)


async def test_a_long_log_is_read_without_stopping_the_loop() -> None:
    store = MemoryStore()
    await store.create(record())
    await store.append("a", words(5_000))
    turns = 0
    reading = asyncio.create_task(store.read("a"))
    while not reading.done():
        turns += 1
        await asyncio.sleep(0)
    assert await reading == words(5_000)
    assert turns >= 10


async def test_closing_tells_what_nobody_was_told() -> None:
    store = MemoryStore()
    store.queue("none", words(1))
    with pytest.raises(StoreError) as caught:
        await store.close()
    assert caught.value.reason == "unknown_session"
    await store.close()
