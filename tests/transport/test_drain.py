"""What a stream says of texts that are not written, and of a peer that is gone while nobody receives."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from accord.transport import StreamTransport
from tests.transport.processes import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="watched pipes: run it on Linux or macOS")

LARGE = b"x" * (4 * 1024 * 1024)


class Ends:
    """A transport and the raw other ends of its two pipes."""

    def __init__(self, *, force_threads: bool = False) -> None:
        read_from, self.write_to = os.pipe()
        self.read_from, write_to = os.pipe()
        self.transport = StreamTransport(read_from, write_to, force_threads=force_threads)

    async def read(self, size_bytes: int) -> None:
        left = size_bytes
        while left:
            left -= len(await asyncio.to_thread(os.read, self.read_from, left))


@pytest.mark.parametrize("force_threads", [False, True])
async def test_drain_waits_until_the_peer_has_read_a_large_text(force_threads: bool) -> None:  # noqa: FBT001
    ends = Ends(force_threads=force_threads)
    async with asyncio.timeout(20):
        await ends.transport.drain()
        await ends.transport.send(LARGE)
        draining = asyncio.ensure_future(ends.transport.drain())
        await asyncio.wait((draining,), timeout=0.1)
        assert not draining.done()
        await ends.read(len(LARGE) + 1)
        await draining
        await ends.transport.close()


async def test_drain_ends_with_close_and_when_the_peer_no_longer_reads() -> None:
    async with asyncio.timeout(20):
        closed, broken = Ends(), Ends()
        drains = []
        for ends in (closed, broken):
            await ends.transport.send(LARGE)
            drains.append(asyncio.ensure_future(ends.transport.drain()))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(closed.transport.close())
        os.close(broken.read_from)
        await asyncio.gather(*drains, closing)
        await closed.transport.drain()
        await broken.transport.close()


async def test_a_peer_that_is_gone_is_seen_while_nobody_receives() -> None:
    ends = Ends()
    assert not ends.transport.hung_up()
    os.write(ends.write_to, b"{}\n")
    assert not ends.transport.hung_up()
    os.close(ends.write_to)
    await until(ends.transport.hung_up)
    assert await ends.transport.receive() == b"{}"
    await ends.transport.close()
