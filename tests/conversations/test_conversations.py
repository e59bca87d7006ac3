"""The same whole conversation in every edition over every way there is: who says what, and in which order."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from accord.protocol.edition import EDITIONS, Edition
from accord.transport import StreamTransport, Transport, memory_pair, spawn
from accord.wire import Framing
from tests.conversations.agent import CHUNKS, FILE, ScriptedAgent
from tests.conversations.client import NOTES, ScriptedClient
from tests.limits import limit
from tests.transport.processes import SOURCES, exists

AGENT = str(Path(__file__).with_name("agent.py"))


class Way(NamedTuple):
    """What lies between the two."""

    link: Literal["memory", "pipes", "socketpair", "child"]
    client: Framing = "lines"
    agent: Framing = "lines"
    force_threads: bool = False

    def __str__(self) -> str:
        return f"{self.link}-{self.client}-{self.agent}{'-threads' if self.force_threads else ''}"


FRAMINGS: tuple[tuple[Framing, Framing], ...] = (
    ("lines", "lines"),
    ("headers", "headers"),
    ("lines", "auto"),
    ("headers", "auto"),
)
WAYS = [
    Way("memory"),
    *[Way("pipes", *framing) for framing in FRAMINGS],
    *[Way("socketpair", *framing) for framing in FRAMINGS],
    *[Way("child", *framing) for framing in FRAMINGS],
    Way("pipes", force_threads=True),
    Way("pipes", "headers", "auto", force_threads=True),
    Way("child", force_threads=True),
]


def pair(way: Way) -> tuple[Transport, Transport]:
    """Both ends in this process: the client's and the agent's."""
    if way.link == "memory":
        return memory_pair()
    if way.link == "pipes":
        from_agent, to_client = os.pipe()
        from_client, to_agent = os.pipe()
        ends = ((from_agent, to_agent), (from_client, to_client))
    else:
        left, right = (end.detach() for end in socket.socketpair())
        ends = ((left, os.dup(left)), (right, os.dup(right)))
    return (
        StreamTransport(*ends[0], framing=way.client, force_threads=way.force_threads),
        StreamTransport(*ends[1], framing=way.agent, force_threads=way.force_threads),
    )


@asynccontextmanager
async def connected(way: Way) -> AsyncIterator[Transport]:
    """A scripted agent at the other end; afterwards nothing of it is left."""
    if way.link == "child":
        more = ("threads",) if way.force_threads else ()
        environment = {"PYTHONPATH": SOURCES}
        argv = (sys.executable, "-X", "dev", "-W", "error", AGENT, way.agent, *more)
        child = await spawn(*argv, env=environment, framing=way.client, grace_seconds=10)
        yield child
        await child.close()
        assert (child.exit_status, child.stderr_tail) == (0, "")
        assert not exists(child.pid)
        return
    ours, theirs = pair(way)
    agent = ScriptedAgent(theirs).connection
    agent.start()
    yield ours
    async with asyncio.timeout(limit(10)):
        assert await agent.wait_closed() is None


WORK = [
    "tool t pending",
    *[f"says {number}" for number in range(CHUNKS)],
    "may t: Allow",
    "tool t completed",
]
EXPECTED = {
    "v1": [
        "version 1",
        "opened session-1",
        f"read {FILE}",
        *WORK,
        f"says {len(NOTES)} characters, yes.",
        "answer end_turn",
        "sum 6",
        "says Waiting.",
        "says Stopped.",
        "answer cancelled",
        "closed",
    ],
    "v2": [
        "version 2",
        "opened session-1",
        "place m-user",
        "running",
        *WORK,
        "says yes.",
        "idle end_turn",
        "answer m-user",
        "sum 6",
        "place m-user",
        "running",
        "says Waiting.",
        "says Stopped.",
        "idle cancelled",
        "answer m-user",
        "closed",
    ],
    "v2_june": [
        "version 2",
        "opened session-1",
        *WORK,
        "says yes.",
        "answer end_turn",
        "sum 6",
        "says Waiting.",
        "says Stopped.",
        "answer cancelled",
        "closed",
    ],
}


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_whole_conversation_is_the_same_over_every_transport(way: Way, edition: Edition) -> None:
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(connected(way))
        client = ScriptedClient(transport, edition)
        async with client.connection as connection:
            await client.initialize()
            session_id = await client.open_session()
            await client.prompt(session_id, "work")
            await client.sum(1, 2, 3)
            await client.prompt(session_id, "wait")
            await client.close_session(session_id)
        assert client.received == EXPECTED[edition.name]
        assert connection.backlog_bytes == 0
        assert connection.stray_answers == 0
        assert vars(connection.counts) == dict.fromkeys(vars(connection.counts), 0)
