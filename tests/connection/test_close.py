"""Closing: from any place, once, in bounded time, with a reason, and without a waiter left behind."""

import asyncio
from typing import Any

import pytest

from accord.connection import Connection, Handlers
from accord.errors import ConnectionLost, FrameError
from accord.protocol import v1
from accord.transport import memory_pair
from tests.connection.rig import agent_handlers, initialized, talk, until
from tests.limits import limit
from tests.transport.one_by_one import MinimalTransport


async def test_close_is_idempotent_and_may_be_called_by_many() -> None:
    async with initialized("agent") as (connection, _):
        await asyncio.gather(*(connection.close() for _ in range(5)))
        await connection.close()
        assert await connection.wait_closed() is None
        assert not connection.is_open


async def test_a_request_handler_may_close_the_connection() -> None:
    closed = asyncio.Event()
    handlers = agent_handlers()
    async with initialized("agent", handlers) as (connection, hand):

        async def leave(_: Any) -> None:
            await connection.close()
            closed.set()

        handlers.on(v1.SESSION_SET_MODE, leave)
        await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        async with asyncio.timeout(limit(5)):
            await closed.wait()
            await connection.wait_closed()


async def test_a_notification_handler_may_close_the_connection() -> None:
    closed = asyncio.Event()
    handlers = Handlers()
    async with initialized("client", handlers) as (connection, hand):

        async def leave(_: Any) -> None:
            await connection.close()
            closed.set()

        handlers.on(v1.SESSION_UPDATE, leave)
        await hand.update("s", "bye")
        async with asyncio.timeout(limit(5)):
            await closed.wait()
            await connection.wait_closed()


async def test_close_cancels_what_runs_and_fails_what_waits() -> None:
    cancelled: list[str] = []
    handlers = Handlers()

    async def stuck(_: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("handler")
            raise

    handlers.on(v1.SESSION_UPDATE, stuck)
    async with initialized("client", handlers) as (connection, hand):
        calling = asyncio.ensure_future(connection.call(v1.SESSION_NEW, v1.NewSessionRequest("/", [])))
        await hand.update("s", "0")
        await until(lambda: connection.backlog_bytes > 0)
        await asyncio.sleep(0)
        await connection.close()
        assert cancelled == ["handler"]
        with pytest.raises(ConnectionLost) as caught:
            await calling
        assert caught.value.clean


async def test_a_handler_that_ignores_its_cancellation_does_not_hold_up_the_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("accord.connection.connection._STOP_SECONDS", limit(0.1))
    release = asyncio.Event()
    handlers = agent_handlers()

    async def stubborn(_: Any) -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    handlers.on(v1.SESSION_SET_MODE, stubborn)
    async with initialized("agent", handlers) as (connection, hand):
        await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        await asyncio.sleep(0.01)
        async with asyncio.timeout(limit(4)):
            await connection.close()
        release.set()
        await asyncio.sleep(0)


async def test_what_the_peer_said_before_it_left_is_still_handled() -> None:
    seen: list[str] = []
    handlers = Handlers()

    async def slow(params: Any) -> None:
        await asyncio.sleep(0)
        seen.append(params.update.content.text)

    handlers.on(v1.SESSION_UPDATE, slow)
    async with initialized("client", handlers) as (connection, hand):
        for index in range(100):
            await hand.update("s", str(index))
        await hand.transport.close()
        assert await connection.wait_closed() is None
    assert seen == [str(index) for index in range(100)]


async def test_a_handler_that_never_returns_ends_after_the_grace_when_the_peer_is_gone() -> None:
    ended = asyncio.Event()
    handlers = agent_handlers()

    async def stuck(_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    handlers.on(v1.SESSION_SET_MODE, stuck)
    async with initialized("agent", handlers, grace_seconds=0.05) as (connection, hand):
        await hand.ask("session/set_mode", {"sessionId": "s", "modeId": "m"})
        await asyncio.sleep(0)
        await hand.transport.close()
        async with asyncio.timeout(limit(5)):
            await connection.wait_closed()
        assert ended.is_set()


async def test_a_frame_over_the_limit_ends_the_connection_with_a_reason() -> None:
    class Broken(MinimalTransport):
        """Delivers one fault, as a stream whose frame is too large does."""

        def __init__(self) -> None:
            self.sent: list[bytes] = []

        async def send(self, text: bytes | bytearray) -> None:
            self.sent.append(bytes(text))

        async def receive(self) -> list[bytes]:
            raise FrameError("too large", limit_bytes=10)

        async def close(self) -> None:
            pass

    transport = Broken()
    async with Connection(transport, "agent", agent_handlers()) as connection:
        reason = await connection.wait_closed()
        assert isinstance(reason, FrameError)
        assert b'"id":null' in transport.sent[0]


async def test_a_transport_that_breaks_its_contract_ends_the_connection_with_a_reason() -> None:
    class Broken(MinimalTransport):
        async def send(self, text: bytes | bytearray) -> None:
            raise NotImplementedError

        async def receive(self) -> list[bytes]:
            raise RuntimeError("boom")

        async def close(self) -> None:
            raise RuntimeError("boom again")

    async with Connection(Broken(), "agent", agent_handlers()) as connection:
        reason = await connection.wait_closed()
        assert isinstance(reason, ConnectionLost)
        assert "boom" not in str(reason)


async def test_no_task_survives_a_connection() -> None:
    before = len(asyncio.all_tasks())
    for _ in range(5):
        async with initialized("agent") as (_, hand):
            await hand.ask("session/new", {"cwd": "/", "mcpServers": []})
    await until(lambda: len(asyncio.all_tasks()) <= before)


async def test_leaving_the_context_while_an_exception_passes_closes_too() -> None:
    ours, _ = memory_pair()
    connection = Connection(ours, "agent", agent_handlers())
    with pytest.raises(KeyError):
        async with connection:
            raise KeyError
    assert not connection.is_open


# --- observers


async def test_observers_see_every_text_in_both_directions_also_broken_ones() -> None:
    seen: list[tuple[str, bytes]] = []
    async with talk("agent") as (connection, hand):
        stop = connection.observe(lambda direction, text: seen.append((direction, text)))
        await hand.say(b"{broken")
        await hand.hear()
        assert seen[0] == ("in", b"{broken")
        assert seen[1][0] == "out"
        assert b"-32700" in seen[1][1]
        stop()
        await hand.is_alive()
        assert len(seen) == 2
