"""The rich conversation with our own client: where it takes place, how it is held, and what it leaves behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from accord.session.capability import ClientCapabilities
from accord.session.client_requests import SessionSummary
from accord.session.entry import Message, Plan, ToolCall
from accord.session.transcript import Transcript
from accord.transport import spawn
from accord.transport.interface import ProcessTransport
from tests.conversations.normalisation import normalised
from tests.conversations.rich_client import RichClient, connected
from tests.forked import forked_python
from tests.transport.processes import exists

if TYPE_CHECKING:
    from tests.postgres import Database, PostgresServer

__all__ = ["AGENT", "GREETING", "WAYS", "Held", "Stage", "Way", "hold", "outline", "replayable", "stage_on"]

# All warnings are wanted: whatever the agent writes to its stderr fails.
AGENT = (sys.executable, "-W", "default", str(Path(__file__).with_name("rich_agent.py")))
GREETING = "Go away!\nYours, the program\n"


class Way(NamedTuple):
    """An edition, and what the client offers in it."""

    edition: Edition
    capabilities: ClientCapabilities

    def __str__(self) -> str:
        return f"{self.edition.name}{' with everything' if self.capabilities.terminals else ''}"


PLAIN = ClientCapabilities(toggles=True)
WAYS = [
    Way(V1, PLAIN),
    Way(V1, ClientCapabilities(read_files=True, write_files=True, terminals=True, toggles=True)),
    Way(V2_JUNE, PLAIN),
    Way(V2, PLAIN),
]


class Held(NamedTuple):
    """A conversation that was held: live, after the first restart, with a turn more, and after the second."""

    live: Transcript
    milestones: list[Any]
    asked: list[tuple[str, str | None, str]]
    reopened: Transcript
    continued: Transcript
    again: Transcript
    listed: list[SessionSummary]


class Stage:
    """A project and a place for the store; the same path for every conversation, because paths are told."""

    def __init__(self, root: Path, database: Database | None = None) -> None:
        self.project = root / "project"
        self.state = root / "state"
        self._database = database

    @property
    def environment(self) -> dict[str, str | None]:
        """Of the agent: its store is a file in `state`, or the database that was given."""
        place = {} if self._database is None else {"RICH_AGENT_STORE": self._database.conninfo}
        return {"XDG_STATE_HOME": str(self.state), **place}

    def clear(self) -> None:
        for place in (self.project, self.state):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
        if self._database is not None:
            self._database.run("drop schema if exists accord cascade")
        (self.project / "greeting.txt").write_text(GREETING, encoding="utf-8")

    @contextlib.asynccontextmanager
    async def agent(self, way: Way, *, killed: bool = False, fresh: bool = False) -> AsyncIterator[RichClient]:
        """The agent as a process, which ends with its client: by itself, or by force.

        With `fresh` it has an interpreter of its own, which also warns of what is left open at its end.
        """
        with contextlib.nullcontext() if fresh else forked_python():
            child = await spawn(*AGENT, env=self.environment)
        async with connected(child, way.edition, way.capabilities, self.project) as client:
            yield client
            if killed:
                os.kill(child.pid, signal.SIGKILL)
        _check_end(child, -signal.SIGKILL if killed else 0)
        if killed and self._database is not None:
            await self._database.notices_death()


def stage_on(request: pytest.FixtureRequest, root: Path) -> Iterator[Stage]:
    """The stage of a module: its fixture asks for `sqlite` or `postgres`."""
    if request.param == "sqlite":
        yield Stage(root)
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with server.database() as database:
        yield Stage(root, database)


def _check_end(child: ProcessTransport, status: int) -> None:
    assert (child.exit_status, child.stderr_tail) == (status, ""), f"{child.exit_status}: {child.stderr_tail}"
    assert not exists(child.pid)


async def hold(way: Way, stage: Stage) -> Held:
    stage.clear()
    async with stage.agent(way) as client:
        session_id = await client.open()
        await client.set_mode("code")
        await client.set_option("model", "large")
        await client.prompt("fix")
        client.cancel_at = "Watching."
        await client.prompt("wait")
        live, milestones, asked = client.transcript, client.milestones, client.asked
    async with stage.agent(way, killed=True) as client:
        await client.reopen(session_id)
        reopened = Transcript(client.transcript.events())
        await client.prompt("recall")
        continued = client.transcript
    async with stage.agent(way, fresh=way is WAYS[0]) as client:
        await client.reopen(session_id)
        again, listed = client.transcript, await client.list_sessions()
        assert [session.id for session in listed] == [session_id]
        await client.close_session()
    return Held(live, milestones, asked, reopened, continued, again, listed)


def replayable(transcript: Transcript) -> dict[str, Any]:
    return normalised(transcript, states=False)


def outline(transcript: Transcript) -> list[tuple[Any, ...]]:
    """The timeline in a few words."""
    found: list[tuple[Any, ...]] = []
    for entry in transcript.timeline:
        match entry:
            case Message():
                found.append((entry.speaker, entry.text))
            case ToolCall():
                found.append((entry.kind, entry.title, entry.status))
            case Plan():
                found.append(("plan", *((step.content, step.status, step.priority) for step in entry.entries)))
            case _:
                found.append((type(entry).__name__,))
    return found
