"""Tool calls: announced, changed, shown, and always brought to an end, whatever happens inside."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from accord.agent import Tool, ToolFailed, Turn
from accord.agent.tool import checked_json, tool_content
from accord.errors import LocalProtocolError, RateLimited
from accord.jsonrpc.plain import plain
from accord.protocol.model import Unknown
from accord.session.content import Image, Text
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, Heard, agent_of, served
from tests.tables import rows

SECRET = "/home/ada/secret-token-4711"  # noqa: S105 - what must not leak


async def run(handler: Any, edition: str, cwd: str = "/tmp") -> Heard:  # noqa: S108 - no file is made there
    async with served(agent_of(handler), edition) as hand:
        return await hand.turn(await hand.new_session(cwd))


def only(heard: Heard) -> dict[str, Any]:
    """The one tool call that was told, as a client has it in the end."""
    (call,) = heard.tools().values()
    return call


def shown(call: dict[str, Any]) -> list[str]:
    return [item["content"]["text"] for item in call["content"]]


# --- life


@IN_EVERY_EDITION
async def test_a_tool_call_is_announced_with_all_there_is_and_completed_at_the_end(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool(
            "Read a.txt",
            kind="read",
            status="pending",
            name="read_file",
            input={"path": "a.txt"},
            locations=["a.txt", Location("/elsewhere/b.txt", 3)],
            id="call-1",
            meta={"k": 1},
        ) as tool:
            assert repr(tool) == "<tool call 'Read a.txt', pending>"
            assert not tool.finished
            await tool.update(status="in_progress")
        assert tool.finished
        assert not tool.failed

    heard = await run(reply, edition, "/work")
    first = heard.of("tool_call", "tool_call_update")[0]
    assert first["toolCallId"] == "call-1"
    assert (first["title"], first["kind"], first.get("status", "pending")) == ("Read a.txt", "read", "pending")
    assert first["locations"] == [{"path": "/work/a.txt"}, {"path": "/elsewhere/b.txt", "line": 3}]
    assert first["rawInput"] == {"path": "a.txt"}
    assert first["_meta"]["k"] == 1
    assert only(heard)["statuses"][-2:] == ["in_progress", "completed"]


@IN_EVERY_EDITION
async def test_a_tool_call_can_be_run_by_hand(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        tool = await turn.tool("By hand").start()
        await tool.start()
        await tool.complete("done", output={"n": 1})
        await tool.complete("again")
        await tool.fail("too late")
        await tool.cancel()

    call = only(await run(reply, edition))
    assert call["status"] == "completed"
    assert call["rawOutput"] == {"n": 1}
    assert shown(call) == ["done"]


@IN_EVERY_EDITION
async def test_what_a_handler_leaves_open_is_completed_with_its_turn(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.tool("Left open").start()

    assert only(await run(reply, edition))["status"] == "completed"


@IN_EVERY_EDITION
async def test_what_a_failing_handler_leaves_open_fails_with_its_turn(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.tool("Left open").start()
        raise RuntimeError(SECRET)

    heard = await run(reply, edition)
    assert only(heard)["status"] == "failed"
    assert heard.stop_reason == "error"
    if edition != "v2":
        assert heard.messages[-1] is heard.answer


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_tool_that_fails_is_a_failed_call_and_the_turn_goes_on(
    edition: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Explode") as tool:
            await tool.show("so far")
            raise RuntimeError(SECRET)
        assert tool.failed
        assert isinstance(tool.error, RuntimeError)
        await turn.say("still here")

    heard = await run(reply, edition)
    call = only(heard)
    assert call["status"] == "failed"
    assert shown(call) == ["so far"]
    assert heard.text == "still here"
    assert heard.stop_reason == "end_turn"
    assert SECRET not in str(heard.messages)
    assert SECRET in caplog.text


@IN_EVERY_EDITION
async def test_a_tool_that_says_why_it_failed_shows_it(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Find") as tool:
            raise ToolFailed("There is no such file")
        assert tool.failed

    call = only(await run(reply, edition))
    assert call["status"] == "failed"
    assert shown(call) == ["There is no such file"]


@IN_EVERY_EDITION
async def test_an_error_for_the_client_is_no_more_than_a_failed_tool_inside_of_one(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Fetch"):
            raise RateLimited(3)

    heard = await run(reply, edition)
    assert only(heard)["status"] == "failed"
    assert heard.stop_reason == "end_turn"


async def test_what_ends_the_program_is_not_held_up_by_a_tool_call() -> None:
    async def reply(turn: Turn) -> None:
        tool = turn.tool("Exit")
        await tool.start()
        kind = GeneratorExit
        assert await tool.__aexit__(kind, kind(), None) is False

    assert (await run(reply, "v2")).stop_reason == "end_turn"


# --- what it shows


@IN_EVERY_EDITION
async def test_what_is_shown_and_streamed_comes_in_order_and_what_replaces_it_is_alone(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Show") as tool:
            await tool.show("one", Text("two"))
            await tool.stream("three")
            assert len(tool.content) == 3
        async with turn.tool("Replace") as tool:
            await tool.show("old")
            await tool.replace("new", Image("AAAA", "image/png"))
            assert len(tool.content) == 2

    first, second = (await run(reply, edition)).tools().values()
    assert "".join(shown(first)) == "onetwothree"
    assert second["content"][0] == {"type": "content", "content": {"type": "text", "text": "new"}}
    assert second["content"][1]["content"]["type"] == "image"


@IN_EVERY_EDITION
@rows(("old", "new", "operation"), [(None, "b", "add"), ("a", None, "delete"), ("a", "b", "modify")])
async def test_a_diff_is_shown_with_absolute_paths(
    edition: str, old: str | None, new: str | None, operation: str
) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Edit", kind="edit") as tool:
            await tool.diff(Path("src/../a.txt"), old, new)

    (item,) = only(await run(reply, edition, "/work"))["content"]
    assert item["type"] == "diff"
    if edition == "v2":
        (change,) = item["changes"]
        assert (change["operation"], change["path"]) == (operation, "/work/a.txt")
    else:
        assert item["path"] == "/work/a.txt"
        assert item.get("oldText") == old
        assert item["newText"] == (new or "")


@IN_EVERY_EDITION
async def test_places_can_be_followed(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Walk", locations=["a"]) as tool:
            await tool.locate("b", Location("c", 7))

    assert only(await run(reply, edition, "/work"))["locations"] == [
        {"path": "/work/b"},
        {"path": "/work/c", "line": 7},
    ]


@IN_EVERY_EDITION
async def test_everything_about_a_call_can_change(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Before", kind="read") as tool:
            await tool.update(title="After", kind="edit", input={"a": 1}, output=[1, 2], meta={"k": 2})
            assert (tool.title, tool.kind, tool.raw_input) == ("After", "edit", {"a": 1})

    call = only(await run(reply, edition))
    assert (call["title"], call["kind"], call["rawInput"], call["rawOutput"]) == ("After", "edit", {"a": 1}, [1, 2])
    assert call["_meta"]["k"] == 2


def test_whatever_can_be_shown_becomes_content() -> None:
    class Screen:
        view = TerminalView("t")

    change = FileChange("/a", None, "new", "add")
    assert tool_content("text") == Shown(Text("text"))
    assert tool_content(change) == Diff([change])
    assert tool_content(Screen()) == TerminalView("t")
    for ready in (Shown(Text("x")), Diff([change]), TerminalView("t"), Unknown("_x", {"type": "_x"})):
        assert tool_content(ready) is ready


# --- mistakes of authors


@IN_EVERY_EDITION
async def test_what_is_no_json_is_told_to_the_author_at_once_and_harms_nothing(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        with pytest.raises(TypeError, match="input"):
            turn.tool("Bad", input=object())
        async with turn.tool("Good") as tool:
            with pytest.raises(TypeError, match="input"):
                await tool.update(title="Not this", input={1, object()})
            with pytest.raises(TypeError, match="output"):
                await tool.update(title="Not this", output=object())
            with pytest.raises(TypeError, match="output"):
                await tool.complete(output=object())
            assert tool.title == "Good"
            assert not tool.finished

    heard = await run(reply, edition)
    call = only(heard)
    assert (call["title"], call["status"]) == ("Good", "completed")
    assert heard.stop_reason == "end_turn"


@rows("value", [{"path": "a"}, {"paths": ["a"], "deep": {"path": "a"}}, ["a"]])
@IN_EVERY_EDITION
async def test_input_and_output_are_what_they_were_when_they_were_given(edition: str, value: Any) -> None:
    mine = copy.deepcopy(value)

    async def reply(turn: Turn) -> None:
        async with turn.tool("Read", input=mine) as tool:
            await tool.complete(output=mine)
            for each in (mine, *(mine.values() if isinstance(mine, dict) else ())):
                if isinstance(each, dict | list):
                    each.clear()

    call = only(await run(reply, edition))
    assert (call["rawInput"], call["rawOutput"]) == (value, value)


@settings(max_examples=20)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    )
)
def test_whatever_shortcut_is_taken_the_value_is_the_same(value: Any) -> None:
    checked = checked_json(value, "input")

    assert (checked, type(checked)) == (plain(value), type(plain(value)))
    assert checked is not value or not isinstance(value, dict | list)


@IN_EVERY_EDITION
async def test_a_call_is_not_ended_by_an_update(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Odd") as tool:
            with pytest.raises(LocalProtocolError, match="complete, fail or cancel"):
                await tool.update(status="completed")

    assert (await run(reply, edition)).stop_reason == "end_turn"


# --- stopped by the client alone (v2)


def stopping(body: Any, *, after: str = "after") -> Any:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Long", cancellable=True, id="long") as tool:
            await body(tool)
        assert tool.cancel_requested
        await asyncio.sleep(0)
        await turn.say(f"{after} {tool.status}")

    return reply


async def stop_twice(handler: Any) -> Heard:
    """Run a turn whose tool call the client cancels as soon as it shows something."""
    async with served(agent_of(handler), "v2") as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.update_of("tool_call_content_chunk")
        params = {"sessionId": session, "toolCallId": "long"}
        first, second = await hand.ask("tool_call/cancel", params), await hand.ask("tool_call/cancel", params)
        assert (await hand.answer_to(first))["result"] == {}
        await hand.answer_to(second)
        heard = await hand.ended(prompt)
        assert (await hand.request("tool_call/cancel", params))["error"]["code"] == -32602
        return heard


async def test_a_client_can_stop_one_call_and_the_turn_goes_on() -> None:
    async def body(tool: Tool) -> None:
        await tool.show("x")
        await asyncio.Event().wait()

    heard = await stop_twice(stopping(body))
    call = only(heard)
    assert call["status"] == "cancelled"
    assert heard.of("tool_call_update")[0]["capabilities"]["cancel"] == {}
    assert not call["capabilities"]
    assert heard.text == "after cancelled"
    assert heard.stop_reason == "end_turn"


async def test_a_call_that_finishes_although_it_was_stopped_leaves_the_turn_alone() -> None:
    async def body(tool: Tool) -> None:
        await tool.show("x")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await tool.show("tidied")

    heard = await stop_twice(stopping(body))
    assert heard.text == "after completed"
    assert heard.stop_reason == "end_turn"


async def test_a_call_that_fails_when_it_is_stopped_leaves_the_turn_alone() -> None:
    async def body(tool: Tool) -> None:
        await tool.show("x")
        try:
            await asyncio.Event().wait()
        finally:
            raise ToolFailed("halfway")

    heard = await stop_twice(stopping(body))
    assert heard.text == "after failed"
    assert heard.stop_reason == "end_turn"


async def test_a_call_without_a_context_is_told_that_it_should_stop() -> None:
    async def reply(turn: Turn) -> None:
        tool = turn.tool("Long", cancellable=True, id="long")
        await tool.show("x")
        while not tool.finished:
            await asyncio.sleep(0)
        await turn.say(f"{tool.cancel_requested} {tool.status}")

    assert (await stop_twice(reply)).text == "True cancelled"


async def test_a_cancel_of_the_turn_is_not_mistaken_for_one_of_the_call() -> None:
    async def body(tool: Tool) -> None:
        await tool.show("x")
        await asyncio.Event().wait()

    async with served(agent_of(stopping(body)), "v2") as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.update_of("tool_call_content_chunk")
        await hand.ask("tool_call/cancel", {"sessionId": session, "toolCallId": "long"})
        await hand.cancel(session)
        heard = await hand.ended(prompt)
    assert heard.stop_reason == "cancelled"
    assert heard.text == ""
    assert only(heard)["status"] == "cancelled"


async def test_a_call_that_cannot_be_cancelled_is_not() -> None:
    gate = asyncio.Event()

    async def reply(turn: Turn) -> None:
        async with turn.tool("Long", id="long") as tool:
            await tool.show("x")
            await gate.wait()

    async with served(agent_of(reply), "v2") as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.update_of("tool_call_content_chunk")
        answer = await hand.request("tool_call/cancel", {"sessionId": session, "toolCallId": "long"})
        assert answer["error"]["code"] == -32602
        gate.set()
        assert only(await hand.ended(prompt))["status"] == "completed"


@IN_EVERY_EDITION
async def test_a_tool_call_that_never_began_is_never_told(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        turn.tool("Never mind")
        await turn.say("done")

    heard = await run(reply, edition)
    assert heard.tools() == {}
    assert heard.text == "done"
