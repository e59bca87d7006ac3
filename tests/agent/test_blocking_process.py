"""Handlers in threads as a real process has them: many at once, cancelled ones, and what is left at the end."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.transport import spawn
from accord.transport.interface import ProcessTransport
from tests.agent.rig import EDITIONS, Hand, Heard, choose
from tests.forked import forked_python
from tests.limits import limit

PROGRAM = str(Path(__file__).with_name("blocking_agent.py"))
PERMISSION = "session/request_permission"
TURNS = 50
HELLO: dict[str, dict[str, Any]] = {
    "v1": {"protocolVersion": 1, "clientCapabilities": {}},
    "v2": {"protocolVersion": 2, "info": {"name": "hand", "version": "1"}, "capabilities": {}},
    "v2_june": {"protocolVersion": 2, "clientInfo": {"name": "hand", "version": "1"}, "capabilities": {}},
}

pytestmark = pytest.mark.timeout(100)


@asynccontextmanager
async def running(
    state: Path, edition: str = "v1", *, grace: float = 1.0
) -> AsyncIterator[tuple[ProcessTransport, Hand]]:
    """The program; at the end its stdin is closed, and nobody helps it to end before 30 seconds have passed."""
    with forked_python():
        child = await spawn(sys.executable, PROGRAM, str(grace), env={"XDG_STATE_HOME": str(state)}, grace_seconds=30.0)
    hand = Hand(child, edition)
    try:
        assert "result" in await hand.request("initialize", HELLO[edition])
        yield child, hand
    finally:
        await child.close()


def left(child: ProcessTransport) -> list[str]:
    """The threads that were there when the agent had stopped; the store has one of its own until then."""
    (line,) = (line for line in child.stderr_tail.splitlines() if line.startswith("left: "))
    return line.removeprefix("left: ").split(", ")


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_fifty_turns_at_once_with_a_question_each_come_to_their_end(edition: str, tmp_path: Path) -> None:
    order = random.Random(13)
    async with running(tmp_path, edition) as (child, hand):
        sessions = [await hand.new_session(str(tmp_path)) for _ in range(TURNS)]
        prompts = {session: await hand.prompt(session, "ask") for session in sessions}
        questions = [await hand.asked(PERMISSION) for _ in range(TURNS)]
        order.shuffle(questions)
        expected: dict[str, str] = {}
        for question in questions[1:]:
            answer = order.choice(["allow", "reject"])
            expected[question["params"]["sessionId"]] = {"allow": "allowed", "reject": "refused"}[answer]
            await hand.reply(question, choose(answer)({}))
        stopped = questions[0]["params"]["sessionId"]
        await hand.cancel(stopped)
        reasons = {session: await stop_reason(hand, session, prompt) for session, prompt in prompts.items()}
        assert {session: said(hand, session) for session in expected} == expected
        assert said(hand, stopped) == ""
        assert reasons == {**dict.fromkeys(expected, "end_turn"), stopped: "cancelled"}
    assert child.exit_status == 0
    assert left(child) == ["MainThread"]


def heard_in(hand: Hand, session: str) -> Heard:
    return Heard([each for each in hand.received if each.get("params", {}).get("sessionId") == session])


def said(hand: Hand, session: str) -> str:
    return heard_in(hand, session).text


async def stop_reason(hand: Hand, session: str, prompt: Any) -> str:
    """How the turn of one of many sessions ended: v2 says it in a state, the others in the answer."""
    result: dict[str, Any] = (await hand.answer_to(prompt))["result"]
    while "stopReason" not in result:
        ends = [each for each in heard_in(hand, session).of("state_update") if "stopReason" in each]
        if ends:
            result = ends[-1]
        else:
            await hand.hear()
    return str(result["stopReason"])


@pytest.mark.usefixtures("short_graces")
async def test_a_cancel_ends_the_turn_of_a_handler_that_sleeps_and_the_program_ends_within_the_grace(
    tmp_path: Path,
) -> None:
    loop = asyncio.get_running_loop()
    async with running(tmp_path, grace=2.0) as (child, hand):
        session = await hand.new_session(str(tmp_path))
        prompt = await hand.prompt(session, "sleep")
        await hand.said("sleeping")
        await hand.cancel(session)
        begun = loop.time()
        assert (await hand.ended(prompt)).stop_reason == "cancelled"
        assert loop.time() - begun < limit(1.5), "it ended with the grace, not at once"
        threads = (await hand.turn(session, "threads")).text
        assert threads.count("accord-handler") == 2, "the one that sleeps is left alone"
        begun = loop.time()
    assert loop.time() - begun < limit(15.0), "a handler that sleeps keeps nobody"
    assert child.exit_status == 0
    assert left(child).count("accord-handler") == 1
    assert "1 handlers go on in threads" in child.stderr_tail


async def test_a_handler_that_waits_when_the_client_leaves_can_tidy_up_before_the_program_ends(tmp_path: Path) -> None:
    async with running(tmp_path, grace=20.0) as (child, hand):
        session = await hand.new_session(str(tmp_path))
        await hand.prompt(session, "tidy")
        await hand.asked(PERMISSION)
    assert child.exit_status == 0
    assert "tidied up" in child.stderr_tail
    assert left(child) == ["MainThread"]
