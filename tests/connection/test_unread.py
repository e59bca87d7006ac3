"""A peer that has closed its input and keeps its output open: calls that cannot reach it fail, others go on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import Mock

import pytest

from accord.connection import Connection
from accord.errors import ConnectionLost
from accord.protocol import v1
from accord.protocol.edition import V1
from accord.trace.connection_trace import RecordedTransport
from accord.transport.streams import StreamTransport
from tests.limits import limit

BOUND_SECONDS = limit(10.0)
IN_BOTH_SINKS = pytest.mark.parametrize("force_threads", [False, True], ids=["polled", "threads"])


class Peer:
    """The other ends of the two pipes."""

    def __init__(self, reads: int, writes: int) -> None:
        self.reads = reads
        self.writes = writes

    async def hear(self) -> Any:
        return json.loads(await asyncio.to_thread(os.read, self.reads, 100_000))

    def say(self, value: Any) -> None:
        os.write(self.writes, json.dumps(value).encode() + b"\n")

    def close_input(self) -> None:
        os.close(self.reads)
        self.reads = -1


@contextlib.asynccontextmanager
async def connected(
    *, framing: Any = "lines", force_threads: bool = False, recorder: Any = None
) -> AsyncIterator[tuple[Connection, Peer]]:
    (reads, their_output), (their_input, writes) = os.pipe(), os.pipe()
    peer = Peer(their_input, their_output)
    stream = StreamTransport(reads, writes, framing=framing, force_threads=force_threads)
    transport: Any = stream if recorder is None else RecordedTransport(stream, recorder)
    try:
        async with asyncio.timeout(BOUND_SECONDS):
            async with Connection(transport, "client", edition=V1) as connection:
                yield connection, peer
    finally:
        for descriptor in (peer.reads, peer.writes):
            if descriptor >= 0:
                os.close(descriptor)


def call(connection: Connection, cwd: str = "/", timeout_seconds: float | None = None) -> asyncio.Task[Any]:
    params = v1.NewSessionRequest(cwd=cwd, mcp_servers=[])
    return asyncio.ensure_future(connection.call(v1.SESSION_NEW, params, timeout_seconds=timeout_seconds))


@IN_BOTH_SINKS
@pytest.mark.parametrize("seconds", [None, BOUND_SECONDS], ids=["no timeout", "timeout"])
@pytest.mark.parametrize("framing", ["lines", "headers"])
async def test_each_of_several_calls_fails(framing: str, seconds: float | None, force_threads: bool) -> None:  # noqa: FBT001
    async with connected(framing=framing, force_threads=force_threads) as (connection, peer):
        peer.close_input()
        # The first is written at once, the others when the loop has had a turn.
        calls = [call(connection, timeout_seconds=seconds) for _ in range(3)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(each) for each in outcomes] == [ConnectionLost] * 3
        with pytest.raises(ConnectionLost):
            await call(connection, timeout_seconds=seconds)


@IN_BOTH_SINKS
async def test_a_call_that_was_written_in_part_fails(force_threads: bool) -> None:  # noqa: FBT001
    async with connected(force_threads=force_threads) as (connection, peer):
        calling = call(connection, cwd="/" + "x" * 1_000_000)
        assert await asyncio.to_thread(os.read, peer.reads, 10)
        peer.close_input()
        with pytest.raises(ConnectionLost):
            await calling


async def test_a_call_that_the_peer_has_read_is_answered_after_others_have_failed() -> None:
    async with connected() as (connection, peer):
        before = call(connection)
        heard = await peer.hear()
        peer.close_input()
        outcomes = await asyncio.gather(call(connection), call(connection), return_exceptions=True)
        assert [type(each) for each in outcomes] == [ConnectionLost] * 2
        peer.say({"jsonrpc": "2.0", "id": heard["id"], "result": {"sessionId": "s"}})
        assert (await before).session_id == "s"


async def test_calls_fail_also_through_a_recorder() -> None:
    async with connected(recorder=Mock()) as (connection, peer):
        peer.close_input()
        outcomes = await asyncio.gather(call(connection), call(connection), return_exceptions=True)
        assert [type(each) for each in outcomes] == [ConnectionLost] * 2
