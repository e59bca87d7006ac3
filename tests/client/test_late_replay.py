"""A history that comes behind the answer to its load: the repeated prompt is the beginning of the turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from accord.client import Session
from accord.session.content import Link, Text
from accord.session.event import Event, MessageChunk
from accord.testing import AgentPeer, JsonRpcMessage, ScriptedAgent, join
from tests.limits import limit

Play: TypeAlias = Callable[[AgentPeer, JsonRpcMessage], Coroutine[Any, Any, None]]
"""What the agent does between a prompt and the end of its turn."""


@asynccontextmanager
async def loaded(play: Play, folder: Path, turns: int = 1, name: str = "any", **options: Any) -> AsyncIterator[Session]:
    """A session that was loaded, and whose history did not come yet."""

    async def script(peer: AgentPeer) -> None:
        await peer.greet("v1", {"loadSession": True}, agentInfo={"name": name, "version": "1"})
        await peer.answer(await peer.expect("session/load"), {})
        for _ in range(turns):
            prompt = await peer.take_prompt()
            await play(peer, prompt)
            await peer.end(prompt)

    async with asyncio.timeout(limit(30)), join(ScriptedAgent(script), **options) as agent:
        yield await agent.load_session("s", folder)


async def say(peer: AgentPeer, *texts: str) -> None:
    """Texts of the user in capitals, and of the agent in small letters."""
    for text in texts:
        await peer.chunk("s", text, "user_message_chunk" if text.isupper() else "agent_message_chunk")


def plays(*texts: str) -> Play:
    return lambda peer, _: say(peer, *texts)


def said(session: Session) -> list[tuple[str, str]]:
    return [(message.speaker, message.text) for message in session.transcript.messages]


async def texts_of(session: Session, *prompt: Any) -> tuple[list[str], str]:
    """The texts that a loop over the turn gets, and the text of the turn."""
    async with session.prompt(*prompt) as turn:
        events = [event async for event in turn]
    return [
        each.block.text for each in events if isinstance(each, MessageChunk) and isinstance(each.block, Text)
    ], turn.text


async def test_what_comes_before_the_repeated_prompt_is_history(tmp_path: Path) -> None:
    seen: list[Event] = []
    async with loaded(plays("ONE", "first", "TWO", "second", "GO", "new"), tmp_path) as session:
        session.listen(seen.append)
        assert await texts_of(session, "GO") == (["new"], "new")
        assert said(session) == [
            ("user", "ONE"), ("agent", "first"), ("user", "TWO"), ("agent", "second"), ("user", "GO"), ("agent", "new"),
        ]  # fmt: skip
    assert [event.block for event in seen if isinstance(event, MessageChunk)] == [Text("new")]


async def test_without_a_listener_nothing_is_different(tmp_path: Path) -> None:
    async with loaded(plays("ONE", "first", "GO", "new", "er"), tmp_path) as session:
        turn = await session.prompt("GO")
        assert (turn.text, len(session.transcript.messages)) == ("newer", 4)


async def test_where_the_prompt_is_not_repeated_all_belongs_to_the_turn(tmp_path: Path) -> None:
    async with loaded(plays("ONE", "first", "new"), tmp_path) as session:
        assert await texts_of(session, "GO") == (["ONE", "first", "new"], "firstnew")
        assert said(session) == [("user", "GO"), ("user", "ONE"), ("agent", "firstnew")]


async def test_a_request_of_the_agent_shows_that_the_turn_runs(tmp_path: Path) -> None:
    async def play(peer: AgentPeer, _: JsonRpcMessage) -> None:
        await say(peer, "ONE", "first")
        await peer.permit("s", {"toolCallId": "t", "title": "Edit"})
        await say(peer, "new", "er")
        await may_end.wait()

    may_end = asyncio.Event()
    async with loaded(play, tmp_path, permission=[True]) as session:
        async with session.prompt("GO") as turn:
            async for text in turn.text_stream():
                if text == "er":
                    may_end.set()
        assert turn.text == "firstnewer"


async def test_of_equal_prompts_the_last_one_begins_the_turn(tmp_path: Path) -> None:
    async with loaded(plays("GO", "first", "TWO", "second", "GO", "third", "GO", "new"), tmp_path) as session:
        turn = await session.prompt("GO")
        assert turn.text == "new"
        assert [speaker for speaker, _ in said(session)] == ["agent", "user", "agent", "agent", "user", "agent"]


async def test_a_prompt_that_is_repeated_at_once_begins_a_turn_that_is_shown_as_it_comes(tmp_path: Path) -> None:
    async def play(peer: AgentPeer, prompt: JsonRpcMessage) -> None:
        for block in prompt.params["prompt"]:
            await peer.update("s", {"sessionUpdate": "user_message_chunk", "content": block})
        await say(peer, "@FILE", "new")
        await may_end.wait()

    may_end = asyncio.Event()
    async with loaded(play, tmp_path) as session:
        async with session.prompt(Text("GO"), Link("file:///a", "a")) as turn:
            async for event in turn:
                if isinstance(event, MessageChunk):
                    assert event.block == Text("new")
                    may_end.set()
        assert turn.text == "new"
        assert session.transcript.messages[0].speaker == "user"


async def test_the_second_turn_holds_nothing_back(tmp_path: Path) -> None:
    async with loaded(plays("ONE", "first", "GO", "new"), tmp_path, turns=2) as session:
        await session.prompt("GO")
        assert await texts_of(session, "AGAIN") == (["ONE", "first", "GO", "new"], "firstnew")


async def test_for_an_agent_that_is_known_to_repeat_no_prompt_nothing_is_held_back(tmp_path: Path) -> None:
    async def play(peer: AgentPeer, _: JsonRpcMessage) -> None:
        await say(peer, "ONE", "new")
        await may_end.wait()

    may_end = asyncio.Event()
    async with loaded(play, tmp_path, name="gemini-cli") as session, session.prompt("GO") as turn:
        async for text in turn.text_stream():
            if text == "new":
                may_end.set()
