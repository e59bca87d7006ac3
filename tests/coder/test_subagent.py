"""Sub-agents: a tool call with a conversation of its own, whose report is all that is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.coder.model import ModelBroken, ModelRequest, ToolResults, UserMessage
from accord.coder.subagent import MAX_REQUESTS
from tests.coder.rig import IN_EVERY_EDITION, agent_with, call, project, say, talk


@IN_EVERY_EDITION
async def test_its_report_is_the_result_and_its_work_is_shown(tmp_path: Path, edition: str) -> None:
    project(tmp_path, a="needle")
    agent, model = agent_with(
        call("delegate", task="Find the needle."), call("search", pattern="needle"), say("It is in a."), say("In a.")
    )
    async with talk(agent, tmp_path, edition) as talked:
        turn = await talked.ask("where is the needle?")

        delegated, search = talked.tools
        assert (delegated.kind, delegated.status) == ("think", "completed")
        assert "It is in a." in str(delegated.content)
        assert search.meta["accord"]["parentToolCallId"] == delegated.id
        assert turn.text == "In a."
    own, further, last = model.requests[1], model.requests[2], model.requests[3]
    # A conversation of its own: the task is all that it knows.
    assert own.messages == [UserMessage("Find the needle.")]
    assert isinstance(further.messages[-1], ToolResults)
    assert model.results()[0].text == "It is in a."
    assert len(last.messages) == 3


async def test_it_asks_for_what_it_changes_and_the_change_can_be_undone(tmp_path: Path) -> None:
    project(tmp_path, a="old")
    agent, _ = agent_with(
        call("delegate", task="Write."), call("write", path="a", text="new"), say("Done."), say("Done.")
    )
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")
        assert len(talked.asked) == 1
        assert (tmp_path / "a").read_text() == "new"
        await talked.ask("/undo")
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize(
    ("mode", "missing"),
    [("code", {"delegate", "plan", "output", "stop", "skill"}), ("ask", {"delegate", "edit", "run", "shell"})],
)
async def test_it_has_the_tools_of_the_mode_but_those_of_the_turn(tmp_path: Path, mode: str, missing: set[str]) -> None:
    agent, model = agent_with(call("delegate", task="Look."), say("Seen."), say("Done."))
    async with talk(agent, tmp_path, mode=mode) as talked:
        await talked.ask("go")
    assert not missing & set(model.offered(1))
    assert {"read", "search", "list", "fetch"} <= set(model.offered(1))


async def test_it_has_no_sub_agents_and_starts_nothing_in_the_background(tmp_path: Path) -> None:
    agent, model = agent_with(
        call("delegate", task="Go deeper."), call("delegate", task="Deeper."),
        call("run", command="sleep 100", background=True), say("No."), say("Done."),
    )  # fmt: skip
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")
    assert [model.results(request)[0].failed for request in (2, 3)] == [True, True]


async def test_a_model_that_fails_fails_the_call_and_not_the_turn(tmp_path: Path) -> None:
    async def broken(_: ModelRequest):  # type: ignore[no-untyped-def] # noqa: ANN202
        raise ModelBroken("It broke")
        yield

    agent, model = agent_with(call("delegate", task="Try."), broken, say("It did not work."))
    async with talk(agent, tmp_path) as talked:
        turn = await talked.ask("go")
        assert turn.stop_reason == "end_turn"
        assert talked.tool.status == "failed"
    assert "It broke" in model.results()[0].text


async def test_one_that_comes_to_no_end_is_ended(tmp_path: Path) -> None:
    agent, model = agent_with(call("delegate", task="Loop."), *[call("list")] * MAX_REQUESTS, say("Enough."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")
    assert len(model.requests) == MAX_REQUESTS + 2
    assert model.results()[0].failed
