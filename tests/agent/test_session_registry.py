"""The session registry ends sessions also when something does not end by itself."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from accord.agent import Extension, Session, Turn
from accord.agent.client_connection import ClientConnection
from accord.agent.registrations import LoginGate, Registrations
from accord.agent.session_registry import SessionRegistry
from accord.errors import LocalProtocolError, StoreError
from accord.session.agent_requests import ReadFile
from accord.session.capability import AgentCapabilities, Implementation
from accord.session.client_requests import NewSession
from accord.session.event import InfoChanged
from accord.stores import MemoryStore
from accord.transport import memory_pair
from tests.agent.rig import EDITIONS, Heard, agent_of, served
from tests.agent.sessions import CWD


async def test_a_registry_without_a_client_and_a_store_opens_and_deletes_nothing() -> None:
    absent: Any = cast("Any", None)
    registry = SessionRegistry(
        Registrations(Implementation("tested", "1")), None, absent, absent, AgentCapabilities(), grace_seconds=1.0
    )
    with pytest.raises(LocalProtocolError, match="initialize"):
        await registry.new(NewSession(CWD))
    with pytest.raises(LocalProtocolError, match="keeps nothing"):
        await registry.delete("some")
    await registry.close()


class Hanging(MemoryStore):
    """A store that does not come back from a commit until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.waits = asyncio.Event()

    async def commit(self, session_id: str, ticket: int) -> None:
        self.waits.set()
        await self.go.wait()
        await super().commit(session_id, ticket)


class Failing(Hanging):
    """One that comes back with a failure."""

    async def commit(self, session_id: str, ticket: int) -> None:
        await super().commit(session_id, ticket)
        raise StoreError("no space", reason="full")


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_session_whose_last_words_cannot_be_kept_is_closed_all_the_same(
    edition: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Failing()
    agent = agent_of(lambda _: None, store=store)

    @agent.request("_tell")
    async def say(call: Extension) -> None:
        assert call.session is not None
        await call.session.send(InfoChanged("last words"))

    async with served(agent, edition) as hand:
        session = await hand.new_session()
        assert "result" in await hand.request("_tell", {"sessionId": session})
        await store.waits.wait()
        closing = await hand.ask("session/close", {"sessionId": session})
        await hand.drain()
        store.go.set()
        assert (await hand.answer_to(closing))["result"] == {}
        assert Heard(hand.received).updates == []
    assert "the end of a session could not be kept" in caplog.text


async def test_nothing_can_be_asked_before_the_handshake() -> None:
    ours, _ = memory_pair()
    registrations = Registrations(Implementation("tested", "1"))
    link = ClientConnection(
        ours, registrations, None, LoginGate(registrations), strict=False, drafts=False, cancel_grace_seconds=1.0
    )
    with pytest.raises(LocalProtocolError, match="no edition"):
        await link.call(ReadFile("some", "/file"))


async def publish(store: Hanging, caplog: pytest.LogCaptureFixture) -> None:
    """Let the store go on as soon as nobody waits for it any more."""
    while "did not end in time" not in caplog.text:
        await asyncio.sleep(0.05)
    store.go.set()


@pytest.mark.usefixtures("short_graces")
async def test_a_client_that_vanishes_while_the_store_hangs_is_let_go(caplog: pytest.LogCaptureFixture) -> None:
    store = Hanging()
    calls: list[str] = []
    agent = agent_of(lambda turn: calls.append(turn.text), store=store, cancel_grace_seconds=0.0)
    async with served(agent) as hand:
        await hand.prompt(await hand.new_session())
        await store.waits.wait()
        telling = asyncio.ensure_future(publish(store, caplog))
    await telling
    assert calls == []
    assert "did not end in time" in caplog.text


@pytest.mark.usefixtures("short_graces")
@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_session_that_cannot_be_ended_cleanly_does_not_keep_the_others(
    edition: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    close = Session._close

    async def fail_once(session: Session) -> None:
        await close(session)
        ended.append(session.id)
        if len(ended) == 1:
            raise ValueError

    monkeypatch.setattr(Session, "_close", fail_once)

    async def wait(turn: Turn) -> None:
        await turn.say("working")
        await asyncio.Event().wait()

    async with served(agent_of(wait), edition) as hand:
        sessions = [await hand.new_session() for _ in range(3)]
        for session in sessions:
            await hand.prompt(session)
            await hand.said("working")
    assert sorted(ended) == sorted(sessions)
    assert "could not be ended cleanly" in caplog.text


@pytest.mark.usefixtures("short_graces")
@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_client_that_vanishes_while_a_session_is_opened_leaves_none(edition: str) -> None:
    store = MemoryStore()
    agent = agent_of(lambda _: None, store=store)
    waits = asyncio.Event()
    sessions: list[Session] = []

    @agent.on_session
    async def prepare(session: Session) -> None:
        sessions.append(session)
        waits.set()
        await asyncio.Event().wait()

    async with served(agent, edition) as hand:
        await hand.ask("session/new", {"cwd": CWD, "mcpServers": []})
        await waits.wait()
    assert sessions[0].is_closed
    assert (await store.list_sessions()).records == []
