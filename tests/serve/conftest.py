"""One server for all tests that leave nothing behind in it: to start one costs more than most of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.limits import limit
from tests.serve.server_process import ServerProcess, serving


@pytest.fixture(scope="session")
def server_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the shared server; its root is in it."""
    return tmp_path_factory.mktemp("shared-server")


@pytest.fixture(scope="session")
def shared_process(server_root: Path) -> Iterator[ServerProcess]:
    """The server; its loop runs in a thread, because every test has a loop of its own."""
    started: list[ServerProcess] = []
    is_started, is_over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with serving(server_root, "served_agent:agent") as server:
            started.append(server)
            is_started.set()
            while not is_over.is_set():
                await asyncio.sleep(0.1)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    # Also where an interrupt comes before the first test: pytest ends a fixture only behind its `yield`, and the thread
    # would keep the run, and after a second interrupt the server, alive.
    try:
        assert is_started.wait(limit(40.0))
        yield started[0]
    finally:
        is_over.set()
        thread.join(limit(40.0))


@pytest.fixture
def shared_server(shared_process: ServerProcess) -> int:
    """The port of the shared server; its token is `secret`."""
    return shared_process.port
