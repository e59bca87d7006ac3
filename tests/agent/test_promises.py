"""The promises to agents, one test each, in every edition; `scripts/mutants` breaks them one by one."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Turn
from accord.stores import MemoryStore
from tests.agent.rig import IN_EVERY_EDITION, Hand, Heard, agent_of, choose, served, until
from tests.tables import rows
from tests.transport.processes import runs, until as soon


class SlowStore(MemoryStore):
    """A store that has not kept anything before its gate opens."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = 0

    async def commit(self, session_id: str, ticket: int) -> None:
        self.waiting += 1
        await self.gate.wait()
        self.waiting -= 1
        await super().commit(session_id, ticket)


@IN_EVERY_EDITION
async def test_nothing_is_said_before_it_is_kept(edition: str) -> None:
    store = SlowStore()

    async def reply(turn: Turn) -> None:
        store.gate.clear()
        await turn.say("kept")

    async with served(agent_of(reply, store=store), edition) as hand:
        prompt = await hand.prompt(await hand.new_session())
        await until(lambda: not store.gate.is_set() and store.waiting > 0)
        assert Heard(await hand.drain()).text == ""
        store.gate.set()
        assert (await hand.ended(prompt)).text == "kept"


@IN_EVERY_EDITION
async def test_a_prompt_is_kept_before_its_handler_runs_and_before_it_is_answered(edition: str) -> None:
    store = SlowStore()
    started = asyncio.Event()

    async def reply(_: Turn) -> None:
        started.set()

    async with served(agent_of(reply, store=store), edition) as hand:
        session = await hand.new_session()
        await hand.drain()
        store.gate.clear()
        prompt = await hand.prompt(session)
        await until(lambda: store.waiting > 0)
        assert await hand.drain() == []
        assert not started.is_set()
        store.gate.set()
        assert (await hand.ended(prompt)).stop_reason == "end_turn"
        assert started.is_set()


@IN_EVERY_EDITION
@rows("way", ["returns", "raises", "finishes otherwise"])
async def test_a_cancelled_turn_is_cancelled_whatever_its_handler_makes_of_it(edition: str, way: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.say("here")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if way == "raises":
                raise ValueError from None
            if way == "finishes otherwise":
                turn.finish("refusal")

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.said("here")
        await hand.cancel(session)
        assert (await hand.ended(prompt)).end == {"stopReason": "cancelled"}


@IN_EVERY_EDITION
async def test_prompts_that_were_held_have_their_turns_in_the_order_of_arrival(edition: str) -> None:
    gate = asyncio.Event()

    async def reply(turn: Turn) -> None:
        await gate.wait()
        await turn.say(turn.text)

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        prompts = [await hand.prompt(session, text) for text in "abcd"]
        await hand.drain()
        gate.set()
        for prompt in prompts:
            await hand.ended(prompt)
        assert Heard(hand.received).text == "abcd"


@IN_EVERY_EDITION
async def test_a_permission_that_was_never_offered_is_none(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        answer = await turn.request_permission("May I?")
        await turn.say(f"{bool(answer)} {answer.option_id}")

    async with served(agent_of(reply), edition) as hand:
        hand.answers["session/request_permission"] = choose("whatever-you-want")
        assert (await hand.turn(await hand.new_session())).text == "False None"


async def start_and_wait(turn: Turn) -> None:
    terminal = await turn.terminals.start(["sh", "-c", "echo $$; exec sleep 600"])
    while "\n" not in (shown := (await terminal.output()).text):
        await asyncio.sleep(0.01)
    await turn.say(shown)
    await asyncio.Event().wait()


@rows("edition", ["v2", "v2_june"])
async def test_a_cancelled_turn_ends_the_command_that_it_started(edition: str, tmp_path: Path) -> None:
    async with served(agent_of(start_and_wait), edition) as hand:
        session = await hand.new_session(str(tmp_path))
        prompt = await hand.prompt(session)
        said = await hand.update_of("agent_message_chunk")
        process = int(said["content"]["text"])
        assert runs(process)
        await hand.cancel(session)
        assert (await hand.ended(prompt)).stop_reason == "cancelled"
        assert await soon(lambda: not runs(process), 5.0)


async def test_a_cancelled_turn_releases_the_terminal_that_the_client_runs(tmp_path: Path) -> None:
    async with served(agent_of(start_and_wait), "v1", {"terminal": True}) as hand:
        run_one_terminal(hand)
        session = await hand.new_session(str(tmp_path))
        prompt = await hand.prompt(session)
        await hand.said("7\n")
        await hand.cancel(session)
        heard = await hand.ended(prompt)
        assert heard.stop_reason == "cancelled"
        # Before the turn is over: who hears of the end must find nothing left.
        assert heard.messages[-1] == heard.answer
        assert len(heard.requests("terminal/release")) == 1


def run_one_terminal(hand: Hand) -> None:
    """Answer for a command that never ends by itself."""
    ended: dict[str, Any] = {"exitCode": None, "signal": "SIGKILL"}
    killed = asyncio.Event()

    async def wait(_: dict[str, Any]) -> Any:
        await killed.wait()
        return ended

    def kill(_: dict[str, Any]) -> Any:
        killed.set()
        return {}

    hand.answers |= {
        "terminal/create": lambda _: {"terminalId": "t"},
        "terminal/output": lambda _: {"output": "7\n", "truncated": False},
        "terminal/wait_for_exit": wait,
        "terminal/kill": kill,
        "terminal/release": lambda _: {},
    }


def _given(answer: Any, _: Any) -> Any:
    return answer


TERMINAL_ANSWERS: dict[str, Any] = {
    "terminal/create": {"terminalId": "t1"},
    "terminal/wait_for_exit": {"exitCode": 0},
    "terminal/output": {"output": "3", "truncated": False, "exitStatus": {"exitCode": 0}},
    "terminal/release": {},
}


@pytest.mark.parametrize("store", ["slow", "stuck"])
async def test_a_terminal_is_shown_before_it_is_released_unless_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, store: str, tmp_path: Path
) -> None:
    monkeypatch.setattr("accord.agent.session.RELEASE_PATIENCE_SECONDS", 0.3 if store == "stuck" else 20.0)
    keeping = SlowStore()

    async def reply(turn: Turn) -> None:
        async with turn.tool("Count") as tool:

            async def show(terminal: Any) -> None:
                await turn.session._publisher.flush()
                keeping.gate.clear()
                await tool.show(terminal)

            await turn.terminals.run(["wc", "-l"], on_start=show)

    async with served(agent_of(reply, store=keeping), "v1", {"terminal": True}) as hand:
        for method, answer in TERMINAL_ANSWERS.items():
            hand.answers[method] = functools.partial(_given, answer)
        prompt = await hand.prompt(await hand.new_session(str(tmp_path)))
        await hand.asked("terminal/output")
        if store == "slow":
            # As long as the store is at it, nothing is said, and nothing given back.
            await asyncio.sleep(0.1)
            assert [each for each in await hand.drain() if each.get("method") == "terminal/release"] == []
        else:
            await hand.asked("terminal/release")
        keeping.gate.set()
        await hand.ended(prompt)
        told = [
            "shown" if "terminalId" in str(message["params"].get("update", "")) else message["method"]
            for message in hand.received
            if "method" in message
        ]
        first = ("shown", "terminal/release") if store == "slow" else ("terminal/release", "shown")
        assert told.index(first[0]) < told.index(first[1])
