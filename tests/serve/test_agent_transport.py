"""The agent's end of a remote connection: what is offered is taken at once, what is sent is delivered in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest

from accord.serve.agent_transport import AgentTransport
from accord.transport.interface import Take, receive_into
from accord.transport.write_buffer import SLICE_BYTES

CALLER = ContextVar("CALLER", default="the client")


class Peer:
    """The connection of a client that reads everything."""

    def __init__(self) -> None:
        self.delivered: list[bytes] = []

    def has_room(self, size_bytes: int) -> bool:  # noqa: ARG002 - the interface
        return True

    def is_over(self) -> bool:
        return False

    def deliver(self, text: bytes | bytearray) -> None:
        self.delivered.append(bytes(text))

    def deliver_all(self, texts: Sequence[bytes | bytearray]) -> None:
        self.delivered += map(bytes, texts)

    def end(self, reason: str) -> None: ...


@asynccontextmanager
async def receiving(transport: AgentTransport, take: Take) -> AsyncIterator[asyncio.Task[bool]]:
    async def receive() -> bool:
        CALLER.set("the agent")
        return await receive_into(transport, take)

    receiver = asyncio.create_task(receive())
    await asyncio.sleep(0)
    try:
        yield receiver
    finally:
        transport.hang_up()
        await asyncio.gather(receiver, return_exceptions=True)


async def test_a_text_is_taken_in_the_step_in_which_it_is_offered_and_in_the_context_of_the_agent() -> None:
    taken: list[tuple[bytes, str]] = []

    def take(texts: list[bytes]) -> bool:
        taken.extend((text, CALLER.get()) for text in texts)
        return True

    transport = AgentTransport(Peer())
    transport.offer(b"early")
    async with receiving(transport, take):
        transport.offer(b"1")
        transport.offer(b"2")
        assert taken == [(b"early", "the agent"), (b"1", "the agent"), (b"2", "the agent")]
        assert CALLER.get() == "the client"


async def test_texts_wait_while_the_agent_wants_no_more_and_keep_their_order() -> None:
    taken: list[bytes] = []

    def take(texts: list[bytes]) -> bool:
        taken.extend(texts)
        return b"enough" not in texts

    transport = AgentTransport(Peer())
    async with receiving(transport, take) as receiver:
        for text in (b"1", b"enough", b"2", b"3"):
            transport.offer(text)
        assert taken == [b"1", b"enough"]
        assert await receiver is True
        assert await transport.receive() == [b"2", b"3"]


async def test_what_the_agent_raises_is_raised_where_it_receives() -> None:
    def take(_: list[bytes]) -> bool:
        raise ValueError("an observer")

    transport = AgentTransport(Peer())
    async with receiving(transport, take) as receiver:
        transport.offer(b"1")
        with pytest.raises(ValueError, match="an observer"):
            await receiver


async def test_the_end_is_seen_behind_the_last_text() -> None:
    taken: list[bytes] = []

    def take(texts: list[bytes]) -> bool:
        taken.extend(texts)
        return True

    transport = AgentTransport(Peer())
    async with receiving(transport, take) as receiver:
        transport.offer(b"last")
        transport.hang_up()
        assert await receiver is False
    assert taken == [b"last"]


async def test_an_agent_whose_client_reads_is_not_made_to_yield() -> None:
    peer = Peer()
    transport = AgentTransport(peer)
    half = bytes(SLICE_BYTES // 2 - 1)
    assert transport.try_send([half, half])
    assert not transport.try_send([half])  # so much without a turn of the loop
    transport.advance()
    assert transport.try_send([half])
    assert peer.delivered == [half] * 3
