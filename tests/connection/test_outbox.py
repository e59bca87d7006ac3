"""What leaves: in the order in which it was said, also where nobody waits for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from accord.connection import Connection
from accord.errors import CallTimeout, ConnectionLost
from accord.protocol import v1
from accord.transport import StreamTransport, memory_pair
from accord.transport.interface import QueueingTransport, Transport
from accord.wire import Framing
from tests.connection.rig import Hand, initialize

LINKS = ["memory", "pipes", "threads", "headers", "no queue"]
NEW = v1.NewSessionRequest("/", [])


class Plain:
    """A transport of somebody else: it has what a transport must have, and no more."""

    def __init__(self, inner: Transport) -> None:
        self.send = inner.send
        self.receive = inner.receive
        self.close = inner.close


@asynccontextmanager
async def linked(kind: str) -> AsyncIterator[tuple[Connection, Hand]]:
    ours: Transport
    theirs: Transport
    if kind in ("memory", "no queue"):
        near, theirs = memory_pair()
        ours = Plain(near) if kind == "no queue" else near
    else:
        framing: Framing = "headers" if kind == "headers" else "lines"
        (here, there), (back, forth) = os.pipe(), os.pipe()
        ours = StreamTransport(here, forth, framing=framing, force_threads=kind == "threads")
        theirs = StreamTransport(back, there, framing=framing)
    assert isinstance(ours, QueueingTransport) is (kind != "no queue")
    async with asyncio.timeout(30), Connection(ours, "client") as connection:
        hand = Hand(theirs)
        await initialize(connection, hand)
        yield connection, hand
        await theirs.close()


async def say(connection: Connection, session: str) -> None:
    await connection.notify(v1.SESSION_CANCEL, v1.CancelNotification(session))


@pytest.mark.parametrize("kind", LINKS)
async def test_a_call_is_withdrawn_before_anything_else_is_said(kind: str) -> None:
    async with linked(kind) as (connection, hand):
        for number in range(20):
            # In a burst and alone, where nothing has to be looked at and where it has.
            for _ in range(number % 3):
                await say(connection, "before")
            with pytest.raises(CallTimeout):
                await connection.call(v1.SESSION_NEW, NEW, timeout_seconds=0.001)
            await say(connection, "after")
            heard = [await hand.hear() for _ in range(number % 3 + 3)]
            *_, asked, withdrawn, after = heard
            assert withdrawn["method"] == "$/cancel_request"
            assert withdrawn["params"] == {"requestId": asked["id"]}
            assert after["params"] == {"sessionId": "after"}


@pytest.mark.parametrize("kind", LINKS)
async def test_the_order_holds_where_the_peer_does_not_read_for_a_while(kind: str) -> None:
    async with linked(kind) as (connection, hand):
        calling = asyncio.ensure_future(connection.call(v1.SESSION_NEW, NEW))
        await asyncio.sleep(0.01)
        prompts = [
            asyncio.ensure_future(
                connection.call(v1.SESSION_PROMPT, v1.PromptRequest("s", [v1.TextContent("x" * 700_000)]))
            )
            for _ in range(6)
        ]
        await asyncio.sleep(0.05)
        calling.cancel()
        await asyncio.wait([calling])
        after = asyncio.ensure_future(say(connection, "after"))
        heard: list[str] = []
        while len(heard) < 3 + len(prompts):
            heard.append((await hand.hear())["method"])
        await after
        expected = ["session/new", *["session/prompt"] * len(prompts), "$/cancel_request", "session/cancel"]
        assert heard == expected
        for prompt in prompts:
            prompt.cancel()
        await asyncio.wait(prompts)


@pytest.mark.parametrize("kind", LINKS)
async def test_what_is_posted_on_a_link_that_is_gone_is_gone_too(kind: str) -> None:
    async with linked(kind) as (connection, _):
        await connection.transport.close()
        connection._outbox.post(b'{"jsonrpc":"2.0","method":"_x"}')
        with pytest.raises(ConnectionLost):
            await connection.call(v1.SESSION_NEW, NEW)


@pytest.mark.parametrize("kind", ["pipes", "no queue"])
async def test_an_observer_that_fails_does_not_keep_a_withdrawal_back(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(way: str, text: bytes) -> None:
        if way == "out" and b"$/cancel_request" in text:
            raise ValueError("not this one")

    async with linked(kind) as (connection, hand):
        connection.observe(fail)
        with pytest.raises(CallTimeout):
            await connection.call(v1.SESSION_NEW, NEW, timeout_seconds=0.001)
        assert [(await hand.hear())["method"] for _ in range(2)] == ["session/new", "$/cancel_request"]
    assert "an observer failed" in caplog.text
