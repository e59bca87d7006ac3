"""A TCP proxy that resets every connection after a short random time."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import AsyncIterator

__all__ = ["CuttingProxy", "cutting_proxy"]

# A close that sends RST at once and drops what was not delivered.
_RESET = struct.pack("ii", 1, 0)


class CuttingProxy:
    """Forwards bytes to a port, and cuts from `begin` to `end`; `cuts` counts the connections that it has reset."""

    def __init__(self, port: int, seed: int, min_seconds: float, max_seconds: float) -> None:
        self.cuts = 0
        self._cutting = asyncio.Event()
        self._port = port
        self._draw = random.Random(seed)
        self._span = (min_seconds, max_seconds)
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.transport.abort()
            return
        waiting = asyncio.create_task(self._cutting.wait())
        pumps = [asyncio.create_task(_pump(reader, back)), asyncio.create_task(_pump(there, writer))]
        try:
            await asyncio.wait([*pumps, waiting], return_when=asyncio.FIRST_COMPLETED)
            if not any(pump.done() for pump in pumps):
                seconds = self._draw.uniform(*self._span)
                await asyncio.wait(pumps, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not any(pump.done() for pump in pumps):
                self.cuts += 1
        finally:
            for each in (*pumps, waiting):
                each.cancel()
            for carrier in (writer, back):
                _reset(carrier)
            self._tasks.discard(task)

    def begin(self) -> None:
        self._cutting.set()

    def end(self) -> None:
        self._cutting.clear()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(64 * 1024):
            writer.write(data)
            await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    carrier = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        carrier.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


@contextlib.asynccontextmanager
async def cutting_proxy(
    port: int, *, seed: int, min_seconds: float = 0.05, max_seconds: float = 0.5
) -> AsyncIterator[tuple[CuttingProxy, int]]:
    """The proxy, and its own port."""
    proxy = CuttingProxy(port, seed, min_seconds, max_seconds)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    try:
        yield proxy, int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await proxy.close()
