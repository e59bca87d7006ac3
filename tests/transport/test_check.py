"""The checker passes what keeps its promises and says in a sentence what does not."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Literal

import pytest

from accord.errors import ConnectionLost
from accord.transport import StreamTransport, Transport, TransportCheckFailed, check, check_transport, memory_pair
from accord.transport.remote import RemoteTransport
from tests.client.clock import timeless
from tests.limits import limit
from tests.transport.remote_peers import http_pairs, websocket_pairs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    Pairs = Callable[[], AbstractAsyncContextManager[Callable[[], Awaitable[tuple[Transport, Transport]]]]]

    MakePairSoon = Callable[[], Awaitable[tuple[Transport, Transport]]]
    MakePair = Callable[[], tuple[Transport, Transport]]


def pipes(framing: Literal["lines", "headers", "auto"] = "lines", *, force_threads: bool = False) -> MakePair:
    def make() -> tuple[Transport, Transport]:
        right_in, left_out = os.pipe()
        left_in, right_out = os.pipe()
        return (
            StreamTransport(left_in, left_out, framing=framing, force_threads=force_threads),
            StreamTransport(right_in, right_out, framing=framing, force_threads=force_threads),
        )

    return make


def sockets() -> tuple[Transport, Transport]:
    left, right = socket.socketpair()
    ends = [StreamTransport(os.dup(end.fileno()), os.dup(end.fileno())) for end in (left, right)]
    left.close()
    right.close()
    return ends[0], ends[1]


WAYS: dict[str, MakePair] = {
    "memory": memory_pair,
    "pipes, lines": pipes(),
    "pipes, headers": pipes("headers"),
    "pipes, auto": pipes("auto"),
    "pipes, threads": pipes(force_threads=True),
    "pipes, headers, threads": pipes("headers", force_threads=True),
    "sockets": sockets,
}


# In these the other end does not receive, and closing waits as long as it may; in all others it receives what was sent.
UNRECEIVED = {"_close_wakes_senders", "_send_after_close"}


def short_where_nobody_receives(make_pair: MakePairSoon, monkeypatch: pytest.MonkeyPatch) -> MakePairSoon:
    """Makes the pairs of `check_transport`, one for each of its checks; where a close waits in vain, it is short."""
    names = iter([each.__name__ for each in check._CHECKS])
    assert {each.__name__ for each in check._CHECKS} > UNRECEIVED

    async def make() -> tuple[Transport, Transport]:
        seconds = 0.1 if next(names) in UNRECEIVED else limit(5.0)
        for name in ("streams.FLUSH_SECONDS", "http.FLUSH_SECONDS", "websocket.CLOSE_SECONDS"):
            monkeypatch.setattr(f"accord.transport.{name}", seconds)
        monkeypatch.setattr(RemoteTransport.__init__, "__defaults__", (seconds,))
        return await make_pair()

    return make


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_keeps_the_promises(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def make_pair() -> tuple[Transport, Transport]:
        return WAYS[way]()

    await check_transport(short_where_nobody_receives(make_pair, monkeypatch))


@pytest.mark.parametrize("pairs", [websocket_pairs, http_pairs])
async def test_the_way_to_an_address_keeps_the_promises(pairs: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
    async with pairs() as make_pair:
        await check_transport(short_where_nobody_receives(make_pair, monkeypatch))


class Faulty:
    """A memory transport with one fault."""

    def __init__(self, inner: Transport, fault: str) -> None:
        self._inner = inner
        self._fault = fault
        self._held: list[bytes] = []
        self._closed = False

    async def send(self, text: bytes | bytearray) -> None:
        if self._fault == "takes texts after close" and self._closed:
            return
        if self._fault == "tears large texts" and len(text) > 60_000:
            await self._inner.send(text[:60_000])
            text = text[60_000:]
        if self._fault == "swaps texts" and not self._held:
            self._held.append(bytes(text))
            return
        await self._inner.send(text)
        for held in self._held:
            await self._inner.send(held)
        self._held.clear()

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        match self._fault:
            case "sends some of several texts":
                return not texts or (self._inner.try_send(texts[:1]) and len(texts) == 1)
            case "sends several texts later":
                asyncio.get_running_loop().call_soon(self._inner.try_send, list(texts))
                return True
            case "takes texts for nobody":
                self._inner.try_send(texts)
                return True
            case _:
                return self._inner.try_send(texts)

    async def receive(self) -> list[bytes]:
        if self._fault == "never wakes a receiver":
            if self._closed:
                await asyncio.Event().wait()
            receiving = asyncio.ensure_future(self._inner.receive())
            texts = await receiving
            if not texts:
                await asyncio.Event().wait()
            return texts
        return await self._inner.receive()

    @property
    def hung_up(self) -> bool:
        return self._fault == "gives up too early" or self._inner.hung_up

    async def close(self) -> None:
        if self._fault == "fails to close twice" and self._closed:
            raise ConnectionLost
        self._closed = True
        await self._inner.close()


FAULTS = [
    "takes texts after close",
    "tears large texts",
    "swaps texts",
    "never wakes a receiver",
    "fails to close twice",
    "sends some of several texts",
    "sends several texts later",
    "takes texts for nobody",
    "gives up too early",
]


@pytest.mark.parametrize("fault", FAULTS)
@timeless
async def test_a_broken_promise_is_named(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.transport.check.PATIENCE_SECONDS", 1.0)

    async def make_pair() -> tuple[Transport, Transport]:
        left, right = memory_pair()
        return Faulty(left, fault), right

    with pytest.raises(TransportCheckFailed):
        await check_transport(make_pair)


async def test_a_transport_without_pressure_is_found_out() -> None:
    async def make_pair() -> tuple[Transport, Transport]:
        return memory_pair(max_bytes=1 << 40)

    with pytest.raises(TransportCheckFailed, match="without a receiver"):
        await check_transport(make_pair)
