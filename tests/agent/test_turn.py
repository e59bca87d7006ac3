"""The messages of a handler in its turn, and the end of the turn: the same in every edition."""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import Any

import pytest

from accord.agent import Agent, BlockingTurn, Turn
from accord.errors import (
    AuthRequired,
    ConnectionLost,
    LocalProtocolError,
    PermissionDenied,
    RateLimited,
    RequestError,
    request_error,
)
from accord.protocol.model import Unknown
from accord.session.content import Annotations, Audio, Block, Icon, Image, Link, Resource, Text
from accord.session.custom import Custom, custom
from accord.session.entry import Message
from accord.session.event import Noticed, PlanEntry
from accord.stores import MemoryStore
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, Hand, Heard, agent_of, noting, served
from tests.agent.sessions import messages, reopen
from tests.tables import rows

SECRET = "/home/ada/secret-token-4711"  # noqa: S105 - what must not leak
NOTING: dict[str, Any] = {"session": {"notices": {}, "compaction": {}}}


async def run(handler: Any, edition: str, text: Any = "go", **options: Any) -> Heard:
    """One turn of a handler with a plain client."""
    async with served(agent_of(handler), edition, **options) as hand:
        return await hand.turn(await hand.new_session(), text)


# --- what was asked


@IN_EVERY_EDITION
async def test_a_handler_gets_the_text_the_blocks_and_the_trace_of_its_prompt(edition: str) -> None:
    turns: list[Turn] = []
    trace = {"traceparent": "00-1-2-01", "tracestate": "a=b", "baggage": 7, "own": [1]}
    blocks = [
        {"type": "text", "text": "look at"},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "text", "text": "this"},
    ]
    async with served(agent_of(noting(turns)), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session, blocks, _meta=trace)
    (turn,) = turns
    assert heard.stop_reason == "end_turn"
    assert turn.text == "look at\nthis"
    assert turn.argument == turn.text
    assert turn.command is None
    assert [type(block).__name__ for block in turn.prompt] == ["Text", "Link", "Image", "Text"]
    assert turn.meta == trace
    assert turn.trace == {"traceparent": "00-1-2-01", "tracestate": "a=b"}
    assert turn.client.name == "hand"
    assert session in repr(turn)
    assert "over" in repr(turn)


@IN_EVERY_EDITION
async def test_a_slash_command_has_a_handler_of_its_own_and_others_come_as_prompts(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.say(f"prompt {turn.argument}")

    agent = agent_of(reply)

    @agent.command("greet", "Greet somebody", hint="who")
    async def greet(turn: Turn, argument: str) -> None:
        await turn.say(f"{turn.command} {argument}")

    async with served(agent, edition) as hand:
        session = await hand.new_session()
        assert (await hand.turn(session, "/greet Ada\nand Bob")).text == "greet Ada\nand Bob"
        assert (await hand.turn(session, "/greet")).text == "greet "
        assert (await hand.turn(session, "/greeting you")).text == "prompt /greeting you"


@IN_EVERY_EDITION
@rows("in_thread", [False, True])
async def test_the_handler_of_a_command_may_want_the_turn_alone(edition: str, in_thread: bool) -> None:  # noqa: FBT001
    agent = agent_of(lambda _: None)

    async def on_the_loop(turn: Turn) -> None:
        await turn.say(f"{turn.command} {turn.argument}")

    def in_a_thread(turn: BlockingTurn, *, mark: str = "") -> None:
        turn.say(f"{turn.command} {turn.argument}{mark}")

    agent.command("clear", "Clear it")(in_a_thread if in_thread else on_the_loop)
    async with served(agent, edition) as hand:
        assert (await hand.turn(await hand.new_session(), "/clear all")).text == "clear all"


@rows("handler", [lambda: None, lambda turn, argument, more: (turn, argument, more)])
def test_a_handler_that_a_command_cannot_call_is_refused_at_once(handler: Any) -> None:
    agent = Agent("commands", store=None)
    with pytest.raises(TypeError):
        agent.command("clear", "Clear it")(handler)


async def yields_later(_: Any) -> Any:
    yield "a"


def yields(_: Any, *_more: Any) -> Any:
    yield "a"


REGISTER: dict[str, Any] = {
    "prompt": lambda agent: agent.prompt,
    "command": lambda agent: agent.command("a", "b"),
    "on_option": lambda agent: agent.on_option,
    "on_session": lambda agent: agent.on_session,
    "login": lambda agent: agent.login("a", "b"),
    "check_login": lambda agent: agent.check_login,
    "logout": lambda agent: agent.logout,
    "request": lambda agent: agent.request("_a"),
    "notification": lambda agent: agent.notification("_a"),
}


@rows("handler", [yields_later, yields, functools.partial(yields), 5])
@rows("name", REGISTER)
def test_a_handler_whose_call_would_do_nothing_is_refused_at_once(name: str, handler: Any) -> None:
    with pytest.raises(TypeError):
        REGISTER[name](Agent("tested", store=None))(handler)


@IN_EVERY_EDITION
async def test_a_generator_that_a_handler_returns_fails_its_turn(edition: str) -> None:
    def reply(turn: BlockingTurn) -> Any:
        return yields(turn)

    assert (await run(reply, edition)).error["code"] == -32603


@IN_EVERY_EDITION
async def test_an_agent_of_commands_alone_refuses_other_prompts(edition: str) -> None:
    agent = Agent("commands", store=None)

    @agent.command("only", "The only one")
    async def only(_: Turn, __: str) -> None:
        """Nothing to do."""

    async with served(agent, edition) as hand:
        session = await hand.new_session()
        assert (await hand.turn(session, "/only")).stop_reason == "end_turn"
        error = (await hand.turn(session, "hello")).error
        assert error["code"] == -32602
        assert "/only" in error["data"]["expected"]


@IN_EVERY_EDITION
@rows("prompt", [[], [{"type": "hologram"}]])
async def test_a_prompt_that_the_agent_cannot_take_is_refused_and_the_next_is_served(edition: str, prompt: Any) -> None:
    async def reply(turn: Turn) -> None:
        await turn.say("here")

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        answer = (await hand.turn(session, prompt)).answer
        assert answer is not None
        assert answer["error"]["code"] == -32602
        assert (await hand.turn(session)).text == "here"


@IN_EVERY_EDITION
async def test_content_that_was_not_advertised_is_refused(edition: str) -> None:
    agent = Agent("plain", store=None)
    agent.prompt(lambda _: None)
    async with served(agent, edition) as hand:
        image = [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]
        error = (await hand.turn(await hand.new_session(), image)).error
        assert error["code"] == -32602
        assert error["data"]["field"] == "prompt.0.type"


# --- what is said


@IN_EVERY_EDITION
async def test_what_is_said_in_a_row_is_one_message_until_another_speaker_or_a_tool_call_comes_between(
    edition: str,
) -> None:
    ids: list[str] = []

    async def reply(turn: Turn) -> None:
        ids.append(await turn.say("one "))
        await turn.update_usage(1, 2)
        ids.append(await turn.say("message"))
        ids.append(await turn.think("a "))
        ids.append(await turn.think("thought"))
        ids.append(await turn.say("another"))
        tool = turn.tool("Read")
        ids.append(await turn.say(" one"))
        async with tool:
            ids.append(await turn.say("a third"))
        turn.new_message()
        ids.append(await turn.say("a fourth"))

    heard = await run(reply, edition)
    assert ids[0] == ids[1]
    assert ids[2] == ids[3]
    assert ids[4] == ids[5]
    assert len(set(ids)) == 5
    chunks = heard.of("agent_message_chunk", "agent_thought_chunk")
    assert [chunk["messageId"] for chunk in chunks] == ids
    assert [chunk["content"]["text"] for chunk in chunks] == [
        "one ",
        "message",
        "a ",
        "thought",
        "another",
        " one",
        "a third",
        # Clients of v1 join chunks whatever their ids.
        "\n\na fourth" if edition == "v1" else "a fourth",
    ]


@IN_EVERY_EDITION
async def test_a_tool_call_that_is_announced_inside_a_message_does_not_tear_it(edition: str) -> None:
    ids: list[str] = []

    async def reply(turn: Turn) -> None:
        ids.append(await turn.say("I will "))
        tool = await turn.tool("Look", status="pending").start()
        ids.append(await turn.say("look."))
        await tool.update(status="in_progress")
        ids.append(await turn.say("Found it."))
        await tool.complete()
        ids.append(await turn.say(" Done."))

    await run(reply, edition)
    assert ids[0] == ids[1] != ids[2] == ids[3]


@IN_EVERY_EDITION
async def test_an_announced_tool_call_that_ends_later_does_not_tear_a_message_that_began_after_it(edition: str) -> None:
    ids: list[str] = []

    async def reply(turn: Turn) -> None:
        tool = await turn.tool("Look", status="pending").start()
        ids.append(await turn.say("Meanwhile "))
        await tool.cancel()
        ids.append(await turn.say("something else."))

    await run(reply, edition)
    assert ids[0] == ids[1]


EVERY_BLOCK: list[tuple[Block, dict[str, Any]]] = [
    (Text("text", meta={"k": 1}), {"type": "text", "text": "text", "_meta": {"k": 1}}),
    (
        Image("AAAA", "image/png", "file:///i"),
        {"type": "image", "data": "AAAA", "mimeType": "image/png", "uri": "file:///i"},
    ),
    (Audio("AAAA", "audio/wav"), {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}),
    (
        Link("file:///l", "l", "Title", "About", "text/plain", 3),
        {
            "type": "resource_link",
            "uri": "file:///l",
            "name": "l",
            "title": "Title",
            "description": "About",
            "mimeType": "text/plain",
            "size": 3,
        },
    ),
    (
        Resource("file:///r", text="whole", mime_type="text/plain"),
        {"type": "resource", "resource": {"uri": "file:///r", "text": "whole", "mimeType": "text/plain"}},
    ),
    (
        Resource("file:///b", blob="AAAA"),
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA"}},
    ),
]


@IN_EVERY_EDITION
@rows(("block", "expected"), EVERY_BLOCK)
async def test_every_kind_of_block_can_be_said_with_annotations_and_meta(
    edition: str, block: Block, expected: dict[str, Any]
) -> None:
    notes = Annotations(audience=["user"], priority=0.5, last_modified="2026-01-01T00:00:00Z")

    async def reply(turn: Turn) -> None:
        await turn.say(block, annotations=notes, meta={"of": "chunk"})
        await turn.think([block, Text("end")])

    heard = await run(reply, edition)
    said, thought, end = heard.of("agent_message_chunk", "agent_thought_chunk")
    annotations = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}
    assert said["content"] == {**expected, "annotations": annotations}
    assert said["_meta"] == {"of": "chunk"}
    assert thought["content"] == expected
    assert end["content"]["text"] == "end"
    assert thought["messageId"] == end["messageId"]


async def test_a_link_can_have_icons_where_the_edition_has_them() -> None:
    async def reply(turn: Turn) -> None:
        await turn.say(Link("file:///l", "l", icons=[Icon("file:///i.png", sizes=["48x48"])]))

    (said,) = (await run(reply, "v2")).of("agent_message_chunk")
    assert said["content"]["icons"] == [{"src": "file:///i.png", "sizes": ["48x48"]}]


async def test_an_unknown_block_keeps_its_own_annotations() -> None:
    async def reply(turn: Turn) -> None:
        block = Unknown("_hologram", {"type": "_hologram", "data": 1})
        await turn.say(block, annotations=Annotations(priority=1.0))

    (said,) = (await run(reply, "v2")).of("agent_message_chunk")
    assert said["content"] == {"type": "_hologram", "data": 1}


@IN_EVERY_EDITION
async def test_meta_that_is_no_json_is_told_to_the_author_at_once(edition: str) -> None:
    caught: list[TypeError] = []

    async def reply(turn: Turn) -> None:
        for telling in (
            lambda: turn.say("x", meta={"k": object()}),
            lambda: turn.plan(["x"], meta={"k": object()}),
        ):
            with pytest.raises(TypeError, match="meta") as raised:
                await telling()
            caught.append(raised.value)
        with pytest.raises(TypeError, match="meta"):
            turn.tool("x", meta={"k": object()})

    heard = await run(reply, edition)
    assert heard.stop_reason == "end_turn"
    assert len(caught) == 2
    assert heard.said == []


@IN_EVERY_EDITION
async def test_a_message_can_be_corrected(edition: str) -> None:
    texts: list[str] = []

    async def reply(turn: Turn) -> None:
        said = await turn.say("worng")
        await turn.correct(said, "right")
        history = await turn.history()
        texts.extend(entry.text for entry in history.timeline if isinstance(entry, Message))

    heard = await run(reply, edition)
    assert heard.stop_reason == "end_turn"
    assert ["right" in str(update["content"]) for update in heard.said] == [False, True]
    assert texts == ["go", "right"]


@IN_EVERY_EDITION
async def test_a_plan_is_shown_as_a_whole(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.plan(["first", PlanEntry("second", "in_progress", "high")], meta={"k": 1})

    (update,) = (await run(reply, edition)).said
    entries = update["entries"] if edition == "v1" else update["plan"]["entries"]
    assert [(each["content"], each["status"], each["priority"]) for each in entries] == [
        ("first", "pending", "medium"),
        ("second", "in_progress", "high"),
    ]


@IN_EVERY_EDITION
async def test_usage_is_told_with_and_without_a_cost(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.update_usage(10, 100)
        await turn.update_usage(20, 100, cost=0.5, currency="EUR")

    first, second = (await run(reply, edition)).of("usage_update")
    assert (first["used"], first["size"]) == (10, 100)
    assert "cost" not in first
    assert second["cost"] == {"amount": 0.5, "currency": "EUR"}


@IN_EVERY_EDITION
async def test_a_title_is_told_and_kept(edition: str) -> None:
    store = MemoryStore()

    async def reply(turn: Turn) -> None:
        await turn.set_title("A name")

    async with served(agent_of(reply, store=store), edition) as hand:
        session = await hand.new_session()
        (update,) = (await hand.turn(session)).of("session_info_update")
        assert update["title"] == "A name"
        record = await store.get(session)
        assert record is not None
        assert record.title == "A name"


@IN_EVERY_EDITION
async def test_a_notice_is_shown_once_and_kept_only_where_it_is_shown_as_a_message(edition: str) -> None:
    store = MemoryStore()

    async def reply(turn: Turn) -> None:
        await turn.notice("Careful", "It is hot", severity="warning")

    async with served(agent_of(reply, store=store), edition, NOTING if edition == "v1" else None) as hand:
        session = await hand.new_session()
        (update,) = (await hand.turn(session)).said
        kept = await store.read(session)
    if edition == "v2_june":
        assert "Careful" in update["content"]["text"]
    else:
        assert (update["sessionUpdate"], update["severity"], update["title"]) == ("notice", "warning", "Careful")
        assert update["description"] == "It is hot"
    assert ("Careful" in str(kept)) is (edition == "v2_june")


async def test_a_client_without_notices_gets_a_message_of_its_own() -> None:
    async def reply(turn: Turn) -> None:
        await turn.say("before ")
        await turn.notice("Careful")
        await turn.say("after")

    before, notice, after = (await run(reply, "v1")).of("agent_message_chunk")
    assert before["messageId"] == after["messageId"] != notice["messageId"]
    texts = [each["content"]["text"] for each in (before, notice, after)]
    assert texts == ["before ", "\n\nInfo: Careful", "\n\nafter"]


@rows("edition", ["v1", "v2_june"])
@rows("way", ["notice", "send", "session"])
async def test_a_notice_that_was_shown_as_a_message_is_replayed_like_any_other(edition: str, way: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.say("before")
        if way == "notice":
            await turn.notice("Careful", "It is hot", severity="warning")
        elif way == "send":
            await turn.send(Noticed("Careful", "warning", "It is hot"))
        else:
            await turn.session.send(Noticed("Careful", "warning", "It is hot"))

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        live = messages(await hand.turn(session))
        await hand.request("session/close", {"sessionId": session})
        replayed = messages(await reopen(hand, session))
    assert [speaker for speaker, _ in live if speaker != "user"] == ["agent", "agent"]
    assert [row for row in replayed if row[0] != "user"] == [row for row in live if row[0] != "user"]
    assert live[-1][1].strip() == "Warning: Careful\n\nIt is hot"


@rows("edition", ["v1", "v2"])
async def test_a_compaction_is_told_with_its_summary(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.compact() as compaction:
            await compaction.say("shorter")

    heard = await run(reply, edition, capabilities=NOTING if edition == "v1" else None)
    begun, chunk, done = heard.said
    assert begun["status"] == "in_progress"
    assert chunk["content"]["text"] == "shorter"
    assert done["status"] == "completed"
    assert done["summary"][0]["text"] == "shorter"
    assert begun["compactionId"] == chunk["compactionId"] == done["compactionId"]


async def test_a_compaction_without_a_word_has_a_summary_all_the_same() -> None:
    async def reply(turn: Turn) -> None:
        async with turn.compact():
            pass

    assert (await run(reply, "v2")).said[-1]["summary"][0]["text"]


async def test_a_compaction_that_fails_is_told_without_a_reason_and_fails_the_turn() -> None:
    async def reply(turn: Turn) -> None:
        async with turn.compact():
            raise RuntimeError(SECRET)

    heard = await run(reply, "v2")
    assert heard.said[-1]["status"] == "failed"
    assert heard.said[-1]["error"]
    assert heard.stop_reason == "error"
    assert SECRET not in str(heard.messages)


async def test_a_compaction_that_is_cancelled_says_so() -> None:
    async def reply(turn: Turn) -> None:
        async with turn.compact():
            await asyncio.Event().wait()

    async with served(agent_of(reply), "v2") as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.update_of("compaction_update")
        await hand.cancel(session)
        heard = await hand.ended(prompt)
    assert heard.said[-1]["status"] == "cancelled"
    assert heard.stop_reason == "cancelled"


# --- how it ends


@IN_EVERY_EDITION
@rows("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal"])
async def test_a_turn_ends_with_the_reason_that_its_handler_gave(edition: str, reason: str) -> None:
    assert (await run(lambda turn: turn.finish(reason), edition)).stop_reason == reason


@IN_EVERY_EDITION
async def test_a_reason_that_nobody_knows_is_refused_unless_it_is_private(edition: str) -> None:
    def reply(turn: Turn) -> None:
        with pytest.raises(ValueError, match="end_turn"):
            turn.finish(Custom("tired"))
        turn.finish(custom("_tired"))

    heard = await run(reply, edition)
    assert heard.stop_reason == ("_tired" if edition == "v2" else heard.stop_reason)
    assert heard.stop_reason in {"_tired", "end_turn"}


@IN_EVERY_EDITION
async def test_what_was_refused_is_left_out_of_the_history(edition: str) -> None:
    seen: list[tuple[int, int]] = []

    async def reply(turn: Turn) -> None:
        await turn.say("no" if turn.text == "bad" else "yes")
        plain, all_of_it = await turn.history(), await turn.session.history(refused=True)
        seen.append((len(plain.timeline), len(all_of_it.timeline)))
        if turn.text == "bad":
            turn.finish("refusal")

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        for text in ("good", "bad", "good"):
            await hand.turn(session, text)
    # A prompt and an answer each: the second turn is there while it runs and gone for the third.
    assert seen == [(2, 2), (4, 4), (4, 6)]


@IN_EVERY_EDITION
async def test_a_handler_sees_the_options_and_the_servers_of_its_session(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.plan(["no meta"])
        await turn.say(f"{turn.option('mode')} {len((await turn.mcp()).tools)}")

    agent = agent_of(reply, mcp=True)
    agent.modes(["ask", "code"])
    async with served(agent, edition) as hand:
        assert (await hand.turn(await hand.new_session())).text == "ask 0"


@IN_EVERY_EDITION
async def test_the_author_state_is_kept_with_the_session(edition: str) -> None:
    store = MemoryStore()

    async def reply(turn: Turn) -> None:
        await turn.save({"messages": [turn.text]})

    async with served(agent_of(reply, store=store), edition) as hand:
        session = await hand.new_session()
        await hand.turn(session, "remember")
        assert await store.state(session) == b'{"messages":["remember"]}'


@IN_EVERY_EDITION
async def test_an_agent_without_a_store_says_that_it_keeps_nothing(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        with pytest.raises(LocalProtocolError, match="store=None"):
            await turn.history()
        with pytest.raises(LocalProtocolError, match="store=None"):
            await turn.save(1)
        await turn.say("said")

    async with served(agent_of(reply, stored=False), edition) as hand:
        heard = await hand.turn(await hand.new_session())
    assert heard.text == "said"
    assert heard.stop_reason == "end_turn"


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_handler_that_raises_fails_its_turn_and_says_nothing_internal(
    edition: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def reply(turn: Turn) -> None:
        if turn.text == "bad":
            await turn.say("so far")
            raise RuntimeError(SECRET)
        await turn.say("well")

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session, "bad")
        assert heard.text == "so far"
        assert heard.error["code"] == -32603
        assert SECRET not in str(heard.messages)
        assert heard.stop_reason == "error"
        if edition == "v2":
            assert heard.states == ["running", "idle"]
            assert heard.answer is not None
            assert "result" in heard.answer
        else:
            assert heard.messages[-1] is heard.answer
        assert (await hand.turn(session, "good")).text == "well"
    assert SECRET in caplog.text


@IN_EVERY_EDITION
async def test_a_plain_function_that_raises_fails_its_turn_too(edition: str) -> None:
    def reply(_: Turn) -> None:
        raise RuntimeError(SECRET)

    assert (await run(reply, edition)).error["code"] == -32603


class Panic(BaseException):
    """An exception beside `Exception`, as extension modules in other languages raise them."""


BESIDE_EXCEPTION = [Panic(SECRET), SystemExit(3), BaseExceptionGroup(SECRET, [Panic(SECRET)])]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("error", BESIDE_EXCEPTION, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("in_thread", [False, True])
async def test_an_exception_beside_exception_fails_its_turn_and_nothing_else(
    edition: str,
    error: BaseException,
    in_thread: bool,  # noqa: FBT001
) -> None:
    async def reply(turn: Turn) -> None:
        if turn.text == "bad":
            async with turn.tool("Break"):
                raise error
        await turn.say("well")

    def reply_in_thread(turn: BlockingTurn) -> None:
        if turn.text == "bad":
            with turn.tool("Break"):
                raise error
        turn.say("well")

    async with served(agent_of(reply_in_thread if in_thread else reply), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session, "bad")
        assert heard.error["code"] == -32603
        assert SECRET not in str(heard.messages)
        assert [call["status"] for call in heard.tools().values()] == ["failed"]
        assert (await hand.turn(session, "good")).text == "well"


RAISED: list[tuple[RequestError, int, dict[str, Any]]] = [
    (RateLimited(30), -32029, {"reason": "rate_limited", "retryAfter": 30}),
    (PermissionDenied("files"), -32003, {"reason": "permission_denied", "scope": "files"}),
    (AuthRequired(), -32000, {"reason": "auth_required", "authMethods": [{"id": "k", "name": "Key", "type": "agent"}]}),
    (RequestError("Out of coffee", {"cups": 0}, code=-32050), -32050, {"cups": 0}),
]


@IN_EVERY_EDITION
@rows(("error", "code", "data"), RAISED)
async def test_an_error_that_is_raised_on_purpose_travels_as_it_is(
    edition: str, error: RequestError, code: int, data: dict[str, Any]
) -> None:
    def reply(_: Turn) -> None:
        raise error

    agent = agent_of(reply)
    agent.login("k", "Key")(lambda: True)
    agent.check_login(lambda: True)
    async with served(agent, edition) as hand:
        told = (await hand.turn(await hand.new_session())).error
    assert told["code"] == code
    assert told["data"] == data
    assert told["message"] == error.message


@IN_EVERY_EDITION
@rows("error", [request_error(-32000, SECRET, {"reason": SECRET}), ConnectionLost(SECRET)])
async def test_an_error_of_another_peer_does_not_travel_on(edition: str, error: Exception) -> None:
    def reply(_: Turn) -> None:
        raise error

    heard = await run(reply, edition)
    assert heard.error["code"] == -32603
    assert SECRET not in str(heard.messages)


@IN_EVERY_EDITION
async def test_when_the_turn_is_over_nothing_more_can_be_said_in_it(edition: str) -> None:
    turns: list[Turn] = []
    async with served(agent_of(noting(turns)), edition) as hand:
        session = await hand.new_session()
        await hand.turn(session)
        (turn,) = turns
        for telling in (
            lambda: turn.say("late"),
            lambda: turn.say("late", meta={}),
            lambda: turn.think("late"),
            lambda: turn.notice("late"),
            lambda: turn.request_permission("late"),
        ):
            with pytest.raises(LocalProtocolError, match="the turn is over"):
                await telling()
        assert await hand.drain() == []


# --- what each edition says around it


async def test_v2_echoes_the_prompt_under_the_id_of_its_answer_and_tells_running_before_idle() -> None:
    async def reply(turn: Turn) -> None:
        await turn.say(turn.message_id)

    heard = await run(reply, "v2", "hello")
    assert heard.answer is not None
    (echo,) = heard.of("user_message")
    assert echo["messageId"] == heard.answer["result"]["messageId"] == heard.text
    assert echo["content"] == [{"type": "text", "text": "hello"}]
    assert heard.kinds == ["user_message", "state_update", "agent_message_chunk", "state_update"]
    assert heard.states == ["running", "idle"]


@rows("edition", ["v1", "v2_june"])
async def test_the_answer_is_the_end_of_the_turn_where_the_edition_has_no_states(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        for number in range(300):
            await turn.say(str(number))

    heard = await run(reply, edition)
    assert heard.messages[-1] is heard.answer
    assert heard.kinds == ["agent_message_chunk"] * 300


@rows("edition", EDITIONS)
async def test_prompts_that_come_while_the_agent_is_busy_are_held_in_order(edition: str) -> None:
    gates = {name: asyncio.Event() for name in "abc"}

    async def reply(turn: Turn) -> None:
        await turn.say(f"begin {turn.text}")
        await gates[turn.text].wait()
        await turn.say(f"end {turn.text}")

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        prompts = [await hand.prompt(session, name) for name in "abc"]
        for name in "cba":
            gates[name].set()
        heard = [await hand.ended(prompt) for prompt in prompts]
    assert [each.stop_reason for each in heard] == ["end_turn"] * 3
    texts = [update["content"]["text"] for update in hand_updates(hand)]
    assert texts == ["begin a", "end a", "begin b", "end b", "begin c", "end c"]
    if edition == "v2":
        states = Heard(hand.received).states
        assert states == ["running", "idle"] * 3
    else:
        # Each answer at the end of its own turn.
        order = [m["id"] if "id" in m else m["params"]["update"]["content"]["text"] for m in hand.received[2:]]
        assert order == ["begin a", "end a", prompts[0], "begin b", "end b", prompts[1], "begin c", "end c", prompts[2]]


def hand_updates(hand: Hand) -> list[dict[str, Any]]:
    return [update for update in hand.updates if update["sessionUpdate"] == "agent_message_chunk"]


@pytest.mark.parametrize("edition", ["v1", "v2"])
async def test_a_client_that_leaves_in_the_middle_of_a_turn_is_no_failed_handler(
    edition: str, caplog: pytest.LogCaptureFixture
) -> None:
    asking = asyncio.Event()

    async def reply(turn: Turn) -> None:
        asking.set()
        await turn.request_permission("May I?")

    with caplog.at_level(logging.ERROR, "accord"):
        async with served(agent_of(reply), edition) as hand:
            await hand.prompt(await hand.new_session())
            await asking.wait()
            await hand.asked("session/request_permission")
    assert caplog.text == ""
