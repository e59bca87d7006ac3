"""Forking a session, which is unstable: used where the agent offers it, and only there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import accord
from tests.tables import rows


def agent_with(*, drafts: bool) -> accord.Agent:
    agent = accord.Agent("forks", version="1", store=accord.MemoryStore(), drafts=drafts)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(f"heard {turn.text}")

    return agent


@rows("edition", ["1", "2", "auto", "newest"])
async def test_a_fork_is_a_session_of_its_own(tmp_path: Path, edition: Any) -> None:
    async with accord.connect(agent_with(drafts=True), edition=edition) as agent:
        assert agent.capabilities.fork
        session = await agent.new_session(tmp_path)
        await session.prompt("first")
        twin = await agent.fork_session(session)
        assert twin.id != session.id
        assert twin.cwd == session.cwd
        assert (await twin.prompt("second")).text == "heard second"
        again = await agent.load_session(twin.id, tmp_path)
        said = [message.text for message in again.transcript.messages]
    assert said == ["first", "heard first", "second", "heard second"]


@rows(("edition", "drafts"), [("1", False), ("2", False), ("2-june", True)])
async def test_what_is_not_offered_is_not_asked_for(tmp_path: Path, edition: Any, *, drafts: bool) -> None:
    async with accord.connect(agent_with(drafts=drafts), edition=edition) as agent:
        assert not agent.capabilities.fork
        session = await agent.new_session(tmp_path)
        with pytest.raises(accord.LocalProtocolError):
            await agent.fork_session(session)
