"""Texts that are larger than every buffer, and a peer that is gone while no receiver waits."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from accord.errors import ConnectionLost
from accord.transport import StreamTransport
from tests.limits import limit
from tests.tables import rows
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


@rows("force_threads", [False, True])
async def test_the_sender_of_a_large_text_waits_until_the_peer_has_read_it(force_threads: bool) -> None:  # noqa: FBT001
    ends = Ends(force_threads=force_threads)
    async with asyncio.timeout(limit(20)):
        sending = asyncio.ensure_future(ends.transport.send(LARGE))
        await asyncio.wait((sending,), timeout=0.1)
        assert not sending.done()
        assert not ends.transport.try_send([b"small"])
        await ends.read(len(LARGE) + 1)
        await sending
        await ends.transport.close()


async def test_a_cancelled_sender_of_a_large_text_has_sent_all_of_it() -> None:
    ends = Ends()
    async with asyncio.timeout(limit(20)):
        sending = asyncio.ensure_future(ends.transport.send(LARGE))
        await asyncio.wait((sending,), timeout=0.1)
        sending.cancel()
        await asyncio.wait((sending,))
        behind = asyncio.ensure_future(ends.transport.send(b"{}"))
        await ends.read(len(LARGE) + 1)
        await behind
        assert await asyncio.to_thread(os.read, ends.read_from, 100) == b"{}\n"
        await ends.transport.close()


async def test_the_sender_of_a_large_text_is_told_of_a_close_and_of_a_peer_that_no_longer_reads() -> None:
    async with asyncio.timeout(limit(20)):
        closed, broken = Ends(), Ends()
        sending = [asyncio.ensure_future(ends.transport.send(LARGE)) for ends in (closed, broken)]
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(closed.transport.close())
        os.close(broken.read_from)
        losses = await asyncio.gather(*sending, return_exceptions=True)
        assert [isinstance(loss, ConnectionLost) and loss.clean for loss in losses] == [True, False]
        await closing
        await broken.transport.close()


async def test_a_peer_that_is_gone_is_seen_while_nobody_receives() -> None:
    ends = Ends()
    assert not ends.transport.hung_up
    os.write(ends.write_to, b"{}\n")
    assert not ends.transport.hung_up
    os.close(ends.write_to)
    await until(lambda: ends.transport.hung_up)
    assert await ends.transport.receive() == [b"{}"]
    await ends.transport.close()
