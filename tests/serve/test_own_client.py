"""Our client with our server, over both transports: the engine of both sides, and a link that is cut in a turn."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import pytest

import accord
from tests.limits import limit
from tests.serve.server_process import ServerProcess
from tests.transport.processes import until


@pytest.mark.parametrize("scheme", ["ws", "http"])
@pytest.mark.parametrize("edition", ["1", "2"])
async def test_our_client_has_a_conversation_with_our_server(
    shared_process: ServerProcess, server_root: Path, scheme: str, edition: Literal["1", "2"]
) -> None:
    root = str(server_root / "root")
    url = f"{scheme}://127.0.0.1:{shared_process.port}/acp"
    async with accord.connect(url, token=shared_process.token, edition=edition) as agent:
        session = await agent.new_session(cwd=root)
        async with session.prompt("stream 3000") as turn:
            async for _ in turn:
                pass
        assert turn.stop_reason == "end_turn"
        assert session.transcript.text.endswith("".join(f"<{number}>" for number in range(3000)))
        session_id = session.id
    async with accord.connect(url, token=shared_process.token, edition=edition) as agent:
        again = await agent.load_session(session_id, cwd=root)
        assert "<2999>" in again.transcript.text


async def test_a_client_is_told_which_answer_of_another_client_counts(
    shared_process: ServerProcess, server_root: Path
) -> None:
    root = str(server_root / "root")
    url = f"ws://127.0.0.1:{shared_process.port}/acp"
    asked = asyncio.Event()

    async def wait(_question: Any) -> None:
        asked.set()
        await asyncio.Event().wait()

    async def allow(_question: Any) -> bool:
        await asked.wait()
        return True

    one = accord.connect(url, token=shared_process.token, permission=wait)
    two = accord.connect(url, token=shared_process.token, permission=allow)
    async with asyncio.timeout(limit(30.0)), one as first, two as second:
        session = await first.new_session(cwd=root)
        # A session that is nothing but new is not kept yet, and cannot be loaded.
        await session.prompt("hello")
        await second.load_session(session.id, cwd=root)
        # The withdrawn callback ends by itself: the turn may be over first where all comes in one read.
        events: list[Any] = []
        session.listen(events.append)
        await session.prompt("ask")
        assert await until(lambda: any(isinstance(event, accord.Noticed) for event in events))
    notices = [event for event in events if isinstance(event, accord.Noticed)]
    assert [notice.meta for notice in notices] == [{"accord/answered": {"outcome": "selected", "optionId": "allow"}}]
    assert "[allow]" in session.transcript.text


class CuttingProxy:
    """Forwards to a server; `cut` resets all links at random times, so many times."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._links: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._port)
        ends = {writer, server_writer}
        self._links |= ends
        await asyncio.gather(pump(reader, server_writer), pump(server_reader, writer))
        self._links -= ends

    async def cut(self, cuts: int) -> None:
        draw = random.Random(18)
        for _ in range(cuts):
            await asyncio.sleep(draw.uniform(0.05, 0.5))
            for writer in list(self._links):
                writer.transport.abort()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def proxied(port: int) -> AsyncIterator[tuple[int, CuttingProxy]]:
    proxy = CuttingProxy(port)
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], proxy


@pytest.mark.parametrize("scheme", ["ws", "http"])
@pytest.mark.parametrize("cuts", [4, pytest.param(100, marks=[pytest.mark.every, pytest.mark.timeout(900)])])
async def test_no_update_is_lost_or_doubled_while_links_are_cut(
    shared_process: ServerProcess, server_root: Path, scheme: str, cuts: int
) -> None:
    async with proxied(shared_process.port) as (port, proxy):
        url = f"{scheme}://127.0.0.1:{port}/acp"
        async with accord.connect(url, token=shared_process.token) as agent:
            session = await agent.new_session(cwd=str(server_root / "root"))
            cutting = asyncio.ensure_future(proxy.cut(cuts))
            while not cutting.done():
                async with session.prompt("stream 5000") as turn:
                    async for _ in turn:
                        pass
                assert turn.stop_reason == "end_turn"
                assert turn.answer == "".join(f"<{number}>" for number in range(5000))
