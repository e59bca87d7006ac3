"""The optional parts of a plug-in, and when each side uses one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.dialects import DialectPlugin
from accord.transport.interface import Transport
from tests.client.clock import in_no_time, timeless


class Nothing(DialectPlugin):
    """Serves no side."""

    name = "nothing"


class Plain(DialectPlugin):
    """Changes nothing, and answers one request."""

    name = "plain"

    def __init__(self, answer: str = "") -> None:
        self.answer = answer
        self.links = 0

    def link_to_agent(self, link: Transport, *, start_seconds: float | None) -> Transport:
        assert start_seconds == 7
        self.links += 1
        return link

    def agent_requests(self) -> Mapping[str, Callable[[Any], Any]]:
        return {"_plain/answer": lambda _: self.answer}

    def link_to_client(self, link: Transport) -> Transport:
        self.links += 1
        return link


def asking_agent() -> accord.Agent:
    agent = accord.Agent("asking", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(str(await turn.request("_plain/answer", {"sessionId": turn.session.id})))

    return agent


@timeless
async def test_a_side_that_a_dialect_does_not_have_is_an_error_at_the_link() -> None:
    with pytest.raises(accord.LocalProtocolError) as caught:
        await accord.connect(asking_agent()).use_dialect(Nothing()).open()
    assert caught.value.field == "dialect"
    with pytest.raises(accord.LocalProtocolError):
        await asking_agent().use_dialect(Nothing()).serve(accord.memory_pair()[0])


async def test_each_side_takes_a_plug_in_and_the_last_one_counts_for_a_client(tmp_path: Path) -> None:
    served, first, last = Plain(), Plain("first"), Plain("last")
    client = accord.connect(asking_agent().use_dialect(served), deadlines=accord.Deadlines(start_seconds=7))
    async with client.use_dialect(first).use_dialect(last) as agent:
        assert (await (await agent.new_session(tmp_path)).prompt("?")).text == "last"
        with pytest.raises(accord.LocalProtocolError):
            agent.use_dialect(first)
    assert (served.links, first.links, last.links) == (1, 0, 1)


def test_scripts_open_what_was_connected(tmp_path: Path) -> None:
    client = accord.connect(asking_agent(), deadlines=accord.Deadlines(start_seconds=7)).use_dialect(Plain("blocking"))
    with accord.open(client, cwd=tmp_path) as session:
        assert session.prompt("?").text == "blocking"
    with pytest.raises(TypeError, match="edition"):
        accord.open(accord.connect(asking_agent()), edition="1")  # type: ignore[call-overload]


def test_the_clock_rests_while_an_extension_request_of_a_session_is_answered(tmp_path: Path) -> None:
    async def slow(_params: Any) -> str:
        await asyncio.sleep(3600)
        return "slow"

    async def talk() -> str:
        client = accord.connect(asking_agent(), deadlines=accord.Deadlines(first_seconds=60, idle_seconds=60))
        client.on_request("_plain/answer", slow)
        async with client as agent:
            turn = await (await agent.new_session(tmp_path)).prompt("?")
            return turn.text

    answers: list[str] = []

    async def run() -> None:
        answers.append(await talk())

    in_no_time(run())
    assert answers == ["slow"]
