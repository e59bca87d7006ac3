"""One agent file, the same conversation in every edition, as a program over real pipes, and after each restart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from accord.protocol.edition import V2, V2_JUNE
from accord.session.event import Cost, UsageChanged
from accord.session.option import Toggle
from tests.conversations.normalisation import normalised
from tests.conversations.rich_stage import GREETING, WAYS, Held, Stage, Way, hold, outline, replayable, stage_on
from tests.limits import limit


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    yield from stage_on(request, tmp_path_factory.mktemp("rich"))


@pytest.fixture(scope="module")
def conversations(stage: Stage) -> dict[str, Held]:
    """The whole conversation in every way, held once; the tests look at what it left behind."""

    async def held() -> dict[str, Held]:
        async with asyncio.timeout(limit(100)):
            return {str(way): await hold(way, stage) for way in WAYS}

    return asyncio.run(held())


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    chosen: Way = request.param
    return chosen


@pytest.fixture
def held(conversations: dict[str, Held], way: Way) -> Held:
    return conversations[str(way)]


# --- the same in every edition


def test_the_transcript_is_the_same_in_every_edition(conversations: dict[str, Held]) -> None:
    first, *others = conversations.values()
    for other in others:
        assert normalised(other.live) == normalised(first.live)


def test_what_changed_on_the_way_came_in_the_same_order_in_every_edition(conversations: dict[str, Held]) -> None:
    first, *others = conversations.values()
    for other in others:
        assert other.milestones == first.milestones


def test_the_transcript_after_two_restarts_is_the_same_in_every_edition(conversations: dict[str, Held]) -> None:
    first, *others = conversations.values()
    for other in others:
        assert replayable(other.again) == replayable(first.again)
        assert normalised(other.continued) == normalised(first.continued)


# --- what it is, in each


def test_a_session_is_told_after_a_restart_as_it_was_live(held: Held) -> None:
    assert replayable(held.reopened) == replayable(held.live)


def test_a_session_is_told_after_a_kill_as_it_was_continued(held: Held) -> None:
    assert replayable(held.again) == replayable(held.continued)


def test_the_conversation_is_what_the_agent_wrote(held: Held) -> None:
    assert outline(held.live) == [
        ("user", "fix"),
        ("thought", "There is a greeting. It is not friendly."),
        (
            "plan",
            ("Read the greeting", "completed", "medium"),
            ("Correct it", "completed", "high"),
            ("Try it", "completed", "medium"),
        ),
        ("agent", "Let me look. "),
        ("read", "Read greeting.txt", "completed"),
        ("read", "Read missing.txt", "failed"),
        ("edit", "Edit greeting.txt", "completed"),
        ("agent", "It is friendly now."),
        ("execute", "Try it", "completed"),
        ("agent", "The command ended with 3, in mode code."),
        ("user", "wait"),
        ("execute", "Watch", "cancelled"),
        ("agent", "Watching.Stopped."),
    ]
    assert [turn.stop_reason for turn in held.live.turns] == ["end_turn", "cancelled"]
    assert held.live.usage == UsageChanged(1200, 200_000, Cost(0.25, "EUR"))
    assert held.live.title == "A better greeting"


def test_the_agent_remembers_after_a_restart(held: Held) -> None:
    assert outline(held.continued)[-2:] == [
        ("user", "recall"),
        ("agent", "You said fix, wait, recall; I noted fix, wait, recall. 5 tool calls, the last one cancelled."),
    ]


def test_the_way_there_is_what_the_agent_wrote(held: Held) -> None:
    allow = (("allow", "Allow", "allow_once"), ("allow-always", "Always allow", "allow_always"))
    assert held.milestones == [
        ("user",),
        ("title", "A better greeting"),
        ("thought",),
        ("plan", "in_progress", "pending", "pending"),
        ("agent",),
        ("tool", "Read greeting.txt", "in_progress"),
        ("tool", "Read greeting.txt", "completed"),
        ("tool", "Read missing.txt", "in_progress"),
        ("tool", "Read missing.txt", "failed"),
        ("plan", "completed", "in_progress", "pending"),
        ("tool", "Edit greeting.txt", "pending"),
        ("permission", "Edit greeting.txt", *allow, ("reject", "Reject", "reject_once")),
        ("tool", "Edit greeting.txt", "in_progress"),
        ("tool", "Edit greeting.txt", "completed"),
        ("agent",),
        ("plan", "completed", "completed", "in_progress"),
        ("tool", "Try it", "in_progress"),
        ("tool", "Try it", "completed"),
        ("plan", "completed", "completed", "completed"),
        ("usage", 1200, 200_000),
        ("agent",),
        ("user",),
        ("tool", "Watch", "in_progress"),
        ("agent",),
        ("tool", "Watch", "cancelled"),
        ("agent",),
    ]


def test_files_and_commands_go_to_the_client_where_it_offers_them_and_nowhere_else(way: Way, held: Held) -> None:
    begun, run = ["StartTerminal", "AwaitTerminal"], ["ReadTerminal", "ReleaseTerminal"]
    everything = [
        *["ReadFile"] * 3,
        "RequestPermission",
        *["WriteFile"] * 2,
        *(*begun, *run),
        *(*begun, "KillTerminal", *run),
    ]
    assert [ask for ask, _, _ in held.asked] == (everything if way.capabilities.terminals else ["RequestPermission"])


def test_what_is_asked_of_the_client_comes_behind_the_tool_call_that_needs_it(held: Held) -> None:
    newest = {"ReadFile": ["Read greeting.txt"] * 2 + ["Read missing.txt"], "WriteFile": ["Edit greeting.txt"] * 2}
    newest |= {"RequestPermission": ["Edit greeting.txt"], "StartTerminal": ["Try it", "Watch"]}
    for kind, titles in newest.items():
        assert [title for ask, title, _ in held.asked if ask == kind] in ([], titles)


def test_the_user_is_asked_while_the_session_says_that_it_waits(way: Way, held: Held) -> None:
    states = [state for ask, _, state in held.asked if ask == "RequestPermission"]
    assert states == ["requires_action" if way.edition is V2 else "running"]


def test_what_was_written_is_on_the_disk_and_the_session_in_the_list(stage: Stage, held: Held) -> None:
    assert (stage.project / "greeting.txt").read_text(encoding="utf-8") == GREETING.replace("Go away", "Welcome")
    assert (stage.project / "log/changes.txt").read_text(encoding="utf-8") == "made it friendly\n"
    (session,) = held.listed
    assert (session.cwd, session.title) == (str(stage.project), "A better greeting")


def test_toggles_are_offered_where_the_edition_has_them(way: Way, held: Held) -> None:
    toggles = [option.id for option in held.live.config if isinstance(option, Toggle)]
    assert toggles == ([] if way.edition is V2_JUNE else ["web"])


# --- from one edition to another


async def test_a_session_of_one_edition_goes_on_in_every_other(stage: Stage) -> None:
    stage.clear()
    async with stage.agent(WAYS[0]) as client:
        session_id = await client.open()
        await client.prompt("fix")
        before = replayable(client.transcript)
    for way in WAYS[1:]:
        async with stage.agent(way) as client:
            await client.reopen(session_id)
            assert replayable(client.transcript) == before, str(way)
            client.cancel_at = "Watching."
            await client.prompt("wait")
            before = replayable(client.transcript)
    assert len(before["timeline"]) == 10 + 3 * (len(WAYS) - 1)
