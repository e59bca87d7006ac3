"""One client file drives the rich agent in every edition, and sees what the words of each edition say."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.protocol.edition import V1
from accord.session.event import Cost, UsageChanged
from tests.conversations import rich_driver
from tests.conversations.normalisation import normalised
from tests.conversations.rich_driver import Story, drive
from tests.conversations.rich_stage import AGENT, GREETING, WAYS, Held, Stage, hold, outline, replayable, stage_on
from tests.forked import forked_python
from tests.limits import limit

# What to insist on, and the name of what is then spoken.
EDITIONS = {"1": "v1", "2-june": "v2_june", "2": "v2"}
# Our client offers everything.
HELD = {way.edition.name: way for way in WAYS if way.capabilities.terminals or way.edition is not V1}


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    yield from stage_on(request, tmp_path_factory.mktemp("driven"))


@pytest.fixture(scope="module")
def stories(stage: Stage) -> dict[str, Story]:
    """The conversation in every edition, held once; the tests look at what it left behind."""

    async def driven() -> dict[str, Story]:
        found = {}
        for edition in EDITIONS:
            stage.clear()
            with forked_python():
                found[edition] = await drive(AGENT, edition=edition, project=stage.project, env=stage.environment)
        return found

    return asyncio.run(driven())


@pytest.fixture(params=EDITIONS)
def edition(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def story(stories: dict[str, Story], edition: str) -> Story:
    return stories[edition]


@pytest.fixture(scope="module")
def held(stage: Stage, stories: dict[str, Story]) -> dict[str, Held]:
    """What the client that speaks by the dialects heard in each edition; after the driver, on the same stage."""
    assert stories

    async def all_held() -> dict[str, Held]:
        async with asyncio.timeout(limit(100)):
            return {name: await hold(way, stage) for name, way in HELD.items()}

    return asyncio.run(all_held())


# --- the same in every edition


def test_the_transcript_is_the_same_in_every_edition(stories: dict[str, Story]) -> None:
    first, *others = stories.values()
    for other in others:
        assert normalised(other.live) == normalised(first.live)
        assert normalised(other.continued) == normalised(first.continued)
        assert replayable(other.again) == replayable(first.again)


def test_a_screen_shows_the_same_in_every_edition(stories: dict[str, Story]) -> None:
    first, *others = stories.values()
    for other in others:
        assert other.shown == first.shown
        assert other.followed == first.followed
        assert other.texts == first.texts


# --- what it is, in each


def test_the_edition_is_the_one_that_was_insisted_on(edition: str, story: Story) -> None:
    assert (story.edition, story.agent) == (EDITIONS[edition], "rich")


def test_the_transcript_is_what_a_client_in_the_words_of_the_edition_heard(
    edition: str, story: Story, held: dict[str, Held]
) -> None:
    heard = held[EDITIONS[edition]]
    assert normalised(story.live) == normalised(heard.live)
    assert normalised(story.continued) == normalised(heard.continued)
    assert replayable(story.reopened) == replayable(heard.reopened)
    assert replayable(story.again) == replayable(heard.again)


def test_a_session_is_told_after_a_restart_as_it_was_live(story: Story) -> None:
    assert replayable(story.reopened) == replayable(story.live)
    assert replayable(story.again) == replayable(story.continued)


def test_the_conversation_is_what_the_agent_wrote(story: Story) -> None:
    assert outline(story.live)[0] == ("user", "fix")
    assert outline(story.live)[-3:] == [
        ("user", "wait"),
        ("execute", "Watch", "cancelled"),
        ("agent", "Watching.Stopped."),
    ]
    assert story.live.usage == UsageChanged(1200, 200_000, Cost(0.25, "EUR"))
    assert story.live.title == "A better greeting"
    assert [turn.stop_reason for turn in story.live.turns] == ["end_turn", "cancelled"]


def test_a_screen_follows_the_agent_step_by_step(story: Story, stage: Stage) -> None:
    assert [line for line in story.shown if line[0] == "tool"] == [
        ("tool", "Read greeting.txt", "in_progress"),
        ("tool", "Read greeting.txt", "completed"),
        ("tool", "Read missing.txt", "in_progress"),
        ("tool", "Read missing.txt", "failed"),
        ("tool", "Edit greeting.txt", "pending"),
        ("tool", "Edit greeting.txt", "in_progress"),
        ("tool", "Edit greeting.txt", "completed"),
        ("tool", "Try it", "in_progress"),
        ("tool", "Try it", "completed"),
        ("tool", "Watch", "in_progress"),
        ("tool", "Watch", "cancelled"),
    ]
    place = str(stage.project / "greeting.txt")
    assert story.followed == [(place, 1), (place, None)]


def test_every_turn_ends_with_its_reason_and_its_text(story: Story) -> None:
    assert story.stop_reasons == ["end_turn", "cancelled", "end_turn", "end_turn", "end_turn"]
    assert story.texts == [
        "Let me look. It is friendly now.The command ended with 3, in mode code.",
        "Watching.Stopped.",
        "You said fix, wait, recall; I noted fix, wait, recall. 5 tool calls, the last one cancelled.",
        "No help about tests.",
        "You said fix, wait, recall, /help tests, recall; I noted fix, wait, recall, recall."
        " 5 tool calls, the last one cancelled.",
    ]


def test_an_unfinished_tool_call_shows_as_cancelled_at_once(story: Story) -> None:
    assert story.marked == ["cancelled"]


def test_the_user_is_asked_once_with_the_tool_call_and_the_agents_own_options(story: Story) -> None:
    (question,) = story.questions
    assert question.tool is not None
    assert (question.title, question.tool.kind) == ("Edit greeting.txt", "edit")
    assert [option.id for option in question.options] == ["allow", "allow-always", "reject"]


def test_settings_are_kept_over_the_restarts(story: Story) -> None:
    assert story.settings == [("code", "large")] * 2


def test_the_session_is_listed_and_a_strange_one_refused(story: Story) -> None:
    assert len(story.listed) == 1
    assert story.refusals == [accord.ResourceNotFound]


def test_the_files_are_changed_and_the_agent_had_nothing_to_complain_about(story: Story, stage: Stage) -> None:
    assert (stage.project / "greeting.txt").read_text(encoding="utf-8") == GREETING.replace("Go away", "Welcome")
    assert (stage.project / "log/changes.txt").read_text(encoding="utf-8") == "made it friendly\n"
    assert story.stderr == b""


def test_nothing_that_was_started_is_left(stage: Stage, stories: dict[str, Story]) -> None:
    assert stories
    assert processes_with(f"XDG_STATE_HOME={stage.state}") == []


# --- without insisting, and as a program


@pytest.mark.parametrize(("wish", "spoken"), [("auto", "v1"), ("newest", "v2")])
async def test_an_edition_is_found_without_insisting(
    stage: Stage, stories: dict[str, Story], wish: Any, spoken: str
) -> None:
    stage.clear()
    with forked_python():
        story = await drive(AGENT, edition=wish, project=stage.project, env=stage.environment)
    assert story.edition == spoken
    assert normalised(story.live) == normalised(stories["1"].live)


def test_it_is_a_program_too(stage: Stage) -> None:
    stage.clear()
    argv = [sys.executable, str(rich_driver.__file__), "--edition", "2", "--project", str(stage.project), "--", *AGENT]
    env = {**os.environ, "XDG_STATE_HOME": str(stage.state)}
    ended = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=limit(60), check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[:2] == ["rich, v2", "title A better greeting"]


def processes_with(variable: str) -> list[str]:
    """The processes whose environment has this."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            variables = (place / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if variable.encode() in variables:
            found.append(place.name)
    return found
