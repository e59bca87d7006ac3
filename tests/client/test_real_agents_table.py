"""The behaviour of real agents on the wire, item by item, each as a script that our client must handle."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from accord.client import ConnectedAgent, Deadlines, Offer, PermissionQuestion, Session
from accord.errors import (
    AccordError,
    DeadlineExceeded,
    InternalError,
    InvalidParams,
    MethodNotFound,
    RequestError,
    ResourceNotFound,
)
from accord.session.event import Event, MessageChunk, StateChanged, ToolChanged
from accord.testing import AgentPeer, Answers, JsonRpcMessage, Recorder, ScriptedAgent, command_of, join
from accord.testing.roles import AgentScript, Greeting
from tests.limits import limit
from tests.tables import rows

TOOL = {"toolCallId": "t1", "title": "Edit a.txt", "kind": "edit", "status": "pending"}
BOUND_SECONDS = limit(10.0)


@asynccontextmanager
async def talking(
    script: AgentScript, folder: Path, **options: Any
) -> AsyncIterator[tuple[Session, ConnectedAgent, AgentPeer]]:
    """A client of a scripted agent, with a session."""
    agent = ScriptedAgent(script)
    async with asyncio.timeout(limit(60)), join(agent, **options) as remote:
        yield await remote.new_session(folder), remote, agent.peer


async def events_of(session: Session, *prompt: str) -> tuple[list[Event], str | None]:
    """One turn: its events, and why it ended."""
    events: list[Event] = []
    async with session.prompt(*prompt) as turn:
        async for event in turn:
            events.append(event)  # noqa: PERF401 - they come as they come
    return events, turn.stop_reason


async def one_turn(peer: AgentPeer, edition: Greeting = "v1", text: str = "done") -> None:
    await peer.greet(edition)
    session = await peer.open_session()
    await one_more_turn(peer, session, text)


async def one_more_turn(peer: AgentPeer, session: str = "s", text: str = "done") -> None:
    prompt = await peer.take_prompt()
    await peer.chunk(session, text)
    await peer.end(prompt)


# --- 1: long lines


async def long_lines(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    commands = [{"name": f"c{number}", "description": "x" * 500} for number in range(1200)]
    await peer.update(session, {"sessionUpdate": "available_commands_update", "availableCommands": commands})
    await one_more_turn(peer)


@pytest.mark.parametrize("target", [(ScriptedAgent(long_lines),), command_of(long_lines)], ids=["memory", "program"])
async def test_1_a_line_of_more_than_half_a_megabyte_is_read(tmp_path: Path, target: Sequence[Any]) -> None:
    recorder = Recorder()

    async with join(*target, recorder=recorder) as remote:
        session = await remote.new_session(tmp_path)
        turn = await session.prompt("go")

    assert turn.text == "done"
    assert len(session.commands) == 1200
    assert max(len(text) for _, text in recorder.texts) > 563_202


# --- 2: false v2


@rows("wish", ["auto", "newest", "1"])
async def test_2_an_agent_that_says_2_and_speaks_v1_is_heard_in_v1(tmp_path: Path, wish: str) -> None:
    async with talking(lambda peer: one_turn(peer, "false v2"), tmp_path, edition=wish) as (session, remote, _):
        turn = await session.prompt("go")

        assert remote.edition == "v1"
        assert (turn.text, turn.stop_reason) == ("done", "end_turn")


@rows("wish", ["auto", "newest"])
@rows("speaks", ["v1", "v2", "v2_june"])
async def test_2_an_agent_that_says_what_it_speaks_is_heard_so(tmp_path: Path, speaks: Greeting, wish: str) -> None:
    async with talking(lambda peer: one_turn(peer, speaks), tmp_path, edition=wish) as (session, remote, _):
        turn = await session.prompt("go")

        assert remote.edition == speaks
        assert (turn.text, turn.stop_reason) == ("done", "end_turn")


# --- 3: early updates


async def early_updates(peer: AgentPeer) -> None:
    await peer.greet()
    opening = await peer.expect("session/new")
    await peer.update("s", {"sessionUpdate": "available_commands_update", "availableCommands": [COMMAND]})
    await peer.update("s", {"sessionUpdate": "current_mode_update", "currentModeId": "plan"})
    await peer.chunk("s", "Welcome.")
    modes = [{"id": "code", "name": "Code"}, {"id": "plan", "name": "Plan"}]
    await peer.answer(opening, {"sessionId": "s", "modes": {"currentModeId": "code", "availableModes": modes}})
    await one_more_turn(peer)


COMMAND = {"name": "init", "description": "Begin"}


async def test_3_updates_before_the_session_has_an_id_are_not_lost(tmp_path: Path) -> None:
    async with talking(early_updates, tmp_path) as (session, _, _):
        assert [command.name for command in session.commands] == ["init"]
        assert session.transcript.text == "Welcome."

        turn = await session.prompt("go")

    assert turn.text == "done"
    assert session.transcript.text == "Welcome.\n\ndone"


async def test_3_an_answer_that_tells_the_mode_again_comes_later_and_counts(tmp_path: Path) -> None:
    async with talking(early_updates, tmp_path) as (session, _, _):
        assert session.mode == "code"
        await session.prompt("go")


# --- 4: the order of tool calls


async def permission_first(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    given = await peer.permit(session, TOOL)
    await peer.update(session, {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"})
    await peer.chunk(session, given.result["outcome"]["optionId"])
    await peer.end(prompt)


async def test_4_a_permission_for_a_tool_call_that_was_never_announced_is_asked(tmp_path: Path) -> None:
    answers = Answers("allow")
    async with talking(permission_first, tmp_path, permission=answers) as (session, _, _):
        turn = await session.prompt("go")

    assert turn.text == "allow"
    assert answers.titles == ["Edit a.txt"]
    tool = session.transcript.tool_calls["t1"]
    assert (tool.title, tool.kind, tool.status) == ("Edit a.txt", "edit", "completed")


async def update_first(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    await peer.update(session, {"sessionUpdate": "tool_call_update", **TOOL, "status": "in_progress"})
    await peer.update(session, {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"})
    await peer.end(prompt)


async def test_4_an_update_of_a_tool_call_that_was_never_announced_makes_it(tmp_path: Path) -> None:
    async with talking(update_first, tmp_path) as (session, _, _):
        events, _ = await events_of(session, "go")

    tool = session.transcript.tool_calls["t1"]
    assert (tool.title, tool.status) == ("Edit a.txt", "completed")
    assert len([event for event in events if isinstance(event, ToolChanged)]) == 2


async def announced_twice(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    await peer.update(session, {"sessionUpdate": "tool_call", **TOOL})
    await peer.update(session, {"sessionUpdate": "tool_call", **TOOL, "title": "Edit b.txt"})
    await peer.update(session, {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"})
    await peer.end(prompt)


async def test_4_a_tool_call_that_is_announced_twice_is_one(tmp_path: Path) -> None:
    async with talking(announced_twice, tmp_path) as (session, _, _):
        await session.prompt("go")

    assert list(session.transcript.tool_calls) == ["t1"]
    tool = session.transcript.tool_calls["t1"]
    assert (tool.title, tool.status) == ("Edit b.txt", "completed")
    assert session.transcript.timeline.count(tool) == 1


async def empty_chunks(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    for text in ("", "Hel", "", "lo", ""):
        await peer.chunk(session, text)
    await peer.chunk(session, "", "agent_thought_chunk")
    await peer.end(prompt)


async def test_4_empty_chunks_are_heard_and_change_no_text(tmp_path: Path) -> None:
    async with talking(empty_chunks, tmp_path) as (session, _, _):
        events, stop_reason = await events_of(session, "go")

    assert session.transcript.text == "Hello"
    assert len([event for event in events if isinstance(event, MessageChunk)]) == 6
    assert stop_reason == "end_turn"


# --- 5: ids


@rows("ids", ["from 0", "uuid"])
async def test_5_ids_of_the_agent_are_its_own_affair(tmp_path: Path, ids: str) -> None:
    used = [str(uuid.uuid4()) if ids == "uuid" else number for number in range(3)]

    async def script(peer: AgentPeer) -> None:
        peer.ids = iter(used)
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        asked = [await peer.request("session/request_permission", peer.permission(session, TOOL)) for _ in used]
        answers = [await peer.expect_answer(id_) for id_ in reversed(asked)]
        await peer.chunk(session, str([answer.id for answer in answers] == used[::-1]))
        await peer.end(prompt)

    async with talking(script, tmp_path, permission=[True] * 3) as (session, _, _):
        assert (await session.prompt("go")).text == "True"


async def same_ids(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    given = await peer.permit(session, TOOL, id=prompt.id)
    await peer.chunk(session, given.result["outcome"]["optionId"])
    await peer.end(prompt)


async def test_5_one_id_may_be_in_flight_in_both_directions(tmp_path: Path) -> None:
    async with talking(same_ids, tmp_path, permission=["reject"]) as (session, _, _):
        turn = await session.prompt("go")

    assert (turn.text, turn.stop_reason) == ("reject", "end_turn")


# --- 6: methods outside of the spec


async def strange_methods(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    await peer.notify("_auth/status_update", {"status": "ok"})
    prompt = await peer.take_prompt()
    answer = await peer.call("craft/drainMidTurnQueue", {"sessionId": session})
    await peer.notify("craft/unheardOf", {"sessionId": session})
    await peer.update(session, {"sessionUpdate": "agent_mood", "mood": "good"})
    await peer.chunk(session, str(answer.error["code"]))
    await peer.end(prompt)


async def test_6_a_request_outside_of_the_spec_is_refused_and_a_notification_ignored(tmp_path: Path) -> None:
    async with talking(strange_methods, tmp_path) as (session, _, _):
        turn = await session.prompt("go")

    assert (turn.text, turn.stop_reason) == ("-32601", "end_turn")
    assert [update.tag for update in session.transcript.unknown] == ["agent_mood"]


# --- 7: two options of one kind

TWINS = [
    {"optionId": "this", "name": "This file", "kind": "allow_always"},
    {"optionId": "all", "name": "All files", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


async def twins(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    given = await peer.permit(session, TOOL, TWINS)
    await peer.chunk(session, given.result["outcome"]["optionId"])
    await peer.end(prompt)


def second_of_its_kind(question: PermissionQuestion) -> Any:
    return [option for option in question.options if option.kind == "allow_always"][1]


@rows(
    ("answer", "chosen"), [("this", "this"), ("all", "all"), (second_of_its_kind, "all"), (True, "this"), (False, "no")]
)
async def test_7_of_two_options_of_one_kind_the_one_that_was_meant_is_chosen(
    tmp_path: Path, answer: Any, chosen: str
) -> None:
    async with talking(twins, tmp_path, permission=[answer]) as (session, _, _):
        assert (await session.prompt("go")).text == chosen


# --- 8: broken JSON, arrays


async def garbage(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    await peer.garbage()
    prompt = await peer.take_prompt()
    await peer.garbage()
    await peer.chunk(session, "still here")
    await peer.end(prompt)


async def garbage_on_stdout(peer: AgentPeer) -> None:
    print("(node:1) Warning: something is deprecated")  # noqa: T201
    await peer.greet()
    print('{"level":"info","message":"listening"}', flush=True)  # noqa: T201
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    await peer.garbage()
    await peer.chunk(session, "still here")
    await peer.end(prompt)


@pytest.mark.parametrize(
    "target", [(ScriptedAgent(garbage),), command_of(garbage_on_stdout)], ids=["memory", "program"]
)
async def test_8_what_is_no_message_does_not_disturb_the_conversation(tmp_path: Path, target: Sequence[Any]) -> None:
    async with join(*target) as remote:
        session = await remote.new_session(tmp_path)
        turn = await session.prompt("go")

        assert (turn.text, turn.stop_reason) == ("still here", "end_turn")


async def test_8_no_agent_is_ever_sent_an_array(tmp_path: Path) -> None:
    recorder = Recorder()

    async with talking(garbage, tmp_path, recorder=recorder) as (session, _, _):
        await session.prompt("go")

    assert [text for way, text in recorder.texts if way == "out" and text.startswith(b"[")] == []


async def arrays(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    asked = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "session/request_permission",
        "params": peer.permission(session, TOOL),
    }
    await peer.say([asked])
    await peer.chunk(session, "still here")
    await peer.end(prompt)


async def test_8_a_request_in_an_array_is_refused_and_nothing_in_it_is_done(tmp_path: Path) -> None:
    async with talking(arrays, tmp_path, permission=[True]) as (session, _, peer):
        turn = await session.prompt("go")
        await heard(peer, lambda message: message.error is not None)

    assert turn.text == "still here"


async def heard(peer: AgentPeer, wanted: Any) -> None:
    """Wait until a script that is over has heard something."""
    async with asyncio.timeout(BOUND_SECONDS):
        while not any(wanted(message) for message in peer.received):
            await asyncio.sleep(0)


# --- 9: unknown sessions


@rows(("code", "kind"), [(-32002, ResourceNotFound), (-32602, InvalidParams), (-32603, InternalError)])
async def test_9_a_session_that_the_agent_does_not_know_is_its_error(
    tmp_path: Path, code: int, kind: type[RequestError]
) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet(capabilities={"loadSession": True})
        await peer.fail(await peer.expect("session/load"), code, "no such session")
        await peer.open_session()
        await one_more_turn(peer)

    async with join(ScriptedAgent(script)) as remote:
        with pytest.raises(kind) as caught:
            await remote.load_session("gone", tmp_path)
        assert caught.value.code == code

        session = await remote.new_session(tmp_path)
        assert (await session.prompt("go")).text == "done"


@rows(("code", "kind"), [(-32002, ResourceNotFound), (-32602, InvalidParams), (-32603, InternalError)])
async def test_9_a_prompt_in_a_session_that_the_agent_has_forgotten_fails_and_the_next_one_is_sent(
    tmp_path: Path, code: int, kind: type[RequestError]
) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        await peer.open_session()
        await peer.fail(await peer.take_prompt(), code)
        await one_more_turn(peer)

    async with talking(script, tmp_path) as (session, _, _):
        with pytest.raises(kind):
            await session.prompt("go")
        assert (await session.prompt("again")).text == "done"


async def test_9_an_agent_that_accepts_any_session_is_taken_at_its_word(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet(capabilities={"loadSession": True})
        await peer.answer(await peer.expect("session/load"))
        await one_more_turn(peer, "never heard of")

    async with join(ScriptedAgent(script)) as remote:
        session = await remote.load_session("never heard of", tmp_path)
        assert (await session.prompt("go")).text == "done"


async def test_9_updates_of_a_session_that_nobody_opened_disturb_nobody(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        await peer.open_session()
        prompt = await peer.take_prompt()
        await peer.chunk("another", "not yours")
        refused = await peer.permit("another", TOOL)
        await peer.chunk("s", str(refused.error["code"]))
        await peer.end(prompt)

    async with talking(script, tmp_path) as (session, _, _):
        assert (await session.prompt("go")).text == "-32002"


# --- 10: advertised, not implemented

ADVERTISED = {"loadSession": True, "sessionCapabilities": {"close": {}, "resume": {}, "list": {}}}


async def test_10_closing_where_the_agent_cannot_after_all_closes_it_here(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet(capabilities=ADVERTISED)
        await peer.open_session()
        await peer.fail(await peer.expect("session/close"), -32601)
        await peer.open_session("next")
        await one_more_turn(peer, "next")

    async with talking(script, tmp_path) as (session, remote, _):
        await session.close()
        assert session.is_closed

        another = await remote.new_session(tmp_path)
        assert (await another.prompt("go")).text == "done"


async def test_10_resuming_where_the_agent_cannot_after_all_loads_it_and_is_not_told_it_again(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet(capabilities=ADVERTISED)
        await peer.fail(await peer.expect("session/resume"), -32601)
        loading = await peer.expect("session/load")
        await peer.chunk("old", "What was said before.")
        await peer.answer(loading)
        await one_more_turn(peer, "old")

    async with join(ScriptedAgent(script)) as remote:
        session = await remote.resume_session("old", tmp_path)
        assert session.transcript.text == ""
        assert (await session.prompt("go")).text == "done"


async def test_10_resuming_where_the_agent_can_do_nothing_of_it_is_its_error(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet(capabilities={"sessionCapabilities": {"resume": {}}})
        await peer.fail(await peer.expect("session/resume"), -32601)
        await peer.open_session()
        await one_more_turn(peer)

    async with join(ScriptedAgent(script)) as remote:
        with pytest.raises(MethodNotFound):
            await remote.resume_session("old", tmp_path)
        session = await remote.new_session(tmp_path)
        assert (await session.prompt("go")).text == "done"


# --- 11: a missing file


@rows(
    ("name", "choice", "code"),
    [
        ("other", None, -32002),
        ("gemini-cli", None, None),
        ("gemini-cli", "error", -32002),
        ("other", "empty", None),
    ],
)
async def test_11_a_missing_file_is_an_error_but_for_gemini_unless_the_program_says_otherwise(
    tmp_path: Path, name: str, choice: Literal["empty", "error"] | None, code: int | None
) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet(agentInfo={"name": name, "version": "1"})
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        path = str(tmp_path / "new.txt")
        read = await peer.call("fs/read_text_file", {"sessionId": session, "path": path})
        await peer.chunk(session, repr(read.error["code"] if read.error else read.result["content"]))
        await peer.call("fs/write_text_file", {"sessionId": session, "path": path, "content": "made\n"})
        await peer.end(prompt)

    async with talking(script, tmp_path, offer=Offer(missing_file=choice)) as (session, _, _):
        turn = await session.prompt("go")

    assert turn.text == repr("" if code is None else code)
    assert (tmp_path / "new.txt").read_text() == "made\n"


# --- 12: what a write answers


async def test_12_a_write_is_answered_with_something_that_every_agent_takes(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        body = {"sessionId": session, "path": str(tmp_path / "a.txt"), "content": "1\n2\n3\n"}
        written = await peer.call("fs/write_text_file", body)
        read = await peer.call("fs/read_text_file", {**body, "line": 2, "limit": 1})
        await peer.chunk(session, repr((written.result, read.result["content"])))
        await peer.end(prompt)

    async with talking(script, tmp_path) as (session, _, _):
        turn = await session.prompt("go")

    assert turn.text in {repr(({}, "2\n")), repr(({}, "2"))}


async def test_12_null_for_an_answer_without_content_is_taken(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet(capabilities={"loadSession": True})
        await peer.answer_null(await peer.expect("session/load"))
        await peer.update("old", {"sessionUpdate": "current_mode_update", "currentModeId": "plan"})
        modes = [{"id": "code", "name": "Code"}, {"id": "plan", "name": "Plan"}]
        await peer.open_session("s", modes={"currentModeId": "code", "availableModes": modes})
        await peer.answer_null(await peer.expect("session/set_mode"))
        await one_more_turn(peer)

    async with join(ScriptedAgent(script)) as remote:
        await remote.load_session("old", tmp_path)
        session = await remote.new_session(tmp_path)
        await session.set_mode("plan")
        assert session.mode == "plan"
        assert (await session.prompt("go")).text == "done"


# --- 13: cancel, shutdown


async def test_13_a_cancel_that_is_answered_end_turn_ends_the_turn(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        prompt = await peer.take_prompt()
        await peer.update(session, {"sessionUpdate": "tool_call", **TOOL, "status": "in_progress"})
        await peer.expect("session/cancel")
        await peer.end(prompt, "end_turn")
        await one_more_turn(peer)

    async with talking(script, tmp_path) as (session, _, _):
        async with session.prompt("go") as turn:
            async for event in turn:
                if isinstance(event, ToolChanged):
                    turn.cancel()
                    assert session.transcript.tool_calls["t1"].status == "cancelled"
        assert turn.stop_reason == "end_turn"
        assert session.transcript.state == "idle"

        assert (await session.prompt("next")).text == "done"


async def goes_on(peer: AgentPeer) -> None:
    await peer.greet()
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    await peer.update(session, {"sessionUpdate": "tool_call", **TOOL, "status": "in_progress"})
    await peer.expect("session/cancel")
    await peer.update(session, {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"})
    await peer.flood(session, 1000, "and ")
    refused = await peer.permit(session, {**TOOL, "toolCallId": "t2"})
    await peer.chunk(session, refused.result["outcome"]["outcome"])
    await peer.end(prompt, "cancelled")


async def test_13_what_an_agent_says_after_a_cancel_still_counts(tmp_path: Path) -> None:
    async with talking(goes_on, tmp_path, permission=[None]) as (session, _, _), session.prompt("go") as turn:
        async for event in turn:
            if isinstance(event, ToolChanged) and event.status == "in_progress":
                turn.cancel()

    assert turn.stop_reason == "cancelled"
    assert session.transcript.tool_calls["t1"].status == "completed"
    assert turn.text == "and " * 1000 + "cancelled"


async def test_13_an_agent_that_never_stops_is_left_when_the_last_deadline_has_passed(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        session = await peer.open_session()
        await peer.take_prompt()
        await peer.chunk(session, "on and on")
        await peer.expect("session/cancel")
        await peer.expect_end()

    async with talking(script, tmp_path, deadlines=Deadlines(cancel_seconds=0.05)) as (session, _, _):
        turn = session.prompt("go")
        async with turn:
            await anext(aiter(turn.text_stream()))
            turn.cancel()
            with pytest.raises(DeadlineExceeded) as caught:
                await turn.wait()

    assert caught.value.phase == "cancel"


async def stays_behind(peer: AgentPeer) -> None:
    await one_turn(peer)
    await peer.stay()


@pytest.mark.usefixtures("short_graces")
@pytest.mark.parametrize("extra", [(), ("--ignore-sigterm",)])
async def test_13_a_program_that_does_not_leave_when_its_stdin_ends_is_gone_all_the_same(
    tmp_path: Path, extra: tuple[str, ...]
) -> None:
    async with join(*command_of(stays_behind), *extra) as remote:
        session = await remote.new_session(tmp_path)
        assert (await session.prompt("go")).text == "done"
        pid = remote.connection.transport.pid  # type: ignore[attr-defined]

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# --- 14: v2 in the wild


async def v2_turn(peer: AgentPeer, echo: str, *, early: bool) -> None:
    await peer.greet("v2")
    session = await peer.open_session()
    prompt = await peer.expect("session/prompt")
    if early:
        await peer.state(session, "running")
    await peer.answer(prompt, {"messageId": "u1"})
    await say_echo(peer, session, prompt, echo)
    if not early:
        await peer.state(session, "running")
    await peer.chunk(session, "done")
    await peer.state(session, "idle", stopReason="end_turn")


async def say_echo(peer: AgentPeer, session: str, prompt: JsonRpcMessage, echo: str) -> None:
    blocks = prompt.params["prompt"]
    if echo == "user_message":
        await peer.update(session, {"sessionUpdate": "user_message", "messageId": "u1", "content": blocks})
    elif echo == "user_message_chunk":
        for block in blocks:
            await peer.update(session, {"sessionUpdate": "user_message_chunk", "messageId": "u1", "content": block})


@rows("running", ["before the answer", "after the echo"])
@rows("echo", ["user_message", "user_message_chunk"])
async def test_14_every_way_to_begin_a_v2_turn_is_understood(tmp_path: Path, echo: str, running: str) -> None:
    async def script(peer: AgentPeer) -> None:
        await v2_turn(peer, echo, early=running == "before the answer")

    async with talking(script, tmp_path, edition="newest") as (session, _, _):
        events, stop_reason = await events_of(session, "go")

    assert stop_reason == "end_turn"
    said = [(message.speaker, message.text) for message in session.transcript.messages]
    assert said == [("user", "go"), ("agent", "done")]
    assert [event.state for event in events if isinstance(event, StateChanged)] == ["running", "idle"]


async def test_14_a_v2_turn_that_is_over_before_the_prompt_is_answered_is_over(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet("v2")
        session = await peer.open_session()
        prompt = await peer.expect("session/prompt")
        await say_echo(peer, session, prompt, "user_message")
        await peer.state(session, "running")
        await peer.chunk(session, "done")
        await peer.state(session, "idle", stopReason="end_turn")
        await peer.answer(prompt, {"messageId": "u1"})

    async with talking(script, tmp_path, edition="2") as (session, _, _):
        turn = await session.prompt("go")

    assert (turn.text, turn.stop_reason) == ("done", "end_turn")


async def test_14_an_option_is_set_by_its_kind_of_value(tmp_path: Path) -> None:
    option = {
        "id": "model",
        "configId": "model",
        "name": "Model",
        "type": "select",
        "currentValue": "small",
        "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
    }
    said: list[JsonRpcMessage] = []

    async def script(peer: AgentPeer) -> None:
        await peer.greet("v2")
        await peer.open_session("s", configOptions=[option])
        request = await peer.expect("session/set_config_option")
        said.append(request)
        await peer.answer(request, {"configOptions": [{**option, "currentValue": "large"}]})

    async with talking(script, tmp_path, edition="2") as (session, _, _):
        await session.set_option("model", "large")

        assert session.option("model").value == "large"
    assert said[0].params["type"] == "id"
    assert said[0].params["value"] == "large"


# --- an agent that breaks the rules of answering


async def test_an_agent_that_answers_a_prompt_twice_is_heard_once(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        await peer.open_session()
        await peer.answer_twice(await peer.take_prompt(), {"stopReason": "end_turn"}, {"stopReason": "refusal"})
        await one_more_turn(peer)

    async with talking(script, tmp_path) as (session, remote, _):
        assert (await session.prompt("go")).stop_reason == "end_turn"
        assert (await session.prompt("go")).text == "done"
        assert remote.connection.stray_answers == 1


async def test_an_answer_under_anothers_id_answers_nothing(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        await peer.open_session()
        prompt = await peer.take_prompt()
        await peer.answer_with_other_id(prompt, {"stopReason": "refusal"})
        await peer.answer_with_other_id(prompt, {"stopReason": "refusal"}, id=str(prompt.id))
        await peer.end(prompt)

    async with talking(script, tmp_path) as (session, remote, _):
        assert (await session.prompt("go")).stop_reason == "end_turn"
        assert remote.connection.stray_answers == 2


async def test_an_agent_that_never_answers_is_late_and_says_at_what(tmp_path: Path) -> None:
    async def script(peer: AgentPeer) -> None:
        await peer.greet()
        await peer.open_session()
        await peer.take_prompt()
        await peer.expect_end()

    hurry = Deadlines(first_seconds=0.05, cancel_seconds=0.05)
    async with talking(script, tmp_path, deadlines=hurry) as (session, _, _):
        with pytest.raises(DeadlineExceeded) as caught:
            await session.prompt("go")

    assert caught.value.phase == "first"


@rows("phase", ["greeting", "opening", "prompt"])
async def test_an_agent_that_leaves_ends_whatever_was_asked(tmp_path: Path, phase: str) -> None:
    async def script(peer: AgentPeer) -> None:
        if phase == "greeting":
            await peer.expect("initialize")
            peer.exit()
        await peer.greet()
        if phase == "opening":
            await peer.expect("session/new")
            peer.exit()
        await peer.open_session()
        await peer.take_prompt()
        peer.exit()

    with pytest.raises(AccordError) as caught:
        async with talking(script, tmp_path) as (session, _, _):
            await session.prompt("go")

    assert type(caught.value).__name__ == "ConnectionLost"
