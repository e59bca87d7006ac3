"""Strings of a subclass are strings, wherever an author hands one to us, on either side; models are JSON."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pydantic
import pytest

import accord
from accord.agent import Agent, Turn
from accord.session.custom import Custom
from accord.stores import MemoryStore, SqliteStore
from accord.stores.interface import Store
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, Heard, agent_of, allow, served
from tests.tables import rows

PERMISSION = "session/request_permission"
Wish: TypeAlias = Literal["1", "2", "2-june"]


class Markup(str):
    """As template engines have it: what is joined to it is escaped."""

    __slots__ = ()

    def __add__(self, other: str) -> Markup:
        return Markup(f"{self[:]}&lt;{other[:]}")

    def __radd__(self, other: str) -> Markup:
        return Markup(f"{other[:]}&lt;{self[:]}")


M = Markup


class Order(pydantic.BaseModel):
    item: str
    path: Path


@dataclasses.dataclass
class Receipt:
    order: Order
    total: float


def make_store(kind: str, folder: Path) -> Store:
    return MemoryStore() if kind == "memory" else SqliteStore(folder / "sessions.db")


async def say_everything(turn: Turn) -> None:
    await turn.think(M("thought"))
    message = await turn.say(M("one "))
    await turn.say(M("two"))
    await turn.say([accord.Text(M(" three")), accord.Link(M("https://example.org"), M("a page"))])
    await turn.correct(M(message), M("changed"))
    turn.new_message()
    await turn.say(M("meta"), meta={M("example.org/key"): M("value")})
    await turn.plan([M("Read"), accord.PlanEntry(M("Write"), Custom(M("pending")))], id=M("plan"))
    await turn.update_usage(1, 10, cost=0.5, currency=M("EUR"))
    await turn.set_title(M("A title"))
    await turn.notice(M("A notice"), M("described"), severity=Custom(M("info")))
    await turn.files.write(M("a.txt"), M("written"))
    async with turn.tool(
        M("Run"), kind=Custom(M("execute")), status=Custom(M("pending")), name=M("run"), id=M("call-1")
    ) as tool:
        await turn.request_permission(
            tool, title=M("May I?"), options=[accord.PermissionOption(M("yes"), M("Yes"), Custom(M("allow_once")))]
        )
        await tool.show(M("shown"))
        await tool.diff(M("a.txt"), M("old"), M("new"))
        await tool.locate(M("a.txt"))
        await tool.update(title=M("Ran"), input={M("a"): M("b")})
        await turn.terminals.run([M(sys.executable), M("-c"), M("print(1)")], env={M("KEY"): M("value")}, cwd=M("."))
        await tool.complete(output=M("out"))
    await turn.save({"text": M("state")})
    turn.finish(Custom(M("max_tokens")))


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_whatever_an_agent_says_may_be_a_string_of_a_subclass(edition: str, kind: str, tmp_path: Path) -> None:
    texts: list[str] = []

    async def reply(turn: Turn) -> None:
        if turn.text == "again":
            texts.extend(message.text for message in (await turn.history()).messages)
            texts.append(turn.session.state["text"])
            return
        await say_everything(turn)

    store = make_store(kind, tmp_path)
    agent = agent_of(reply, store=store)
    agent.select(M("model"), M("Model"), [M("small"), M("large")], default=M("large"), category=Custom(M("model")))
    agent.advertise(M("example.org/version"), M("2"))
    async with served(agent, edition) as hand:
        hand.answers[PERMISSION] = lambda _: {"outcome": {"outcome": "selected", "optionId": "yes"}}
        session = await hand.new_session(str(tmp_path))
        heard = await hand.turn(session)
        assert heard.stop_reason == "max_tokens", heard.end
        (call,) = (call for id_, call in heard.tools().items() if id_ == "call-1")
        assert (call["title"], call["status"], call["rawOutput"]) == ("Ran", "completed", "out")
        assert call["rawInput"] == {"a": "b"}
        assert heard.text.startswith("one two three")
        assert heard.of("session_info_update")[-1]["title"] == "A title"
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "written"
        assert (await hand.turn(session, "again")).stop_reason == "end_turn"
    await store.close()
    assert "&lt;" not in str(hand.received) + str(texts)
    assert texts[-1] == "state"
    assert "meta" in texts


@rows("edition", ["1", "2-june", "2"])
async def test_whatever_a_client_says_may_be_a_string_of_a_subclass(edition: Wish, tmp_path: Path) -> None:
    seen: list[Any] = []
    agent = Agent("listener", store=MemoryStore())
    agent.select("model", "Model", ["small", "large"])
    agent.modes(["ask", "code"])

    @agent.prompt
    async def reply(turn: Turn) -> None:
        seen.append((turn.text, turn.session.cwd, turn.option("model"), turn.option("mode"), turn.client.name))
        await turn.say("heard")

    @agent.request("_example.org/echo")
    async def echo(call: accord.agent.Extension) -> Any:
        return {"params": call.params, "own": M("own")}

    async with accord.connect(
        agent, edition=edition, client_info=accord.Implementation(M("client"), M("1")), permission=lambda _: M("allow")
    ) as remote:
        session = await remote.new_session(M(tmp_path))
        await session.set_option(M("model"), M("large"))
        await session.set_mode(M("code"))
        turn = await session.prompt(M("hello"), accord.Text(M("there")))
        assert turn.stop_reason == "end_turn"
        assert session.transcript.text == "heard"
        answer = await remote.request(M("_example.org/echo"), {"a": M("b")})
        assert answer == {"params": {"a": "b"}, "own": "own"}
    assert seen == [("hello\nthere", str(tmp_path), "large", "code", "client")]


async def test_an_error_may_say_it_too() -> None:
    async def reply(_: Turn) -> None:
        raise accord.RequestError(M("No"), {"why": M("because")}, code=-32050)

    async with served(agent_of(reply)) as hand:
        heard = await hand.turn(await hand.new_session())
    assert heard.error == {"code": -32050, "message": "No", "data": {"why": "because"}}


@IN_EVERY_EDITION
@rows("kind", ["memory", "sqlite"])
async def test_models_and_dataclasses_are_input_output_and_state(edition: str, kind: str, tmp_path: Path) -> None:
    order = Order(item="tea", path=Path("/shelf/3"))
    states: list[Any] = []

    async def reply(turn: Turn) -> None:
        states.append(turn.session.state)
        async with turn.tool("Buy", input=order) as tool:
            assert tool.raw_input == {"item": "tea", "path": "/shelf/3"}
            await tool.update(input={"orders": [order]})
            await tool.complete(output=Receipt(order, 2.5))
        await turn.save(order)
        states.append(turn.session.state)
        turn.session.state = [order]
        await turn.save()

    store = make_store(kind, tmp_path)
    async with served(agent_of(reply, store=store), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session)
        assert heard.stop_reason == "end_turn"
    assert states == [None, {"item": "tea", "path": "/shelf/3"}]
    (call,) = heard.tools().values()
    assert call["rawInput"] == {"orders": [{"item": "tea", "path": "/shelf/3"}]}
    assert call["rawOutput"] == {"order": {"item": "tea", "path": "/shelf/3"}, "total": 2.5}
    assert await store.state(session) == b'[{"item":"tea","path":"/shelf/3"}]'
    await store.close()


async def test_what_is_no_json_is_refused_where_it_is_given() -> None:
    async def reply(turn: Turn) -> None:
        with pytest.raises(TypeError, match="input is no JSON value"):
            turn.tool("Buy", input=object())
        await turn.say("on")

    async with served(agent_of(reply)) as hand:
        hand.answers[PERMISSION] = allow
        assert Heard((await hand.turn(await hand.new_session())).messages).text == "on"
