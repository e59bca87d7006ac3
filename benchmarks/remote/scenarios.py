"""The measured scenarios of a server: streamed updates, idle connections, and many active sessions."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from benchmarks.remote.load import LoadShape, prompt_all
from benchmarks.remote.raw_link import HttpConnection, WebSocketConnection, numbers_in, opened
from benchmarks.remote.server_process import ServerProcess

__all__ = ["SCENARIOS", "Scenario"]

_SIZE = 100
_WARM_UPDATES = 1000
# Freed memory is given back, and what was begun is done, some time after the last connection.
_SETTLE_SECONDS = 1.0


class Scenario(NamedTuple):
    """`play` is given a fresh server, and whether counts are small."""

    play: Callable[..., dict[str, float]]
    most_rounds: int


def stream(kind: str, server: ServerProcess, *, quick: bool) -> dict[str, float]:
    """One prompt with many updates, after a smaller one that warms the server."""
    updates = 10_000 if quick else 50_000
    connection = opened(kind, server)
    session_id = connection.new_session()
    connection.stream(session_id, _WARM_UPDATES, _SIZE)
    cpu, began = server.cpu_seconds(), time.perf_counter()
    data = connection.stream(session_id, updates, _SIZE)
    wall, spent = time.perf_counter() - began, server.cpu_seconds() - cpu
    connection.close()
    if numbers_in(data) != list(range(updates)):
        raise ValueError(f"received {len(numbers_in(data))} updates of {updates}, or in another order")
    return {"updates_per_s": updates / wall, "server_cpu_us_per_update": spent / updates * 1e6}


def idle(kind: str, server: ServerProcess, *, quick: bool) -> dict[str, float]:
    """Connections that do nothing: memory of the server with them, and again when each has a session."""
    count = 200 if quick else 1000
    first = opened(kind, server)
    first.new_session()
    before = server.memory_bytes()
    connections: list[WebSocketConnection | HttpConnection] = []
    for number in range(count):
        connections.append(opened(kind, server))
        _refresh_some(connections, number)
    time.sleep(_SETTLE_SECONDS)
    connected = server.memory_bytes()
    for number, connection in enumerate(connections):
        connection.new_session()
        _refresh_some(connections, number)
    time.sleep(_SETTLE_SECONDS)
    with_sessions = server.memory_bytes()
    for connection in [first, *connections]:
        connection.close()
    return {
        "rss_mb": connected / 2**20,
        "kb_per_connection": (connected - before) / 1024 / count,
        "rss_with_sessions_mb": with_sessions / 2**20,
        "kb_with_session": (with_sessions - before) / 1024 / count,
    }


def _refresh_some(connections: list[WebSocketConnection | HttpConnection], number: int) -> None:
    if number % 100 == 0:
        for connection in connections:
            if isinstance(connection, WebSocketConnection):
                connection.refresh()


def load(kind: str, server: ServerProcess, *, quick: bool) -> dict[str, float]:
    """200 connections with 5 sessions each that prompt all the time."""
    shape = LoadShape(40, 5, 3, 10) if quick else LoadShape(200, 5, 5, 10)
    return prompt_all(kind, server, shape)


SCENARIOS = {
    f"{name}, {kind}": Scenario(partial(play, kind), most_rounds)
    for name, play, most_rounds in (("stream", stream, 99), ("load", load, 5), ("idle", idle, 3))
    for kind in ("ws", "http")
}
