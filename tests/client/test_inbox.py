"""Updates before a session is known, extensions, and updates about the agent's own terminals."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import accord
from accord.client import inbox
from accord.client.inbox import Inbox
from accord.client.services import Serving
from tests.limits import limit


async def test_an_extension_notification_of_the_agent_reaches_its_handler() -> None:
    agent = accord.Agent("talkative", store=None)
    heard: asyncio.Queue[Any] = asyncio.Queue()

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.client.notify("_progress", {"percent": 40})
        await turn.say(str(await turn.client.request("_double", {"number": 21})))

    remote = accord.connect(agent)
    remote.on_notification("_progress", heard.put_nowait)
    remote.on_request("_double", lambda params: params["number"] * 2)
    async with remote:
        session = await remote.new_session("/")
        turn = await session.prompt("go")
        assert turn.text == "42"
        assert await asyncio.wait_for(heard.get(), limit(10)) == {"percent": 40}


async def test_a_terminal_that_the_agent_lets_its_client_cancel_is_cancelled() -> None:
    agent = accord.Agent("runner", store=None)
    started = asyncio.Event()

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        terminal = await turn.terminals.start(["sleep", "600"], cancellable=True)
        started.set()
        ended = await terminal.wait()
        await turn.say("ended" if ended is not None else "still there")

    async with accord.connect(agent, edition="2") as remote:
        session = await remote.new_session("/")
        async with session.prompt("go") as turn:
            await asyncio.wait_for(started.wait(), limit(10))
            while not session.transcript.terminals:
                await asyncio.sleep(0)
            (terminal_id,) = session.transcript.terminals
            await session.cancel_terminal(terminal_id)
        assert turn.text == "ended"
        with pytest.raises(accord.InvalidParams):
            await session.cancel_terminal(terminal_id)


def test_what_is_said_about_sessions_that_nobody_opens_is_bounded_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inbox, "MAX_EARLY_BYTES", 10_000)
    early = Inbox(Serving())

    for text in ("a" * 4000, "b" * 6000, "c" * 100, "d" * 3000):
        early._update(lambda params: ("nobody's", params), text)

    assert [update[0][0] for update in early._early["nobody's"]] == ["a", "c"]
    assert early._early_bytes <= 10_000
    assert early.dropped_early == 2
