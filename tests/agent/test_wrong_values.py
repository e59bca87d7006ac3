"""Values of the wrong type that an author passes: the author gets the error, the session stays whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Turn
from accord.session.content import Annotations, Text
from accord.session.event import MessageChunk, PlanEntry
from accord.session.tool import Location
from accord.stores import SqliteStore
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, agent_of, served
from tests.agent.sessions import reopen
from tests.tables import rows

Misuse = Callable[[Turn], Awaitable[object]]


async def show(turn: Turn, item: Any) -> None:
    tool = turn.tool("Show")
    await tool.show(item)


async def change(turn: Turn, **fields: Any) -> None:
    tool = turn.tool("Change")
    await tool.update(**fields)


async def diff(turn: Turn, old: Any, new: Any) -> None:
    await turn.tool("Edit").diff("notes.txt", old, new)


async def call(turn: Turn, title: Any, **more: Any) -> None:
    async with turn.tool(title, **more):
        """Never entered."""


async def set_reason(turn: Turn, reason: Any) -> None:
    turn.finish(reason)


MISUSES: dict[str, Misuse] = {
    "say a number": lambda turn: turn.say(5),  # type: ignore[arg-type]
    "say None": lambda turn: turn.say(None),  # type: ignore[arg-type]
    "say bytes": lambda turn: turn.say(b"a"),  # type: ignore[arg-type]
    "say a dict": lambda turn: turn.say({"type": "text", "text": "a"}),  # type: ignore[arg-type]
    "say texts": lambda turn: turn.say(["a", "b"]),  # type: ignore[list-item]
    "say a block without text": lambda turn: turn.say(Text(None)),  # type: ignore[arg-type]
    "say with meta that is no dict": lambda turn: turn.say("a", meta=5),  # type: ignore[arg-type]
    "say with wrong annotations": lambda turn: turn.say("a", annotations=Annotations(priority="high")),  # type: ignore[arg-type]
    "think a number": lambda turn: turn.think(5),  # type: ignore[arg-type]
    "correct by a number": lambda turn: turn.correct(5, "a"),  # type: ignore[arg-type]
    "plan a text": lambda turn: turn.plan("abc"),
    "plan a dict": lambda turn: turn.plan([{"content": "a"}]),  # type: ignore[list-item]
    "plan a number": lambda turn: turn.plan([PlanEntry(5)]),  # type: ignore[arg-type]
    "half a token": lambda turn: turn.update_usage(1.5, 10),  # type: ignore[arg-type]
    "less than no token": lambda turn: turn.update_usage(-1, 10),
    "a cost in words": lambda turn: turn.update_usage(1, 10, cost="much"),  # type: ignore[arg-type]
    "a number as title": lambda turn: turn.set_title(5),  # type: ignore[arg-type]
    "notice a number": lambda turn: turn.notice(5),  # type: ignore[arg-type]
    "commands that are texts": lambda turn: turn.session.set_commands(["a"]),  # type: ignore[list-item]
    "a tool without a title": lambda turn: call(turn, 5),
    "a kind that is a number": lambda turn: call(turn, "a", kind=5),
    "a tool id that is a number": lambda turn: call(turn, "a", id=5),
    "a line that is a text": lambda turn: call(turn, "a", locations=[Location("a", "3")]),  # type: ignore[arg-type]
    "a location that is a number": lambda turn: call(turn, "a", locations=[5]),
    "show a number": lambda turn: show(turn, 5),
    "show a block without text": lambda turn: show(turn, Text(None)),  # type: ignore[arg-type]
    "a diff of numbers": lambda turn: diff(turn, None, 5),
    "a diff of bytes": lambda turn: diff(turn, b"a", b"b"),
    "change the title to a number": lambda turn: change(turn, title=5),
    "end without a reason": lambda turn: set_reason(turn, None),
    "send no event": lambda turn: turn.send("a"),  # type: ignore[arg-type]
    "send a chunk of nobody": lambda turn: turn.send(MessageChunk("nobody", Text("a"))),  # type: ignore[arg-type]
    "send no event beside the turn": lambda turn: turn.session.send(5),  # type: ignore[arg-type]
}


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", MISUSES)
async def test_an_author_gets_the_error_and_the_session_can_be_loaded(edition: str, name: str, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    errors: list[Exception] = []

    async def reply(turn: Turn) -> None:
        try:
            await MISUSES[name](turn)
        except (TypeError, ValueError) as error:
            errors.append(error)
        await turn.say("said")

    async with served(agent_of(reply, store=store), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session)
        assert heard.stop_reason == "end_turn"
        assert heard.text == "said"
    async with served(agent_of(reply, store=store), edition) as hand:
        assert "result" in ((await reopen(hand, session)).answer or {})
    await store.close()
    assert len(errors) == 1


@IN_EVERY_EDITION
async def test_a_reason_that_was_set_by_hand_is_checked_too(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        turn.stop_reason = 5  # type: ignore[assignment]

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        assert (await hand.turn(session)).error["code"] == -32603
        assert "result" in ((await reopen(hand, session)).answer or {})


@IN_EVERY_EDITION
async def test_numbers_and_paths_of_other_libraries_are_taken(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.update_usage(1, 10, cost=Decimal("0.5"))  # type: ignore[arg-type]
        async with turn.tool("Read", locations=[Path("notes.txt")]) as tool:
            await tool.locate(Path("more.txt"))

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session)
        assert heard.of("usage_update")[-1]["cost"]["amount"] == 0.5
        (call_,) = heard.tools().values()
        assert call_["locations"] == [{"path": "/tmp/more.txt"}]  # noqa: S108 - no file is made there
        assert "result" in ((await reopen(hand, session)).answer or {})


async def test_a_text_that_a_handler_returns_is_an_error_of_its_turn(caplog: pytest.LogCaptureFixture) -> None:
    # What `say` returns, the id of the message, may be returned.
    agent = agent_of(lambda turn: turn.say("said"), stored=False)

    @agent.command("give", "Returns a text")
    async def give(_turn: Turn, _: str) -> str:
        return "hello"

    async with served(agent) as client:
        session = await client.new_session()
        assert (await client.turn(session)).text == "said"
        assert (await client.turn(session, "/give")).stop_reason == "error"
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [TypeError]


@rows(
    "register",
    [
        lambda agent: agent.prompt(lambda: None),
        lambda agent: agent.on_option(lambda _session: None),
        lambda agent: agent.on_session(lambda: None),
        lambda agent: agent.login("a", "A")(lambda _: None),
        lambda agent: agent.check_login(lambda _: True),
        lambda agent: agent.logout(lambda _: None),
        lambda agent: agent.request("_a")(lambda: None),
        lambda agent: agent.notification("_a")(lambda: None),
    ],
)
def test_a_handler_of_other_arguments_is_refused_where_it_is_registered(register: Callable[[Agent], object]) -> None:
    with pytest.raises(TypeError, match="called with"):
        register(Agent("tested", store=None))
