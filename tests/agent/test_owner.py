"""A session that another process has open: one named error or a read-only view, and no change to the other's work."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Turn
from accord.errors import ConnectionLost, SessionInUse, request_error
from accord.session.event import ToolChanged
from accord.stores import MemoryStore, SqliteStore
from accord.transport import spawn
from accord.transport.interface import ProcessTransport
from tests.agent.rig import EDITIONS, Hand, agent_of, served
from tests.agent.sessions import CWD, FORKS, error_of, messages, reopen, reopening
from tests.agent.test_run import HELLO
from tests.forked import forked_python
from tests.stores.places import IN_BOTH_STORES_LONG, open_place

ROOT = Path(__file__).parents[2]
PROGRAM = "tests.agent.owning_agent"

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock, so several processes are not promised"),
    pytest.mark.timeout(100),
]


class Program:
    """An agent in a process of its own."""

    def __init__(self, child: ProcessTransport, edition: str) -> None:
        self.child = child
        self.hand = Hand(child, edition)

    async def die(self) -> None:
        """Killed by the system; gone when this returns."""
        os.kill(self.child.pid, signal.SIGKILL)
        with contextlib.suppress(ConnectionLost):
            while True:
                await self.hand.hear()
        # Reaped: the system has closed its files.
        await self.child.close()


@contextlib.asynccontextmanager
async def program(place: str, edition: str, in_use: str = "error") -> AsyncIterator[Program]:
    with forked_python(PROGRAM):
        child = await spawn(sys.executable, "-m", PROGRAM, place, in_use, grace_seconds=10.0, cwd=ROOT)
    running = Program(child, edition)
    try:
        assert "result" in await running.hand.request("initialize", HELLO[edition])
        yield running
    finally:
        await child.close()


async def working(hand: Hand) -> tuple[str, Any]:
    """A session in which a tool is running, and the prompt that started it."""
    session = await hand.new_session()
    prompt = await hand.prompt(session, "work")
    await hand.said("working")
    return session, prompt


async def statuses(place: str, session: str) -> list[str]:
    """Every status that the log has for a tool call, in order."""
    store = open_place(place)
    events = await store.read(session)
    await store.close()
    return [event.status for event in events if isinstance(event, ToolChanged) and isinstance(event.status, str)]


def assert_in_use(answer: dict[str, Any], session: str) -> None:
    error = error_of(answer)
    assert (error["code"], error["data"]) == (-32009, {"reason": "session_in_use", "sessionId": session})
    assert type(request_error(error["code"], error["message"], error["data"])) is SessionInUse


# --- two processes


@pytest.mark.rotated("edition")
@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_session_that_another_process_has_open_is_refused_and_its_work_goes_on(
    edition: str, place: str
) -> None:
    async with program(place, edition) as one, program(place, edition) as other:
        session, prompt = await working(one.hand)
        for replay in (True, False):
            assert_in_use(await other.hand.request(*reopening(other.hand, session, replay=replay)), session)
        assert_in_use(await other.hand.request("session/delete", {"sessionId": session}), session)
        listed = (await other.hand.request("session/list", {}))["result"]["sessions"]
        assert [info["sessionId"] for info in listed] == [session]
        assert other.hand.updates == []
        assert "failed" not in await statuses(place, session)
        await one.hand.notify("_go", {})
        assert (await one.hand.ended(prompt)).stop_reason == "end_turn"
    assert (await statuses(place, session))[-1] == "completed"


@pytest.mark.rotated("edition")
@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_session_that_was_closed_can_be_opened_by_another_process(edition: str, place: str) -> None:
    async with program(place, edition) as one, program(place, edition) as other:
        session = await one.hand.new_session()
        await one.hand.turn(session, "hello")
        assert_in_use(await other.hand.request(*reopening(other.hand, session)), session)
        await one.hand.request("session/close", {"sessionId": session})
        heard = await reopen(other.hand, session)
        assert messages(heard) == [("user", "hello"), ("agent", "You said: hello")]
        assert (await other.hand.turn(session, "more")).text == "You said: more"
        assert_in_use(await one.hand.request(*reopening(one.hand, session)), session)


@pytest.mark.usefixtures("short_graces")
@pytest.mark.rotated("edition")
@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("end", ["killed", "ended"])
async def test_the_sessions_of_a_process_that_is_gone_are_free_at_once(edition: str, end: str, place: str) -> None:
    async with program(place, edition) as other:
        async with program(place, edition) as one:
            session, _ = await working(one.hand)
            if end == "killed":
                await one.die()
        (call,) = (await reopen(other.hand, session)).tools().values()
        # Nobody ended the tool of a process that was killed; one that was asked to end did so itself.
        assert call["status"] == ("failed" if end == "killed" else "cancelled" if edition == "v2" else call["status"])
        assert call["status"] not in {"pending", "in_progress"}
        assert (await other.hand.turn(session, "more")).text == "You said: more"


@pytest.mark.rotated("edition")
@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_view_shows_the_history_and_takes_no_prompts(edition: str, place: str) -> None:
    async with program(place, edition) as one, program(place, edition, "read_only") as other:
        session, prompt = await working(one.hand)
        opened = await reopen(other.hand, session)
        assert opened.answer is not None
        assert opened.answer["result"]["_meta"] == {"accord": {"readOnly": True}}
        (call,) = opened.tools().values()
        assert call["status"] == "in_progress"
        option = {"sessionId": session, "configId": "mode", "value": "code"}
        if edition == "v2":
            option["type"] = "id"
        for method, params in (
            ("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "no"}]}),
            ("session/set_config_option", option),
            ("session/delete", {"sessionId": session}),
        ):
            assert_in_use(await other.hand.request(method, params), session)
        # Also a view is opened again and closed, and disturbs nobody by that.
        await reopen(other.hand, session)
        await other.hand.cancel(session)
        assert (await other.hand.request("session/close", {"sessionId": session}))["result"] is not None
        await one.hand.notify("_go", {})
        assert (await one.hand.ended(prompt)).stop_reason == "end_turn"
    assert (await statuses(place, session))[-1] == "completed"


@IN_BOTH_STORES_LONG
async def test_a_view_that_is_opened_again_becomes_a_session_when_its_owner_is_gone(place: str) -> None:
    async with program(place, "v1") as one, program(place, "v1", "read_only") as other:
        session, _ = await working(one.hand)
        await reopen(other.hand, session)
        await one.die()
        opened = await reopen(other.hand, session)
        assert opened.answer is not None
        assert "_meta" not in opened.answer["result"]
        assert [call["status"] for call in opened.tools().values()] == ["failed"]
        assert (await other.hand.turn(session, "more")).text == "You said: more"


@pytest.mark.rotated("edition")
@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("edition", FORKS)
async def test_a_session_of_another_process_can_be_forked_and_is_not_touched(edition: str, place: str) -> None:
    async with program(place, edition) as one, program(place, edition) as other:
        session, prompt = await working(one.hand)
        params = {"cwd": CWD, "mcpServers": [], "sessionId": session}
        copy = (await other.hand.request("session/fork", params))["result"]["sessionId"]
        assert "failed" not in await statuses(place, session)
        assert (await other.hand.turn(copy, "more")).text == "You said: more"
        assert_in_use(await one.hand.request(*reopening(one.hand, copy)), copy)
        await one.hand.notify("_go", {})
        assert (await one.hand.ended(prompt)).stop_reason == "end_turn"


# --- one process


@pytest.mark.rotated("edition")
@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("edition", EDITIONS)
async def test_two_agents_of_one_process_share_a_session_and_heal_nothing(edition: str, place: str) -> None:
    go = asyncio.Event()

    async def work(turn: Turn) -> None:
        async with turn.tool("Work"):
            await turn.say("working")
            await go.wait()

    stores = open_place(place), open_place(place)
    agents = [agent_of(work, store=store) for store in stores]
    async with served(agents[0], edition) as one, served(agents[1], edition) as other:
        session, prompt = await working(one)
        (call,) = (await reopen(other, session)).tools().values()
        assert call["status"] == "in_progress"
        go.set()
        assert (await one.ended(prompt)).stop_reason == "end_turn"
    for store in stores:
        await store.close()
    assert "failed" not in await statuses(place, session)


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_session_that_could_not_be_opened_is_released(edition: str, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    agent = agent_of(lambda turn: turn.say("said"), store=store)
    fails = False

    @agent.on_session
    def fail(_: object) -> None:
        if fails:
            raise ValueError

    async with served(agent, edition) as hand:
        session = await hand.new_session()
        await hand.request("session/close", {"sessionId": session})
        fails = True
        assert error_of(await hand.request(*reopening(hand, session)))["code"] == -32603
        assert error_of(await hand.request("session/new", {"cwd": CWD, "mcpServers": []}))["code"] == -32603
        assert store._owner is not None
        assert not +store._owner.claims
    await store.close()


@IN_BOTH_STORES_LONG
async def test_the_sessions_of_a_client_that_is_gone_are_released(place: str) -> None:
    store = open_place(place)
    agent = agent_of(lambda turn: turn.say("said"), store=store)
    async with served(agent) as hand:
        session = await hand.new_session()
    assert await store.acquire(session)
    await store.close()


def test_what_an_agent_does_with_a_session_in_use_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="in_use"):
        Agent("x", in_use="ignore")  # type: ignore[arg-type]


def test_a_store_without_owners_is_refused() -> None:
    class Old:
        queue = read = MemoryStore.read

    with pytest.raises(TypeError, match="store"):
        Agent("x", store=Old())  # type: ignore[arg-type]
