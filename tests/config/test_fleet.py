"""Several agents at once: some come up, some do not; safe calls are tried again, who keeps failing is left alone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.client import ConnectedAgent, connect
from accord.config.entry import AgentEntry
from accord.config.errors import FleetFailed, UnknownAgent, UntrustedFile
from accord.config.fleet import Backoff, Fleet
from accord.errors import AuthRequired, CallTimeout, ConnectFailed, ConnectionLost, DeadlineExceeded
from tests.config.test_fleet_health import Clock
from tests.config.world import write

AGENT = """
import accord
agent = accord.Agent("echo", version="1", store=accord.MemoryStore())
@agent.prompt
async def reply(turn):
    await turn.say(turn.text)
agent.run()
"""


def entry(name: str, *argv: str, **more: Any) -> AgentEntry:
    return AgentEntry(name, argv or (sys.executable, "-c", AGENT), "user", "acp.json", **more)


class Rig:
    """A fleet of agents in this process, whose clock and whose waits belong to the test."""

    def __init__(self, **scripts: list[Exception | None]) -> None:
        self.scripts = scripts
        self.clock = Clock()
        self.waited: list[float] = []
        self.opened: list[str] = []
        self.live: dict[str, ConnectedAgent] = {}
        self.fleet = Fleet(
            [entry(name) for name in scripts], connect=self.connect, clock=self.clock, pause=self.pause,
            backoff=Backoff(jitter=0.0),
        )  # fmt: skip

    def connect(self, wanted: AgentEntry, *, on_question: Any) -> ConnectedAgent:
        assert on_question is None
        self.opened.append(wanted.name)
        script = self.scripts[wanted.name]
        failure = script.pop(0) if script else None
        if failure is not None:
            raise failure
        self.live[wanted.name] = in_process(wanted, on_question=on_question)
        return self.live[wanted.name]

    async def pause(self, seconds: float) -> None:
        self.waited.append(seconds)


def failing(*errors: Exception | None) -> tuple[Callable[[ConnectedAgent], Any], list[ConnectedAgent]]:
    """Something to do that fails so many times, and who was asked."""
    left, asked = list(errors), []

    async def action(agent: ConnectedAgent) -> str:
        asked.append(agent)
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        return "done"

    return action, asked


# --- starting


async def test_all_are_started_and_ended_together() -> None:
    async with Fleet([entry("a"), entry("b")], default="b") as fleet:
        assert fleet.failures == {}
        assert fleet.default == "b"
        agents = [fleet.agent("a"), fleet.agent()]
        assert [agent.info and agent.info.name for agent in agents] == ["echo", "echo"]
        assert fleet.members["a"].health.state == "healthy"
    assert not any(agent.connection.is_open for agent in agents)


async def test_one_that_does_not_come_up_is_reported_and_the_others_serve(tmp_path: Path) -> None:
    missing = str(tmp_path / "no-such-program")
    async with Fleet([entry("bad", missing), entry("good")], default="bad") as fleet:
        assert isinstance(fleet.failures["bad"], ConnectFailed)
        assert list(fleet.failures) == ["bad"]
        assert fleet.default == "good"
        session = await fleet.agent().new_session(cwd=tmp_path)
        async with session.prompt("hello") as turn:
            async for _ in turn:
                pass
        assert session.transcript.text.endswith("hello")
        with pytest.raises(ConnectFailed):
            fleet.agent("bad")


async def test_if_none_comes_up_that_is_an_error_that_names_them_all(tmp_path: Path) -> None:
    project = str(write(tmp_path / "acp.json", {}))
    entries = [
        entry("missing", str(tmp_path / "no-such-program")),
        AgentEntry("foreign", ("evil",), "project", project, needs_trust=True),
    ]
    with pytest.raises(FleetFailed) as caught:
        await Fleet(entries).__aenter__()
    assert isinstance(caught.value.failures["missing"], ConnectFailed)
    assert isinstance(caught.value.failures["foreign"], UntrustedFile)
    assert "missing: " in str(caught.value)
    assert "foreign: " in str(caught.value)


async def test_a_fleet_of_nobody_does_not_come_up() -> None:
    with pytest.raises(FleetFailed, match="none in the config"):
        await Fleet([]).__aenter__()


async def test_a_start_that_may_pass_is_tried_three_times() -> None:
    rig = Rig(
        late=[ConnectionLost(), ConnectionLost()], gone=[ConnectionLost()] * 9, slow=[DeadlineExceeded("start", 30)]
    )
    async with rig.fleet as fleet:
        assert sorted(fleet.failures) == ["gone", "slow"]
    assert {name: rig.opened.count(name) for name in rig.scripts} == {"late": 3, "gone": 3, "slow": 1}
    assert sorted(rig.waited) == [1.0, 1.0, 2.0, 2.0]


async def test_a_bug_while_starting_ends_those_that_came_up() -> None:
    rig = Rig(good=[], late=[ConnectionLost()])
    members = rig.fleet.members

    async def buggy(_: float) -> None:
        while members["good"].agent is None:
            await asyncio.sleep(0)
        raise ValueError("a bug")

    rig.fleet._pause = buggy
    with pytest.raises(ExceptionGroup):
        await rig.fleet.__aenter__()
    assert not rig.live["good"].connection.is_open
    assert members["good"].agent is None


def test_a_default_must_be_one_of_them() -> None:
    with pytest.raises(UnknownAgent):
        Fleet([entry("a")], default="b")


async def test_an_unknown_name_is_told() -> None:
    async with Rig(a=[]).fleet as fleet:
        with pytest.raises(UnknownAgent) as caught:
            fleet.agent("b")
        assert caught.value.known == ("a",)


# --- calling


async def test_a_safe_call_is_tried_again_while_it_may_pass() -> None:
    rig = Rig(a=[])
    action, asked = failing(CallTimeout("m", 1.0), ConnectionLost())
    async with rig.fleet as fleet:
        assert await fleet.call(action, safe=True) == "done"
        assert fleet.members["a"].health.failures == 0
    assert len(asked) == 3
    assert rig.waited == [1.0, 2.0]


async def test_after_the_third_try_the_failure_is_told() -> None:
    rig = Rig(a=[])
    action, asked = failing(*[ConnectionLost()] * 9)
    async with rig.fleet as fleet:
        with pytest.raises(ConnectionLost):
            await fleet.call(action, safe=True)
        assert fleet.members["a"].health.state == "degraded"
    assert len(asked) == 3


async def test_what_is_not_safe_is_never_done_twice() -> None:
    rig = Rig(a=[])
    action, asked = failing(ConnectionLost())
    async with rig.fleet as fleet:
        with pytest.raises(ConnectionLost):
            await fleet.call(action)
    assert len(asked) == 1
    assert rig.waited == []


async def test_an_answer_that_says_no_is_an_answer() -> None:
    rig = Rig(a=[])
    action, asked = failing(AuthRequired())
    async with rig.fleet as fleet:
        with pytest.raises(AuthRequired):
            await fleet.call(action, safe=True)
        assert fleet.members["a"].health.failures == 0
    assert len(asked) == 1


async def test_who_keeps_failing_is_left_alone_and_found_well_again() -> None:
    rig = Rig(a=[])
    action, asked = failing(*[ConnectionLost()] * 5)
    async with rig.fleet as fleet:
        for _ in range(5):
            with pytest.raises(ConnectionLost):
                await fleet.call(action)
        assert fleet.members["a"].health.state == "unhealthy"
        with pytest.raises(ConnectionLost, match="left alone for 30 s"):
            await fleet.call(action, safe=True)
        assert len(asked) == 5
        rig.clock.now += 30
        assert await fleet.call(action) == "done"
        assert await fleet.call(action) == "done"
        assert fleet.members["a"].breaker.state == "closed"
    assert rig.waited == []


async def test_a_call_that_is_cancelled_says_nothing_about_the_agent() -> None:
    rig = Rig(a=[])
    begun = asyncio.Event()

    async def action(_: ConnectedAgent) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with rig.fleet as fleet:
        for _ in range(5):
            begun.clear()
            calling = asyncio.ensure_future(fleet.call(action, safe=True))
            await begun.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
        member = fleet.members["a"]
        assert (member.health.failures, member.breaker.state) == (0, "closed")


async def test_a_call_has_the_time_that_the_config_gives() -> None:
    async def never(_: ConnectedAgent) -> None:
        await asyncio.Event().wait()

    async with Fleet([entry("a", idle_seconds=0.01)], connect=in_process) as fleet:
        with pytest.raises(CallTimeout) as caught:
            await fleet.call(never)
    assert caught.value.timeout_seconds == 0.01


def in_process(wanted: AgentEntry, *, on_question: Any) -> ConnectedAgent:
    assert on_question is None
    agent = accord.Agent(wanted.name, version="1", store=accord.MemoryStore())

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(turn.text)

    return connect(agent)


# --- lost and found


async def test_a_lost_agent_is_started_again_for_a_safe_call() -> None:
    rig = Rig(a=[])

    async def connected(agent: ConnectedAgent) -> ConnectedAgent:
        if not agent.connection.is_open:
            raise ConnectionLost
        return agent

    async with rig.fleet as fleet:
        before = fleet.agent()
        await before.connection.close()
        after = await fleet.call(connected, safe=True)
        assert after is not before
        assert fleet.agent() is after
    assert rig.opened == ["a", "a"]
    assert not after.connection.is_open


async def test_an_agent_that_did_not_come_up_is_tried_again_for_a_safe_call() -> None:
    rig = Rig(a=[ConnectionLost()] * 3, b=[])
    action, asked = failing()
    async with rig.fleet as fleet:
        assert list(fleet.failures) == ["a"]
        assert await fleet.call(action, "a", safe=True) == "done"
        assert fleet.failures == {}
    assert len(asked) == 1


async def test_an_agent_can_be_started_anew() -> None:
    rig = Rig(a=[None, ConnectionLost()])
    async with rig.fleet as fleet:
        before = fleet.agent()
        with pytest.raises(ConnectionLost):
            await fleet.restart("a")
        assert list(fleet.failures) == ["a"]
        after = await fleet.restart()
        assert after is not before
        assert fleet.failures == {}
