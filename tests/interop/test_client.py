"""The client file that drives our own rich agent drives the official agents too, and sees the same conversation."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import pytest

import accord
from accord.session.transcript import Transcript
from tests.conversations.normalisation import normalised
from tests.conversations.rich_driver import Story, drive
from tests.conversations.rich_stage import AGENT, GREETING, Stage, outline
from tests.conversations.test_rich_driver import processes_with
from tests.forking_python import forking_python
from tests.interop.conftest import HOMES, with_needs
from tests.interop.programs import Program, rich_agent_on

EDITIONS = {"v1": "1", "v2": "2"}


class Talk(NamedTuple):
    """A conversation with an official agent, and the same with ours."""

    agent: str
    edition: str
    story: Story
    expected: Story
    stage: Stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("rich"))


def program(request: pytest.FixtureRequest, which: str, stage: Stage) -> Program:
    sdk, edition = which.split()
    return rich_agent_on(sdk, edition, request.getfixturevalue(HOMES[which]), stage.state)


def driven(argv: tuple[str, ...], stage: Stage, edition: Any, env: Any = None) -> Story:
    stage.clear()
    return asyncio.run(drive(argv, edition=edition, project=stage.project, env={**stage.environment, **(env or {})}))


@pytest.fixture(scope="module", params=with_needs(*HOMES))
def talk(request: pytest.FixtureRequest, stage: Stage) -> Talk:
    agent: str = request.param
    edition = agent.split()[1]
    expected = driven((str(forking_python()), *AGENT[1:]), stage, EDITIONS[edition])
    peer = program(request, agent, stage)
    return Talk(agent, edition, driven(peer.argv, stage, EDITIONS[edition], peer.env), expected, stage)


def shown(talk: Talk, transcript: Transcript, *, states: bool = True) -> dict[str, Any]:
    picture = normalised(transcript, states=states)
    tools = [entry for entry in picture["timeline"] if isinstance(entry, dict)]
    for entry in tools:
        if talk.edition == "v1" and entry["title"] == "Watch":
            # v1 has no word for it but `failed`, and these agents say no more.
            entry["status"] = "cancelled"
        if talk.agent == "py v1":
            # It follows a schema from before tool calls had names.
            del entry["name"]
    if talk.agent == "py v1":
        # It tells its modes in v1's older words alone: the option is made of them.
        picture["options"] = sorted((option.id, option.value, option.choices) for option in picture["options"])
    return picture


@pytest.mark.sampled(2)
def test_the_transcript_is_the_one_that_our_own_agent_leaves(talk: Talk) -> None:
    assert shown(talk, talk.story.live) == shown(talk, talk.expected.live)
    assert shown(talk, talk.story.continued) == shown(talk, talk.expected.continued)


def test_the_session_is_told_again_after_each_restart(talk: Talk) -> None:
    for name in ("reopened", "again"):
        told, expected = getattr(talk.story, name), getattr(talk.expected, name)
        assert shown(talk, told, states=False) == shown(talk, expected, states=False)


def test_a_screen_shows_what_it_shows_of_our_own_agent(talk: Talk) -> None:
    cancelled = ("tool", "Watch", "failed" if talk.edition == "v1" else "cancelled")
    assert talk.story.shown == [cancelled if line[-1] == "cancelled" else line for line in talk.expected.shown]
    assert talk.story.followed == talk.expected.followed
    assert talk.story.texts == talk.expected.texts
    assert talk.story.stop_reasons == talk.expected.stop_reasons


def test_the_user_is_asked_once_and_the_agent_gets_the_option(talk: Talk) -> None:
    (question,) = talk.story.questions
    assert question.tool is not None
    assert (question.title, question.tool.id) == ("Edit greeting.txt", "edit")
    assert [option.id for option in question.options] == ["allow", "allow-always", "reject"]
    assert talk.story.live.tool_calls["edit"].raw_output == {"option": "allow"}


def test_files_are_read_and_written(talk: Talk) -> None:
    project = talk.stage.project
    assert (project / "greeting.txt").read_text(encoding="utf-8") == GREETING.replace("Go away", "Welcome")
    assert (project / "log/changes.txt").read_text(encoding="utf-8") == "made it friendly\n"


def test_terminals_are_the_clients_in_v1_and_the_agents_in_v2_and_both_are_seen(talk: Talk) -> None:
    tried, watched = talk.story.live.terminals.values()
    assert tried.exit is not None
    assert watched.exit is not None
    assert (tried.exit.code, watched.exit.signal) == (3, "SIGTERM")
    assert tried.output.decode() == "Welcome!\nYours, the program\nüber und über\n"


def test_an_unfinished_tool_call_shows_as_cancelled_at_once_and_later_as_the_agent_says(talk: Talk) -> None:
    assert talk.story.marked == ["cancelled"]
    assert outline(talk.story.live)[-2][2] == ("failed" if talk.edition == "v1" else "cancelled")


def test_settings_are_made_by_one_name_and_kept_over_the_restarts(talk: Talk) -> None:
    assert talk.story.settings == [("code", "large")] * 2


def test_a_strange_session_is_refused_and_ours_is_listed(talk: Talk) -> None:
    assert talk.story.refusals == [accord.ResourceNotFound]
    assert talk.story.listed == ["session-1"]


def test_no_process_is_left_and_nobody_complained(talk: Talk) -> None:
    assert talk.story.stderr == b""
    assert processes_with(f"XDG_STATE_HOME={talk.stage.state}") == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("wish", ["auto", "newest"])
@pytest.mark.parametrize("agent", with_needs(*HOMES))
def test_the_edition_is_found_without_insisting(
    request: pytest.FixtureRequest, stage: Stage, agent: str, wish: str
) -> None:
    peer = program(request, agent, stage)
    story = driven(peer.argv, stage, wish, peer.env)
    assert story.edition == agent.split()[1]
    assert [turn.stop_reason for turn in story.live.turns] == ["end_turn", "cancelled"]
