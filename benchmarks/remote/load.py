"""Many connections with several active sessions each, in one loop over epoll: every session prompts again and again."""

from __future__ import annotations

import itertools
import re
import select
import socket
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from benchmarks.remote.raw_link import (
    READ_BYTES,
    TIMEOUT_SECONDS,
    HttpConnection,
    WebSocketConnection,
    answer_pings,
    frame,
    opened,
    prompt,
)
from benchmarks.remote.server_process import ServerProcess

__all__ = ["LoadShape", "prompt_all"]

_ANSWER = re.compile(rb'"id": ?(\d+), ?"result": ?\{[^{}\r\n]{0,200}?"stopReason"')
_UPDATE = re.compile(rb'"sessionId": ?"([^"]+)"[^\r\n]{0,300}?"text": ?"(\d{8}) ')
_ANSWER_BYTES = 512
_SIZE = 100


@dataclass(frozen=True)
class LoadShape:
    """How many of everything."""

    connections: int
    sessions: int
    """Of each connection."""
    prompts: int
    """Of each session, one after the other."""
    updates: int
    """Of each prompt."""


@dataclass
class _Session:
    """A session of a connection, and its prompts that are not sent yet, ready as bytes."""

    connection: WebSocketConnection | HttpConnection
    prompts: deque[tuple[int, bytes]]
    open_prompts: dict[int, _Session]
    """The prompts of the connection that are not answered."""
    sent_at: float = 0.0
    latencies: list[float] = field(default_factory=list)

    def go_on(self) -> None:
        if self.prompts:
            number, data = self.prompts.popleft()
            self.open_prompts[number] = self
            self.sent_at = time.perf_counter()
            self.connection.write(data)


@dataclass
class _Stream:
    """One socket that is read, and everything that came on it."""

    link: socket.socket
    open_prompts: dict[int, _Session]
    chunks: list[bytes] = field(default_factory=list)
    rest: bytes = b""

    def read(self) -> int:
        """Read once; the number of prompts that were answered."""
        chunk = self.link.recv(READ_BYTES)
        if not chunk:
            raise ConnectionError("the server closed a stream")
        now, answered = time.perf_counter(), 0
        answer_pings(self.link, chunk)
        self.chunks.append(chunk)
        data = self.rest + chunk
        self.rest = data[-_ANSWER_BYTES:]
        if b'"stopReason"' in data:
            for found in _ANSWER.finditer(data):
                session = self.open_prompts.pop(int(found[1]), None)
                if session is not None:  # not one that was found in the read before
                    answered += 1
                    session.latencies.append(now - session.sent_at)
                    session.go_on()
        return answered


def prompt_all(kind: str, server: ServerProcess, shape: LoadShape) -> dict[str, float]:
    """The latencies of all prompts, and what the server took for them.

    Raises:
        ValueError: An update was lost, came twice or in another order.
    """
    streams: dict[int, _Stream] = {}
    sessions: list[_Session] = []
    connections = [opened(kind, server) for _ in range(shape.connections)]
    for number, connection in enumerate(connections):
        for stream, session in _open_sessions(connection, shape):
            streams[stream.link.fileno()] = stream
            sessions.append(session)
        if number % 20 == 0:
            for each in connections:
                if isinstance(each, WebSocketConnection):
                    each.refresh()
    poll = select.epoll()
    for descriptor in streams:
        poll.register(descriptor, select.EPOLLIN)
    for connection in connections:
        connection.refresh()
    wanted, answered = len(sessions) * shape.prompts, 0
    cpu, began = server.cpu_seconds(), time.perf_counter()
    for session in sessions:
        session.go_on()
    while answered < wanted:
        if time.perf_counter() - began > TIMEOUT_SECONDS:
            raise TimeoutError(f"{wanted - answered} of {wanted} prompts have no answer")
        for descriptor, _ in poll.poll(1.0):
            answered += streams[descriptor].read()
    wall, spent = time.perf_counter() - began, server.cpu_seconds() - cpu
    poll.close()
    lost = _lost(streams.values(), len(sessions), shape)
    latencies = sorted(each for session in sessions for each in session.latencies)
    return {
        "p50_ms": latencies[len(latencies) // 2] * 1e3,
        "p99_ms": latencies[int(len(latencies) * 0.99)] * 1e3,
        "prompts_per_s": wanted / wall,
        "server_cpu_us_per_prompt": spent / wanted * 1e6,
        "not_in_order": lost,
        "posts_again": float(sum(each.posts_again for each in connections if isinstance(each, HttpConnection))),
    }


def _open_sessions(
    connection: WebSocketConnection | HttpConnection, shape: LoadShape
) -> Iterator[tuple[_Stream, _Session]]:
    open_prompts: dict[int, _Session] = {}
    streams: dict[int, _Stream] = {}
    numbers = itertools.count(1000)
    for _ in range(shape.sessions):
        session_id = connection.new_session()
        data: deque[tuple[int, bytes]] = deque()
        for number in itertools.islice(numbers, shape.prompts):
            text = prompt(number, session_id, shape.updates, _SIZE)
            if isinstance(connection, WebSocketConnection):
                data.append((number, frame(text)))
            else:
                data.append((number, connection.post(text, session_id)))
        reader = connection.link if isinstance(connection, WebSocketConnection) else connection.streams[session_id]
        yield (
            streams.setdefault(reader.fileno(), _Stream(reader, open_prompts)),
            _Session(connection, data, open_prompts),
        )


def _lost(streams: Iterable[_Stream], sessions: int, shape: LoadShape) -> float:
    """How many sessions did not get exactly their updates in their order."""
    wanted = list(range(shape.updates)) * shape.prompts
    seen: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for place, stream in enumerate(streams):
        for session_id, number in _UPDATE.findall(b"".join(stream.chunks)):
            seen[place, session_id].append(int(number))
    return float(sessions - sum(numbers == wanted for numbers in seen.values()))
