"""A TCP balancer for the tests: round robin, no affinity, health checks; it can cut its links.

It takes a server out that does not answer `/ready` with 200. With `cuts` it ends its links then; docs/fleet.md has one
that does not, because the turns of a node that drains run on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

CHECK_SECONDS = 0.4


@dataclass(eq=False)
class _Backend:
    port: int
    is_up: bool = True
    links: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> int:
        for writer in list(self.links):
            writer.transport.abort()
        return len(self.links)


class Balancer:
    """Forwards each connection to the next server that is up."""

    def __init__(self, *, cuts: bool = True) -> None:
        self._cuts = cuts
        self._backends: dict[str, _Backend] = {}
        self._next = 0
        self.port = 0

    def set(self, name: str, port: int) -> None:
        """A server has come, or come back at another port."""
        if name in self._backends:
            self._backends[name].cut()
        self._backends[name] = _Backend(port)

    def cut(self) -> int:
        """Cut every link; how many there were."""
        return sum(backend.cut() for backend in self._backends.values())

    async def _open(self) -> tuple[_Backend, asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in range(len(self._backends)):
            up = [backend for backend in self._backends.values() if backend.is_up]
            if not up:
                return None
            self._next += 1
            backend = up[self._next % len(up)]
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", backend.port)
            except OSError:
                backend.is_up = False
            else:
                return backend, reader, writer
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened = await self._open()
        if opened is None:
            writer.transport.abort()
            return
        backend, server_reader, server_writer = opened
        ends = {writer, server_writer}
        backend.links |= ends
        try:
            await asyncio.gather(_pump(reader, server_writer), _pump(server_reader, writer))
        finally:
            backend.links -= ends
            for end in ends:
                end.close()

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await asyncio.gather(*(self._check_one(backend) for backend in list(self._backends.values())))

    async def _check_one(self, backend: _Backend) -> None:
        is_up = await _is_ready(backend.port)
        if not is_up:
            is_up = await _is_ready(backend.port)
        if backend.is_up and not is_up and self._cuts:
            backend.cut()
        backend.is_up = is_up

    @classmethod
    @asynccontextmanager
    async def running(cls, *, cuts: bool = True) -> AsyncIterator[Balancer]:
        balancer = cls(cuts=cuts)
        async with await asyncio.start_server(balancer._serve, "127.0.0.1", 0) as server:
            balancer.port = server.sockets[0].getsockname()[1]
            checking = asyncio.create_task(balancer._check())
            try:
                yield balancer
            finally:
                checking.cancel()
                balancer.cut()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


async def _is_ready(port: int) -> bool:
    try:
        async with asyncio.timeout(CHECK_SECONDS * 2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return b" 200 " in await reader.readline()
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError):
        return False
