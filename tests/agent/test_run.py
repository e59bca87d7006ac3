"""Agents as real processes: on pipes, with signals, stray prints, and one database for two of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accord import stores
from accord.agent import Agent
from accord.errors import ConnectionLost, LocalProtocolError
from accord.stores import MemoryStore, SqliteStore
from accord.transport import Transport, memory_pair, spawn
from accord.transport.interface import ProcessTransport
from tests.agent.rig import EDITIONS, Hand, Heard, agent_of, served
from tests.agent.sessions import error_of, messages, reopen
from tests.forked import forked_python
from tests.limits import limit
from tests.transport.one_by_one import MinimalTransport
from tests.transport.processes import runs, until

PROGRAM = str(Path(__file__).with_name("program.py"))
HELLO: dict[str, dict[str, Any]] = {
    "v1": {"protocolVersion": 1, "clientCapabilities": {}},
    "v2": {"protocolVersion": 2, "info": {"name": "hand", "version": "1"}, "capabilities": {}},
    "v2_june": {"protocolVersion": 2, "clientInfo": {"name": "hand", "version": "1"}, "capabilities": {}},
}

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="signals, modes and /proc as Linux has them"),
    pytest.mark.timeout(100),
]


class Running:
    """The program, and the hand on its other end."""

    def __init__(self, child: ProcessTransport, hand: Hand) -> None:
        self.child = child
        self.hand = hand

    async def ended(self) -> ConnectionLost:
        """What its client sees when it ends by itself; what it says before that is in `hand.received`."""
        try:
            while True:
                await self.hand.hear()
        except ConnectionLost as lost:
            return lost


@contextlib.asynccontextmanager
async def running(state: Path, edition: str = "v1", *, fresh: bool = False) -> AsyncIterator[Running]:
    """A fork of this process; `fresh`: an interpreter that starts from nothing."""
    # What a program prints before it runs is still in its buffer then, as Python has it by default (a fork always).
    environment: dict[str, str | None] = {"XDG_STATE_HOME": str(state), **({"PYTHONUNBUFFERED": None} if fresh else {})}
    with contextlib.nullcontext() if fresh else forked_python():
        child = await spawn(sys.executable, PROGRAM, env=environment, grace_seconds=limit(10.0))
    hand = Hand(child, edition)
    try:
        assert "result" in await hand.request("initialize", HELLO[edition])
        yield Running(child, hand)
    finally:
        await child.close()


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_program_serves_the_client_that_started_it(edition: str, tmp_path: Path) -> None:
    async with running(tmp_path, edition, fresh=edition == "v1") as program:
        session = await program.hand.new_session(str(tmp_path))
        assert (await program.hand.turn(session, "hello")).text == "You said: hello"
    assert program.child.exit_status == 0
    assert "Traceback" not in program.child.stderr_tail


async def test_stray_prints_of_a_program_go_to_stderr(tmp_path: Path) -> None:
    async with running(tmp_path, fresh=True) as program:
        session = await program.hand.new_session(str(tmp_path))
        assert (await program.hand.turn(session, "print")).text == "printed"
    for stray in ("before it runs", "a stray print", "a stray write", "a stray child", "after it ran"):
        assert stray in program.child.stderr_tail


@pytest.mark.usefixtures("short_graces")
async def test_a_program_ends_when_its_client_has_nothing_more_to_say(tmp_path: Path) -> None:
    """The end of stdin in the middle of a turn: the handler and its command are ended, and the status is 0."""
    async with running(tmp_path) as program:
        session = await program.hand.new_session(str(tmp_path))
        await program.hand.prompt(session, "hang")
        pids = await hanging(program.hand)
    assert program.child.exit_status == 0
    assert "after it ran" in program.child.stderr_tail
    assert await until(lambda: not any(map(runs, pids)))


async def hanging(hand: Hand) -> list[int]:
    message = await hand.hear_until(lambda message: Heard([message]).text != "")
    return [int(pid) for pid in Heard([message]).text.split()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_program_that_is_asked_to_end_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    async with running(tmp_path) as program:
        session = await program.hand.new_session(str(tmp_path))
        await program.hand.prompt(session, "hang")
        pids = await hanging(program.hand)
        os.kill(pids[0], number)
        lost = await program.ended()
    assert lost.exit_status == 0
    assert "Traceback" not in lost.stderr_tail
    assert await until(lambda: not any(map(runs, pids)))
    async with running(tmp_path) as program:
        heard = await reopen(program.hand, session, cwd=str(tmp_path))
        assert messages(heard)[0] == ("user", "hang")


@pytest.mark.parametrize("prompt", ["stubborn", "unending"])
async def test_a_handler_that_does_not_want_to_end_is_left_behind(
    prompt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The program is a fork.
    monkeypatch.setattr("accord.agent.signals.STOP_SECONDS", limit(0.2))
    async with running(tmp_path) as program:
        session = await program.hand.new_session(str(tmp_path))
        await program.hand.prompt(session, prompt)
        pids = await hanging(program.hand)
        os.kill(pids[0], signal.SIGTERM)
        async with asyncio.timeout(limit(30)):
            lost = await program.ended()
    assert lost.exit_status == 0
    assert await until(lambda: not any(map(runs, pids)))


# --- where it keeps its sessions


async def test_sessions_are_kept_in_the_state_folder_for_their_owner_alone(tmp_path: Path) -> None:
    async with running(tmp_path / "state") as program:
        await program.hand.new_session(str(tmp_path))
    path = tmp_path / "state" / "accord" / "runner" / "sessions.db"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_two_programs_share_one_database(edition: str, tmp_path: Path) -> None:
    async with running(tmp_path, edition) as one, running(tmp_path, edition) as other:
        first = await one.hand.new_session(str(tmp_path))
        second = await other.hand.new_session(str(tmp_path))
        for number in range(5):
            turns = (one.hand.turn(first, f"a{number}"), other.hand.turn(second, f"b{number}"))
            assert [heard.stop_reason for heard in await asyncio.gather(*turns)] == ["end_turn", "end_turn"]
        for program in (one, other):
            listed = (await program.hand.request("session/list", {}))["result"]["sessions"]
            assert {info["sessionId"] for info in listed} == {first, second}
        await one.hand.request("session/close", {"sessionId": first})
        heard = await reopen(other.hand, first, cwd=str(tmp_path))
        assert messages(heard)[-2:] == [("user", "a4"), ("agent", "You said: a4")]


async def test_a_program_that_may_not_write_anywhere_says_so_to_its_client(tmp_path: Path) -> None:
    (tmp_path / "accord").write_text("in the way")
    async with running(tmp_path) as program:
        error = error_of(await program.hand.request("session/new", {"cwd": str(tmp_path), "mcpServers": []}))
        assert error["code"] == -32603
        assert error["data"]["reason"].startswith("store_")
        assert str(tmp_path) not in str(error)
        assert await program.hand.is_alive()


# --- the same, without a process


def test_the_default_store_is_made_when_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    agent = Agent("keeper")
    agent.prompt(lambda _: None)
    store = agent.store
    assert isinstance(store, SqliteStore)
    assert store.path == stores.default_path("keeper")
    assert agent.store is store
    assert list(tmp_path.iterdir()) == []

    async def close() -> None:
        await agent.close()
        await agent.close()

    asyncio.run(close())
    assert agent.store is not store
    asyncio.run(close())


async def test_a_store_that_was_given_is_its_givers_to_close() -> None:
    store = MemoryStore()
    agent = agent_of(lambda _: None, store=store)
    async with served(agent) as hand:
        await hand.new_session()
    await agent.close()
    assert len((await store.list_sessions()).records) == 1


@pytest.fixture
def stdio(monkeypatch: pytest.MonkeyPatch) -> Transport:
    """The client's end of what the agent takes for its stdin and stdout."""
    ours, theirs = memory_pair()
    monkeypatch.setattr("accord.transport.open_stdio", lambda: ours)
    return theirs


async def test_run_async_returns_when_its_client_is_gone(stdio: Transport) -> None:
    task = asyncio.ensure_future(agent_of(lambda _: None).run_async())
    hand = Hand(stdio, "v1")
    await hand.request("initialize", HELLO["v1"])
    await stdio.close()
    async with asyncio.timeout(limit(10)):
        await task


async def test_run_async_returns_when_the_process_is_asked_to_end(stdio: Transport) -> None:
    before = signal.getsignal(signal.SIGTERM)
    task = asyncio.ensure_future(agent_of(lambda _: None).run_async())
    hand = Hand(stdio, "v1")
    await hand.request("initialize", HELLO["v1"])
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(limit(10)):
        await task
    assert signal.getsignal(signal.SIGTERM) is before


async def test_run_async_that_is_cancelled_says_so_to_who_cancelled_it(stdio: Transport) -> None:
    task = asyncio.ensure_future(agent_of(lambda _: None).run_async())
    hand = Hand(stdio, "v1")
    await hand.request("initialize", HELLO["v1"])
    task.cancel()
    async with asyncio.timeout(limit(10)):
        await asyncio.wait([task])
    assert task.cancelled()


@pytest.mark.usefixtures("stdio")
async def test_run_async_says_what_its_author_forgot() -> None:
    with pytest.raises(LocalProtocolError, match="prompt"):
        await Agent("tested", store=None).run_async()


def test_run_works_in_any_thread(stdio: Transport) -> None:
    agent = agent_of(lambda _: None)
    asyncio.run(stdio.close())
    thread = threading.Thread(target=agent.run)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


async def test_an_agent_serves_several_clients_at_once() -> None:
    agent = agent_of(lambda turn: turn.say(turn.text))
    async with served(agent, "v1") as one, served(agent, "v2") as two, served(agent, "v2_june") as three:
        for hand in (one, two, three):
            assert (await hand.turn(await hand.new_session(), hand.edition)).text == hand.edition


class Cut(MinimalTransport):
    """A link that breaks as soon as somebody listens."""

    async def send(self, text: bytes | bytearray) -> None:
        raise ConnectionLost(f"the cable is cut before {len(text)} bytes")

    async def receive(self) -> list[bytes]:
        raise ConnectionLost("the cable is cut")

    async def close(self) -> None:
        """There is nothing to close."""


async def test_a_link_that_breaks_is_logged_and_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.timeout(limit(10)):
        await agent_of(lambda _: None).serve(Cut())
    assert "the client is gone: the cable is cut" in caplog.text
