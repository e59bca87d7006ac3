"""The order of sent texts, also of those without a waiting sender."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from accord.connection import Connection
from accord.errors import CallTimeout, ConnectionLost
from accord.protocol import v1
from accord.protocol.edition import V1
from accord.transport import StreamTransport, memory_pair
from accord.transport.interface import Transport
from accord.wire import Framing
from tests.connection.rig import Hand, initialize
from tests.limits import limit
from tests.tables import rows
from tests.transport.one_by_one import MinimalTransport

LINKS = ["memory", "pipes", "threads", "headers", "plain"]
NEW = v1.NewSessionRequest("/", [])


class Plain(MinimalTransport):
    """A transport of somebody else: it does what a transport must do, and no more."""

    def __init__(self, inner: Transport) -> None:
        self.send = inner.send
        self.receive = inner.receive
        self.close = inner.close


@asynccontextmanager
async def linked(kind: str) -> AsyncIterator[tuple[Connection, Hand]]:
    ours: Transport
    theirs: Transport
    if kind in ("memory", "plain"):
        near, theirs = memory_pair()
        ours = Plain(near) if kind == "plain" else near
    else:
        framing: Framing = "headers" if kind == "headers" else "lines"
        (here, there), (back, forth) = os.pipe(), os.pipe()
        ours = StreamTransport(here, forth, framing=framing, force_threads=kind == "threads")
        theirs = StreamTransport(back, there, framing=framing)
    async with asyncio.timeout(limit(30)), Connection(ours, "client") as connection:
        hand = Hand(theirs)
        await initialize(connection, hand)
        yield connection, hand
        await theirs.close()


async def say(connection: Connection, session: str) -> None:
    await connection.notify(v1.SESSION_CANCEL, v1.CancelNotification(session))


@rows("kind", LINKS)
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


@rows("kind", LINKS)
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


@rows("kind", LINKS)
async def test_what_is_posted_on_a_link_that_is_gone_is_gone_too(kind: str) -> None:
    async with linked(kind) as (connection, _):
        await connection.transport.close()
        connection._sender.post(b'{"jsonrpc":"2.0","method":"_x"}')
        with pytest.raises(ConnectionLost):
            await connection.call(v1.SESSION_NEW, NEW)


@pytest.mark.parametrize("kind", ["pipes", "plain"])
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


class Moody(Plain):
    """A transport that takes texts at once, except when it is told not to."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self._inner = inner
        self.refusals = 0

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        if self.refusals:
            self.refusals -= 1
            return False
        return self._inner.try_send(texts)


async def test_an_update_does_not_overtake_a_posted_text() -> None:
    near, far = memory_pair()
    link, hand = Moody(near), Hand(far)
    async with asyncio.timeout(limit(30)), Connection(link, "client") as connection:
        await initialize(connection, hand)
        for _ in range(2):
            await say(connection, "first")
        link.refusals = 1
        connection.post(v1.SESSION_CANCEL, v1.CancelNotification("posted"))
        assert not connection.try_notify(v1.SESSION_CANCEL, [v1.CancelNotification("not sent")])
        await say(connection, "after")
        heard = [(await hand.hear())["params"]["sessionId"] for _ in range(4)]
        assert heard == ["first", "first", "posted", "after"]
        await say(connection, "last")
        assert connection.try_notify(v1.SESSION_CANCEL, [v1.CancelNotification("at once")])
        assert [(await hand.hear())["params"]["sessionId"] for _ in range(2)] == ["last", "at once"]


async def test_who_waits_behind_a_posted_text_keeps_its_place_and_may_leave_it() -> None:
    near, far = memory_pair(max_bytes=100)
    link, hand = Moody(near), Hand(far)
    async with asyncio.timeout(limit(30)), Connection(link, "client") as connection:
        connection._receiver.edition = V1
        filling = asyncio.ensure_future(say(connection, "f" * 200))
        await asyncio.sleep(0)
        posted = connection._sender.post(b'"posted"')
        assert posted is not None
        first, left, last = (asyncio.ensure_future(say(connection, name)) for name in ("first", "left", "last"))
        await asyncio.sleep(0)
        again = connection._sender.post(b'"again"')
        left.cancel()
        heard = [await hand.hear() for _ in range(5)]
        assert [each if isinstance(each, str) else each["params"]["sessionId"][:5] for each in heard] == [
            "fffff",
            "posted",
            "first",
            "last",
            "again",
        ]
        await asyncio.gather(filling, first, last, posted, again)  # type: ignore[arg-type]
        assert left.cancelled()


async def test_what_is_queued_when_the_connection_closes_fails() -> None:
    near, _far = memory_pair(max_bytes=100)
    async with asyncio.timeout(limit(30)):
        async with Connection(Plain(near), "client") as connection:
            connection._receiver.edition = V1
            filling = asyncio.ensure_future(say(connection, "f" * 200))
            await asyncio.sleep(0)
            connection._sender.post(b'"posted"')
            queued = asyncio.ensure_future(say(connection, "queued"))
            await asyncio.sleep(0)
        for sending in (filling, queued):
            with pytest.raises(ConnectionLost):
                await sending
