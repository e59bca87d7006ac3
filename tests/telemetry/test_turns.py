"""The spans of one process: parents, ends, the author's own values, metrics, and a provider that fails."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from opentelemetry import trace

import accord
from accord.agent import Turn
from accord.session.client_requests import McpServer
from accord.telemetry.span import NO_SPAN
from tests.agent.rig import agent_of, allow, served
from tests.coder.rig import agent_with, call, project, say
from tests.telemetry.rig import CLIENT, SERVER, Telemetry, provided

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = PARENT.split("-")[1]


async def quiet(turn: Turn) -> None:
    await turn.say("done")


# --- what a client sends


async def sent_meta(tmp_path: Path, meta: dict[str, Any] | None) -> dict[str, Any]:
    """The `_meta` of a prompt as its agent gets it."""
    seen: list[dict[str, Any]] = []

    async def answer(turn: Turn) -> None:
        seen.append(turn.meta)

    async with accord.connect(agent_of(answer)) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("hello", meta=meta)
    return seen[0]


async def test_a_prompt_carries_the_context_of_its_span(telemetry: Telemetry, tmp_path: Path) -> None:
    meta = await sent_meta(tmp_path, {"editor": 1})

    span = telemetry.one("session/prompt", CLIENT)
    assert meta.keys() == {"traceparent", "editor"}
    assert meta["traceparent"].startswith(f"00-{span.trace}-{span.id}-")


@pytest.mark.parametrize("own", [{"traceparent": PARENT}, {"tracestate": "a=1"}, {"baggage": "user=me"}])
async def test_values_of_the_author_are_not_overwritten(
    telemetry: Telemetry, tmp_path: Path, own: dict[str, str]
) -> None:
    from opentelemetry import baggage, context  # noqa: PLC0415 - for this test alone

    token = context.attach(baggage.set_baggage("user", "somebody else"))
    meta = await sent_meta(tmp_path, own)
    context.detach(token)

    assert own.items() <= meta.items()
    if "baggage" in own:
        assert "traceparent" in meta
    else:  # the state of one trace does not go with the parent of another
        assert set(meta) == {*own, "baggage"}
    assert telemetry.one("session/prompt", CLIENT).id not in meta.get("traceparent", "") or "baggage" in own


async def test_the_baggage_of_a_client_is_the_handlers(telemetry: Telemetry, tmp_path: Path) -> None:
    from opentelemetry import baggage, context  # noqa: PLC0415 - for this test alone

    seen: list[object] = []

    async def answer(_: Turn) -> None:
        seen.append(baggage.get_baggage("user"))

    token = context.attach(baggage.set_baggage("user", "me"))
    async with accord.connect(agent_of(answer)) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("hello")
    context.detach(token)

    assert seen == ["me"]
    assert telemetry.named("session/prompt")


async def test_a_trace_that_is_not_sampled_is_passed_on_as_such(tmp_path: Path) -> None:
    with provided(tmp_path, sampled=False) as telemetry:
        meta = await sent_meta(tmp_path, None)

    assert int(meta["traceparent"].rpartition("-")[2], 16) & trace.TraceFlags.SAMPLED == 0
    assert telemetry.spans == []


async def test_while_telemetry_is_off_a_question_passes_the_prompts_context_on() -> None:
    async def answer(turn: Turn) -> None:
        await turn.request_permission("May I?")

    async with served(agent_of(answer), "v1") as hand:
        hand.answers["session/request_permission"] = allow
        heard = await hand.turn(await hand.new_session(), _meta={"traceparent": PARENT})

    (question,) = heard.requests("session/request_permission")
    assert question["params"]["_meta"] == {"traceparent": PARENT}


# --- the parent of a turn


async def test_a_turn_hangs_below_the_span_that_its_prompt_names(telemetry: Telemetry) -> None:
    async with served(agent_of(quiet), "v1") as hand:
        await hand.turn(await hand.new_session(), _meta={"traceparent": PARENT})

    turn = telemetry.one("session/prompt")
    assert (turn.trace, turn.parent) == (TRACE, PARENT.split("-")[2])


@pytest.mark.parametrize("traceparent", ["nonsense", 5, "00-" + "0" * 32 + "-" + "0" * 16 + "-01", None])
async def test_a_traceparent_that_is_none_begins_a_trace(telemetry: Telemetry, traceparent: Any) -> None:
    async with served(agent_of(quiet), "v1") as hand:
        await hand.turn(await hand.new_session(), _meta={"traceparent": traceparent})

    assert telemetry.one("session/prompt").parent == ""


async def test_a_turn_is_no_part_of_the_turn_before_it(telemetry: Telemetry) -> None:
    both_arrived = asyncio.Event()

    async def answer(turn: Turn) -> None:
        await turn.say("begun")
        await both_arrived.wait()

    async with served(agent_of(answer), "v1") as hand:
        session = await hand.new_session()
        await hand.prompt(session, _meta={"traceparent": PARENT})
        await hand.said("begun")
        second = await hand.prompt(session)
        await hand.drain()
        both_arrived.set()
        await hand.ended(second)

    assert [(turn.trace == TRACE, turn.parent == "") for turn in telemetry.named("session/prompt")] == [
        (True, False),
        (False, True),
    ]


async def test_the_span_of_a_question_replaces_the_prompts_context(telemetry: Telemetry) -> None:
    async def answer(turn: Turn) -> None:
        await turn.request_permission("May I?")
        await turn.request_permission("May I again?", meta={"traceparent": "the author's"})

    async with served(agent_of(answer), "v1") as hand:
        hand.answers["session/request_permission"] = allow
        heard = await hand.turn(await hand.new_session(), _meta={"traceparent": PARENT})

    first, second = (each["params"]["_meta"]["traceparent"] for each in heard.requests("session/request_permission"))
    asked = telemetry.named("session/request_permission")[0]
    assert first == f"00-{TRACE}-{asked.id}-01"
    assert second == "the author's"


async def test_a_question_without_a_context_hangs_below_the_turn_that_runs(
    telemetry: Telemetry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(turn: Turn) -> None:
        # As an agent without telemetry sends it.
        monkeypatch.setattr("accord.agent.client_connection.call_span", lambda *_: NO_SPAN)
        await turn.request_permission("May I?")

    async with accord.connect(agent_of(answer), permission=lambda _: True) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("hello")

    asked = telemetry.one("session/request_permission", SERVER)
    assert asked.parent == telemetry.one("session/prompt", CLIENT).id


# --- the end


async def test_spans_end_when_the_client_is_gone(telemetry: Telemetry) -> None:
    async def answer(turn: Turn) -> None:
        async with turn.tool("Wait", name="wait"):
            await turn.request_permission("May I?")

    async with served(agent_of(answer), "v1") as hand:
        await hand.prompt(await hand.new_session())
        await hand.asked("session/request_permission")

    turn = telemetry.one("session/prompt")
    assert (turn.attributes["acp.stop_reason"], turn.failed) == ("cancelled", False)
    assert telemetry.path(telemetry.one("session/request_permission"))[:2] == ["session/prompt", "execute_tool wait"]


async def test_a_handler_that_is_left_behind_ends_no_span_twice(telemetry: Telemetry) -> None:
    may_end = asyncio.Event()

    async def answer(turn: Turn) -> None:
        await turn.say("working")
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue

    async with served(agent_of(answer, cancel_grace_seconds=0.05), "v1") as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.said("working")
        await hand.cancel(session)
        assert (await hand.ended(prompt)).stop_reason == "cancelled"
        may_end.set()

    assert telemetry.one("session/prompt").attributes["acp.stop_reason"] == "cancelled"


async def test_a_tool_call_that_fails_is_a_failed_span(telemetry: Telemetry) -> None:
    async def answer(turn: Turn) -> None:
        async with turn.tool("Break", name="break"):
            raise ValueError("a secret")
        async with turn.tool("Refuse", name="refuse") as tool:
            await tool.fail("shown to the user")
        async with turn.tool("Read it", kind="read"):
            pass

    async with served(agent_of(answer), "v1") as hand:
        await hand.turn(await hand.new_session())

    broken, refused = telemetry.one("execute_tool break"), telemetry.one("execute_tool refuse")
    assert (broken.attributes["error.type"], broken.failed) == ("ValueError", True)
    assert (refused.attributes["error.type"], refused.attributes["acp.tool.status"]) == ("tool_failed", "failed")
    assert telemetry.one("execute_tool read").attributes["acp.tool.status"] == "completed"
    assert "secret" not in str(telemetry.spans)


async def test_every_request_has_spans_of_both_sides(telemetry: Telemetry, tmp_path: Path) -> None:
    agent = agent_of(quiet)

    @agent.request("_example.com/add")
    async def add(extension: accord.agent.Extension) -> Any:
        return sorted(extension.params or {})

    async with accord.connect(agent) as remote:
        session = await remote.new_session(tmp_path)
        assert await remote.request("_example.com/add", {"a": 1}) == ["_meta", "a"]
        with pytest.raises(accord.RequestError):
            await remote.load_session("unknown", tmp_path)
        await session.close()

    for name in ("initialize", "session/new", "_example.com/add", "session/load", "session/close"):
        assert telemetry.one(name, SERVER).parent == telemetry.one(name, CLIENT).id
    assert telemetry.one("session/load", CLIENT).attributes["error.type"] == "-32002"


# --- other packages


async def test_a_tool_of_an_mcp_server_gets_the_context_of_the_tool_call(telemetry: Telemetry, tmp_path: Path) -> None:
    async def answer(turn: Turn) -> None:
        servers = await turn.mcp()
        (tool,) = [tool for tool in servers.tools if tool.name == "meta"]
        async with turn.tool("Ask the server", name="ask"):
            result = await tool()
        await turn.say(result.content)

    server = McpServer("meta", command=sys.executable, args=[str(Path(__file__).with_name("mcp_server.py"))])
    async with accord.connect(agent_of(answer, mcp=True)) as agent:
        session = await agent.new_session(tmp_path, mcp_servers=[server])
        turn = await session.prompt("hello")

    span = telemetry.one("execute_tool ask")
    assert turn.text.startswith(f"00-{span.trace}-{span.id}-")


async def test_a_model_call_of_the_built_in_agent_hangs_below_its_turn(telemetry: Telemetry, tmp_path: Path) -> None:
    folder = project(tmp_path / "project", **{"a.txt": "text\n"})
    agent, _ = agent_with(call("read_file", path="a.txt"), say("There."))
    async with accord.connect(agent, permission=lambda _: True) as remote:
        session = await remote.new_session(folder)
        await session.prompt("read a.txt")

    first, second = telemetry.named("chat scripted")
    assert telemetry.path(first) == ["session/prompt", "session/prompt", "chat scripted"]
    assert first.attributes["gen_ai.operation.name"] == "chat"
    assert first.attributes["gen_ai.request.model"] == "scripted"
    assert (second.attributes["gen_ai.usage.input_tokens"], second.attributes["gen_ai.usage.output_tokens"]) == (
        "10",
        "5",
    )
    assert trace.get_current_span() is trace.INVALID_SPAN


# --- metrics


async def test_metrics_count_turns_tokens_waits_and_errors(telemetry: Telemetry, tmp_path: Path) -> None:
    async def answer(turn: Turn) -> None:
        turn.add_token_usage(7, 3)
        if turn.text == "fail":
            raise ValueError
        await turn.request_permission("May I?")

    async with accord.connect(agent_of(answer), permission=lambda _: True) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("hello")
        with pytest.raises(accord.RequestError):
            await session.prompt("fail")

    assert telemetry.metric("acp.agent.turns") == [
        ({"acp.stop_reason": "end_turn"}, 1),
        ({"acp.stop_reason": "error", "error.type": "-32603"}, 1),
    ]
    assert [count for _, count in telemetry.metric("acp.agent.turn.duration")] == [1, 1]
    assert telemetry.metric("acp.agent.tokens") == [
        ({"gen_ai.token.type": "input"}, 14),
        ({"gen_ai.token.type": "output"}, 6),
    ]
    assert telemetry.metric("acp.agent.permission.wait") == [({"acp.permission.outcome": "allow_once"}, 1)]
    assert ({"acp.operation": "turn", "error.type": "-32603"}, 1) in telemetry.metric("acp.errors")
    prompts = [
        (labels["acp.stop_reason"], count)
        for labels, count in telemetry.metric("acp.client.operation.duration")
        if labels["acp.method.name"] == "session/prompt" and "acp.stop_reason" in labels
    ]
    assert prompts == [("end_turn", 1)]


# --- what it may cost


async def test_a_provider_that_fails_harms_no_turn(
    telemetry: Telemetry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the provider is broken")

    tracer = telemetry.traces.get_tracer("accord")
    monkeypatch.setattr(type(tracer), "start_span", fail)
    assert await sent_meta(tmp_path, {"own": 1}) == {"own": 1}
    monkeypatch.undo()
    monkeypatch.setattr("accord.telemetry.provider._providers", fail)
    assert await sent_meta(tmp_path, {"own": 1}) == {"own": 1}


async def test_spans_and_metrics_that_fail_harm_no_turn(
    telemetry: Telemetry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry.sdk.metrics import Counter, Histogram  # noqa: PLC0415 - for this test alone
    from opentelemetry.sdk.trace import Span  # noqa: PLC0415

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the provider is broken")

    async def answer(turn: Turn) -> None:
        turn.add_token_usage(1, 1)
        async with turn.tool("Fail", name="fail"):
            raise ValueError
        await turn.request_permission("May I?")
        await turn.say("done")

    for kind, name in (
        (Span, "set_attribute"),
        (Span, "set_status"),
        (Span, "end"),
        (Counter, "add"),
        (Histogram, "record"),
    ):
        monkeypatch.setattr(kind, name, fail)
    async with accord.connect(agent_of(answer), permission=lambda _: True) as agent:
        session = await agent.new_session(tmp_path)
        turn = await session.prompt("hello")

    assert (turn.text, turn.stop_reason) == ("done", "end_turn")
    assert telemetry.spans == []


async def calls_of(streamed: int, tmp_path: Path) -> int:
    """How many functions of the package are called while a turn streams so many updates, on both sides."""
    # Frames, not events: a coroutine that waits is entered anew whenever it goes on.
    entered: set[FrameType] = set()

    async def answer(turn: Turn) -> None:
        for _ in range(streamed):
            await turn.say("text")

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and "/telemetry/" in frame.f_code.co_filename.replace("\\", "/"):
            entered.add(frame)

    async with accord.connect(agent_of(answer, stored=False)) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("the first loads what it needs")
        before: Callable[..., Any] | None = sys.getprofile()
        sys.setprofile(note)
        try:
            await session.prompt("hello")
        finally:
            sys.setprofile(before)
    return len(entered)


async def test_no_streamed_update_calls_anything_of_telemetry(tmp_path: Path) -> None:
    # A short turn may be over before its client waits for it, which is a call less.
    off = await calls_of(300, tmp_path)
    assert off == await calls_of(3_000, tmp_path)
    with provided(tmp_path):
        on = await calls_of(300, tmp_path)
        assert on == await calls_of(3_000, tmp_path)
    assert 0 < off < on
