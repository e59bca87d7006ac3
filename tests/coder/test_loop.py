"""The loop: what the model is told, what the user sees, and how a turn ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.coder import make_agent
from accord.coder.memory import STOPPED
from accord.coder.model import (
    MAX_NESTING,
    AnswerEnd,
    Delta,
    ModelBroken,
    ModelBusy,
    ModelFull,
    ModelLocked,
    ModelReply,
    ModelRequest,
    Spent,
    TextDelta,
    ThoughtDelta,
    ToolResults,
    ToolUse,
    UserMessage,
)
from accord.coder.offline import OfflineModel
from accord.coder.tools.files import Read
from accord.coder.tools.toolbox import OFFERED
from tests.coder.rig import IN_EVERY_EDITION, agent_with, answered, call, project, say, talk


@IN_EVERY_EDITION
async def test_text_and_thoughts_are_streamed_and_each_answer_is_a_message(tmp_path: Path, edition: str) -> None:
    first: list[Delta] = [ThoughtDelta("Hm. "), TextDelta("I "), TextDelta("look."), *call("list")]
    agent, _ = agent_with(first, say("Empty."))
    async with talk(agent, tmp_path, edition) as talked:
        turn = await talked.ask("go")

        assert turn.stop_reason == "end_turn"
        assert [thought.text for thought in talked.session.transcript.thoughts] == ["Hm. "]
        said = [message.text for message in talked.session.transcript.messages if message.speaker == "agent"]
        assert said == ["I look.", "Empty."]


async def test_the_model_gets_the_conversation_the_tools_and_their_results(tmp_path: Path) -> None:
    project(tmp_path, **{"a.txt": "hello\n"})
    agent, model = agent_with(call("read", path="a.txt"), say("It says hello."), say("Bye."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("what does it say?")
        await talked.ask("thanks")

    assert str(tmp_path) in model.requests[0].system
    assert model.offered(0) == [tool.name for tool in OFFERED["code"]]
    asked, reply, results, answer, thanks = model.requests[2].messages
    assert asked == UserMessage("what does it say?")
    assert isinstance(reply, ModelReply)
    assert [use.name for use in reply.calls] == ["read"]
    assert isinstance(results, ToolResults)
    assert [(each.text, each.failed) for each in results.results] == [("hello\n", False)]
    assert answer == ModelReply("It says hello.", model="scripted")
    assert thanks == UserMessage("thanks")


async def test_what_the_model_remembers_is_there_after_a_restart(tmp_path: Path) -> None:
    store = accord.MemoryStore()
    agent, _ = agent_with(call("list"), say("Empty."), store=store)
    async with talk(agent, tmp_path) as talked:
        await talked.ask("look")
        session_id = talked.session.id
    again, model = agent_with(say("As before."), store=store)
    async with talk(again, tmp_path, resume=session_id) as talked:
        assert "Empty." in talked.session.transcript.text
        await talked.ask("and now?")

    roles = [type(message).__name__ for message in model.requests[0].messages]
    assert roles == ["UserMessage", "ModelReply", "ToolResults", "ModelReply", "UserMessage"]


async def test_an_unreadable_memory_is_an_empty_one(tmp_path: Path) -> None:
    store = accord.MemoryStore()
    agent, _ = agent_with(say("One."), store=store)
    async with talk(agent, tmp_path) as talked:
        await talked.ask("one")
        session_id = talked.session.id
    await store.patch(session_id, state=b'{"messages": [{"role": "clown"}]}')
    again, model = agent_with(say("Two."), store=store)
    async with talk(again, tmp_path, resume=session_id) as talked:
        turn = await talked.ask("two")

    assert turn.stop_reason == "end_turn"
    assert model.requests[0].messages == [UserMessage("two")]


@IN_EVERY_EDITION
async def test_a_turn_ends_when_the_model_has_asked_too_often(tmp_path: Path, edition: str) -> None:
    agent, model = agent_with(*[call("list")] * 5, max_requests=3)
    async with talk(agent, tmp_path, edition) as talked:
        turn = await talked.ask("go")

        assert turn.stop_reason == "max_turn_requests"
        assert "3 requests" in turn.text
        assert len(model.requests) == 3
        await talked.ask("go on")

    *_, said, asked = model.requests[3].messages
    assert isinstance(said, ModelReply)
    assert "3 requests" in said.text
    assert asked == UserMessage("go on")


@IN_EVERY_EDITION
async def test_an_answer_that_is_cut_ends_the_turn_and_its_calls_do_not_count(tmp_path: Path, edition: str) -> None:
    cut: list[Delta] = [TextDelta("I wri"), ToolUse("1", "write", {"path": "a", "text": "b"}), AnswerEnd("length")]
    agent, model = agent_with(cut, say("On."))
    async with talk(agent, tmp_path, edition) as talked:
        turn = await talked.ask("go")
        assert turn.stop_reason == "max_tokens"
        await talked.ask("go on")

        assert talked.tools == []
    assert model.requests[1].messages == [UserMessage("go"), ModelReply("I wri"), UserMessage("go on")]


@IN_EVERY_EDITION
async def test_a_refused_turn_is_left_out_of_what_the_model_remembers(tmp_path: Path, edition: str) -> None:
    agent, model = agent_with(call("list"), say("No.", "refused"), say("Yes."))
    async with talk(agent, tmp_path, edition) as talked:
        turn = await talked.ask("something bad")
        assert turn.stop_reason == "refusal"
        await talked.ask("something good")

    assert model.requests[2].messages == [UserMessage("something good")]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelLocked("The model needs a key"), accord.InternalError),
        (ModelBusy("Too many requests", 7), accord.RateLimited),
        (ModelBroken("It stopped in the middle: try again"), accord.InternalError),
    ],
)
@IN_EVERY_EDITION
async def test_a_model_that_fails_ends_the_turn_with_words_for_the_user(
    tmp_path: Path, edition: str, error: Exception, kind: type[accord.RequestError]
) -> None:
    async def fail(_: ModelRequest) -> AsyncGenerator[Delta, None]:
        yield TextDelta("Well")
        raise error

    agent, model = agent_with(fail, say("Better."))
    async with talk(agent, tmp_path, edition) as talked:
        with pytest.raises(kind) as caught:
            await talked.ask("go")
        assert caught.value.message == str(error)
        turn = await talked.ask("again")

        assert turn.text == "Better."
    asked, broken, again = model.requests[1].messages
    assert (asked, again) == (UserMessage("go"), UserMessage("again"))
    assert isinstance(broken, ModelReply)
    assert broken.text.startswith("Well\n\n[")
    assert str(error) in broken.text


async def test_what_was_done_before_a_model_failed_is_remembered(tmp_path: Path) -> None:
    async def fail(_: ModelRequest) -> AsyncGenerator[Delta, None]:
        raise ModelBroken("gone")
        yield

    agent, model = agent_with(call("write", path="a", text="b"), fail, say("Better."))
    async with talk(agent, tmp_path) as talked:
        with pytest.raises(accord.InternalError):
            await talked.ask("go")
        await talked.ask("again")

    roles = [type(message).__name__ for message in model.requests[2].messages]
    assert roles == ["UserMessage", "ModelReply", "ToolResults", "ModelReply", "UserMessage"]


async def test_an_answer_without_an_end_is_a_broken_one(tmp_path: Path) -> None:
    agent, _ = agent_with([TextDelta("Well")])
    async with talk(agent, tmp_path) as talked:
        with pytest.raises(accord.InternalError) as caught:
            await talked.ask("go")
        assert caught.value.data == {"reason": "model_broken"}


@IN_EVERY_EDITION
async def test_cancelling_stops_the_request_itself(tmp_path: Path, edition: str) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def wait(_: ModelRequest) -> AsyncGenerator[Delta, None]:
        yield TextDelta("Let me think")
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    agent, model = agent_with(wait, say("Yes?"))
    async with talk(agent, tmp_path, edition) as talked:
        async with talked.session.prompt("go") as turn:
            await begun.wait()
            turn.cancel()
        assert turn.stop_reason == "cancelled"
        assert stopped.is_set()
        await talked.ask("again")

    assert model.requests[1].messages == [
        UserMessage("go"),
        ModelReply(f"Let me think\n\n{STOPPED}"),
        UserMessage("again"),
    ]


async def test_a_command_that_is_cancelled_is_remembered_as_that(tmp_path: Path) -> None:
    agent, model = agent_with(call("run", command="sleep 100"), say("Yes?"))
    async with talk(agent, tmp_path) as talked:
        async with talked.session.prompt("go") as turn:
            async for event in turn:
                if type(event).__name__ == "ToolContentAdded" or talked.session.transcript.terminals:
                    turn.cancel()
                    break
                if talked.tools and talked.tool.content:
                    turn.cancel()
                    break
        assert turn.stop_reason == "cancelled"
        await talked.ask("again")

    results, note = model.requests[1].messages[2:4]
    assert isinstance(results, ToolResults)
    assert results.results[0].text == STOPPED
    assert note == ModelReply(STOPPED)


async def test_a_tool_call_that_the_client_stops_alone_is_told_to_the_model(tmp_path: Path) -> None:
    agent, model = agent_with(call("run", command="sleep 100"), say("Then not."))
    async with talk(agent, tmp_path, "2") as talked:
        async with talked.session.prompt("go") as turn:
            async for _ in turn:
                if talked.tools and talked.tool.cancellable and talked.tool.content:
                    await talked.session.cancel_tool(talked.tool.id)
                    break
        assert turn.stop_reason == "end_turn"
        assert talked.tool.status == "cancelled"

    assert model.results()[0].text == "The user stopped it."


async def test_a_call_with_broken_arguments_or_an_unknown_name_fails_and_the_model_hears_why(tmp_path: Path) -> None:
    wrong: list[Delta] = [
        ToolUse("1", "read", broken="{bad"),
        ToolUse("2", "fly", {}),
        ToolUse("3", "read", {"path": 7, "line": "x"}),
        ToolUse("4", "read", {}),
        AnswerEnd("done"),
    ]
    agent, model = agent_with(wrong, say("Sorry."))
    async with talk(agent, tmp_path) as talked:
        turn = await talked.ask("go")

        assert turn.stop_reason == "end_turn"
        assert [each.status for each in talked.tools] == ["failed"] * 4
    texts = [result.text for result in model.results()]
    assert texts[0] == "These arguments are no JSON object: {bad"
    assert texts[1].startswith("There is no tool 'fly' in the mode code; there are read, search")
    assert texts[2].startswith("These are no arguments for read")
    assert "path" in texts[3]


@pytest.mark.parametrize("depth", [MAX_NESTING, 900, 5_000])
async def test_arguments_that_are_nested_too_deeply_are_broken(tmp_path: Path, depth: int) -> None:
    deep: Any = {}
    for number in range(depth):
        deep = {"path": deep} if number % 2 else [deep]
    agent, model = agent_with([ToolUse("1", "read", {"path": deep}), AnswerEnd("done")], say("Sorry."))
    async with talk(agent, tmp_path) as talked:
        turn = await talked.ask("go")

        assert turn.stop_reason == "end_turn"
        assert talked.tool.status == "failed"
    assert model.results()[0].text.startswith("These arguments are no JSON object: ")


# --- modes


@IN_EVERY_EDITION
async def test_in_the_mode_ask_there_are_only_tools_that_read(tmp_path: Path, edition: str) -> None:
    agent, model = agent_with(call("write", path="a", text="b"), say("I may not."))
    async with talk(agent, tmp_path, edition, mode="ask") as talked:
        await talked.ask("go")

        assert talked.session.mode == "ask"
        assert talked.tool.status == "failed"
        assert talked.asked == []
    assert model.offered() == ["read", "search", "list", "fetch", "delegate"]
    assert not (tmp_path / "a").exists()


@IN_EVERY_EDITION
async def test_leaving_the_mode_plan_is_asked_for(tmp_path: Path, edition: str) -> None:
    agent, model = agent_with(call("leave_plan", plan="1. write a"), call("write", path="a", text="b"), say("Done."))
    async with talk(agent, tmp_path, edition, mode="plan") as talked:
        await talked.ask("go")

        assert [each.kind for each in talked.tools] == ["switch_mode", "edit"]
        assert talked.asked[0].title == "Leave the mode plan and carry it out"
        assert talked.session.mode == "code"
    assert model.offered(0) == ["read", "search", "list", "fetch", "plan", "leave_plan", "delegate"]
    assert "write" in model.offered(1)
    assert (tmp_path / "a").read_text() == "b"


@IN_EVERY_EDITION
async def test_who_may_not_leave_the_mode_plan_stays_in_it(tmp_path: Path, edition: str) -> None:
    agent = make_agent(store=accord.MemoryStore())
    async with talk(agent, tmp_path, edition, mode="plan", answer=False) as talked:
        turn = await talked.ask('write "b" to a')

        assert turn.text == "I stay in the mode plan, and nothing was changed."
        assert talked.session.mode == "plan"
    assert not (tmp_path / "a").exists()


async def test_the_built_in_model_carries_out_its_plan_when_it_may(tmp_path: Path) -> None:
    agent = make_agent(store=accord.MemoryStore())
    async with talk(agent, tmp_path, mode="plan") as talked:
        turn = await talked.ask('write "b" to a and then read a')

        assert turn.text == "Wrote 1 line to a.\n\na:\n\n```\nb\n```"
        assert len(talked.asked) == 2


async def test_the_built_in_model_says_what_the_mode_ask_does_not_allow(tmp_path: Path) -> None:
    agent = make_agent(store=accord.MemoryStore())
    async with talk(agent, tmp_path, mode="ask") as talked:
        turn = await talked.ask("run ls")

        assert turn.text == "I did nothing: the mode here does not allow to run. Switch to the mode code for that."


# --- the context


def filled(tokens: int) -> list[Delta]:
    return [TextDelta("x" * 40), Spent(tokens, 10), AnswerEnd("done")]


@IN_EVERY_EDITION
async def test_a_context_that_is_nearly_full_is_compacted(tmp_path: Path, edition: str) -> None:
    agent, model = agent_with(filled(100), filled(900), say("They talked."), say("Yes."), context_tokens=1_000)
    async with talk(agent, tmp_path, edition) as talked:
        await talked.ask("one")
        await talked.ask("two")
        turn = await talked.ask("three")

        assert turn.stop_reason == "end_turn"
        assert answered(talked) == "Yes."
        usage = talked.session.transcript.usage
        assert usage is not None
        assert usage.used < 100
        assert turn.token_usage is not None, "the summary and the answer, each of 10 and 5 tokens"
        assert (turn.token_usage.input_tokens, turn.token_usage.output_tokens) == (20, 10)
        if edition == "2":
            (compaction,) = talked.session.transcript.compactions.values()
            assert compaction.status == "completed"
    assert model.requests[2].purpose == "summary"
    summary, understood, three = model.requests[3].messages
    assert isinstance(summary, UserMessage)
    assert summary.text.endswith("They talked.")
    assert isinstance(understood, ModelReply)
    assert three == UserMessage("three")


async def test_a_turn_that_fills_the_context_itself_loses_old_results_first(tmp_path: Path) -> None:
    project(tmp_path, big="x" * 8_000)
    # Nobody counts the tokens here: they are estimated.
    reads: list[Delta] = [ToolUse("1", "read", {"path": "big"}), AnswerEnd("done")]
    agent, model = agent_with(reads, reads, say("Big."), context_tokens=4_000)
    async with talk(agent, tmp_path) as talked:
        turn = await talked.ask("read it twice")

        assert turn.stop_reason == "end_turn"
    texts = [result.text for m in model.requests[2].messages if isinstance(m, ToolResults) for result in m.results]
    assert texts[0].endswith("[cut, to save room]")
    assert len(texts[1]) == 8_000


async def test_a_prompt_that_does_not_fit_at_all_ends_with_max_tokens(tmp_path: Path) -> None:
    agent, model = agent_with(say("?"), context_tokens=100)
    async with talk(agent, tmp_path) as talked:
        turn = await talked.ask("x" * 1_000)

        assert turn.stop_reason == "max_tokens"
        assert "does not fit" in turn.text
    assert model.requests == []


async def test_a_model_that_says_it_is_full_is_asked_again_after_compaction(tmp_path: Path) -> None:
    async def full(_: ModelRequest) -> AsyncGenerator[Delta, None]:
        raise ModelFull("full")
        yield

    agent, model = agent_with(say("One."), say("Two."), full, say("Short."), say("Three."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("one")
        await talked.ask("two")
        turn = await talked.ask("three")

        assert turn.text == "Three."
    assert [request.purpose for request in model.requests] == ["turn", "turn", "turn", "summary", "turn"]
    assert len(model.requests[4].messages) == 3


async def test_the_command_compact_makes_room(tmp_path: Path) -> None:
    model = OfflineModel()
    model.name = "small"
    agent = make_agent(model=model, store=accord.MemoryStore())
    async with talk(agent, tmp_path) as talked:
        first = await talked.ask("/compact")
        assert first.text == "There is nothing to compact yet."
        for text in ("list", "read nothing", "search x"):
            await talked.ask(text)
        turn = await talked.ask("/compact")
        assert turn.text == "I go on with the summary."
        state: Any = await agent.store.state(talked.session.id)  # type: ignore[union-attr]

    for wish in (b"- list", b"- read nothing", b"- search x"):
        assert wish in state


async def test_a_model_that_gives_no_summary_leaves_the_conversation_as_it_was(tmp_path: Path) -> None:
    agent, model = agent_with(say("One."), say("Two."), [AnswerEnd("done")], say("Three."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("one")
        await talked.ask("two")
        with pytest.raises(accord.InternalError, match="no summary"):
            await talked.ask("/compact")
        await talked.ask("three")

    assert len(model.requests[3].messages) == 5


async def test_a_slash_command_for_a_tool_does_not_ask_the_chosen_model(tmp_path: Path) -> None:
    agent, model = agent_with(say("Yes."))
    async with talk(agent, tmp_path) as talked:
        turn = await talked.ask("/list")
        assert turn.text == "```\nThe folder is empty.\n```"
        assert model.requests == []
        await talked.ask("did you see?")

    roles = [type(message).__name__ for message in model.requests[0].messages]
    assert roles == ["UserMessage", "ModelReply", "ToolResults", "ModelReply", "UserMessage"]


async def test_a_tool_that_breaks_inside_is_a_failed_call_and_tells_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(Read, "run", broken)
    agent, model = agent_with(call("read", path="a"), say("Sorry."))
    async with talk(agent, tmp_path) as talked:
        turn = await talked.ask("go")

        assert turn.stop_reason == "end_turn"
        assert talked.tool.status == "failed"
    assert model.results()[0].text == "It failed inside the agent; its log says why."


async def test_without_a_store_it_works_too(tmp_path: Path) -> None:
    agent, model = agent_with(say("One."), say("Two."), store=None)
    async with talk(agent, tmp_path) as talked:
        await talked.ask("one")
        await talked.ask("two")

    assert len(model.requests[1].messages) == 3
