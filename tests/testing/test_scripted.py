"""Scripted agents and clients on a link, and what becomes of a script that fails."""

from __future__ import annotations

import pytest

import accord
from accord.errors import ConnectionLost, MethodNotFound
from accord.testing import AgentPeer, ClientPeer, ScriptedAgent, ScriptedClient, ScriptFailed, join
from accord.transport import memory_pair
from tests.tables import rows


async def a_turn(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    await peer.chunk(session, "scripted")
    await peer.end(prompt)


async def test_a_scripted_agent_is_an_agent_for_connect() -> None:
    agent = ScriptedAgent(a_turn)

    async with accord.connect(agent) as remote:
        session = await remote.new_session()
        assert (await session.prompt("go")).text == "scripted"
        with pytest.raises(MethodNotFound):
            await session.prompt("more than was scripted")

    assert [message.method for message in agent.peer.received][:2] == ["initialize", "session/new"]
    agent.check()


async def test_each_connection_has_the_script_from_its_beginning() -> None:
    agent = ScriptedAgent(a_turn)
    for _ in range(2):
        async with accord.connect(agent) as remote:
            assert (await (await remote.new_session()).prompt("go")).text == "scripted"

    assert len(agent.peers) == 2


async def test_a_script_that_fails_closes_the_link_and_keeps_its_reason() -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        raise KeyError("a mistake in the script")

    agent = ScriptedAgent(script)
    with pytest.raises(ConnectionLost):
        async with accord.connect(agent, respawn=False) as remote:
            await remote.new_session()

    assert isinstance(agent.failure, KeyError)
    with pytest.raises(KeyError):
        agent.check()


async def test_join_gives_the_scripts_failure_in_place_of_the_lost_connection() -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        await peer.expect("session/load")

    with pytest.raises(ScriptFailed) as caught:
        async with join(ScriptedAgent(script, patience_seconds=0.05)) as remote:
            await remote.new_session()
    assert [message.method for message in caught.value.received] == ["session/new"]


async def test_an_exit_of_a_script_is_no_failure() -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        peer.exit(1)

    agent = ScriptedAgent(script)
    with pytest.raises(ConnectionLost):
        async with join(agent) as remote:
            await remote.new_session()
    agent.check()


async def test_a_client_that_leaves_while_it_is_flooded_is_no_failure() -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        await peer.take_prompt()
        await peer.flood(session, 1_000_000)

    agent = ScriptedAgent(script)
    async with join(agent) as remote:
        session = await remote.new_session()
        async with session.prompt("go") as turn:
            await anext(aiter(turn.text_stream()))
            await remote.close()
            with pytest.raises(ConnectionLost):
                await turn.wait()
    agent.check()


def echo() -> accord.Agent:
    agent = accord.Agent("echo", store=accord.MemoryStore())

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(turn.text)

    return agent


@rows("edition", ["v1", "v2", "v2_june"])
async def test_a_scripted_client_drives_an_agent_and_gives_what_its_script_returns(edition: str) -> None:
    async def script(peer: ClientPeer) -> str:
        await peer.greet(edition)  # type: ignore[arg-type]
        session = await peer.open_session()
        assert await peer.turn(session, "hi") == "end_turn"
        return "".join(
            each["content"]["text"] for each in peer.updates(session) if each["sessionUpdate"] == "agent_message_chunk"
        )

    assert await ScriptedClient(script).run(echo()) == "hi"


async def test_a_scripted_client_can_be_told_to_misbehave() -> None:
    async def script(peer: ClientPeer) -> int:
        await peer.greet()
        await peer.garbage("half a message")
        refused = await peer.expect_answer(None)
        return int(refused.error["code"])

    assert await ScriptedClient(script).run(echo()) == -32700


async def test_a_scripted_client_takes_a_transport_and_closes_it() -> None:
    ours, theirs = memory_pair()

    async def script(peer: ClientPeer) -> None:
        await peer.notify("hello")
        peer.exit()

    assert await ScriptedClient(script).run(ours) is None
    assert len(await theirs.receive()) == 1
    assert await theirs.receive() == []
