"""The checker itself: a peer that breaks one rule fails that one, and a peer that breaks none fails none."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

from accord.check import CAUSES, RULES, CheckRule, Options, Outcome, Report, check_agent
from accord.check.agent.conversation import STEPS
from accord.check.agent.remote import REMOTE_STEPS
from accord.check.client.conversation import STEPS as PARTS
from accord.check.engine.judging import JUDGES, Judge, judges_of
from accord.check.rule import EDITIONS, EditionName
from tests.check.faults import FAULTS, FULL, PLAIN, Fault
from tests.check.faults.server import SERVER_FAULTS
from tests.client.clock import timeless
from tests.limits import limit

CONFORMING: dict[EditionName, tuple[Callable[[], Any], ...]] = {name: (PLAIN[name], FULL[name]) for name in EDITIONS}
AGENTS = [fault for fault in FAULTS if fault.side == "agent"]
BREAKING = [fault for fault in AGENTS if not fault.note]
NOTED = [fault for fault in AGENTS if fault.note]
# The topics of the rules: a fault of a topic has those of its rules.
TOPICS = sorted({fault.breaks.rpartition("-")[0] for fault in AGENTS})


def options(edition: EditionName, *, login: bool = False, seconds: float = 2, only: tuple[str, ...] = ()) -> Options:
    """In this process nobody needs long; `login` lets the agent be logged in to, and out of."""
    return Options(
        edition=edition,
        only=only,
        cancel_prompt="__hang__",
        timeout_seconds=seconds,
        turn_seconds=seconds,
        start_seconds=seconds,
        grace_seconds=limit(0.3),
        quiet_seconds=0.005,
        jobs=4,
        auth_method="token" if login else "",
        allow_logout=login,
        # Peers of this process have no settings that anybody else uses.
        touch_model=True,
        touch_permission=True,
    )


async def judged(fault: Fault) -> Report:
    """The report; where it is not what is wanted, once more with limits that a busy machine keeps too."""
    login = "-AUTH-" in fault.breaks
    report = await check_agent(fault.make, options(fault.edition, login=login))
    if not is_seen(fault, report):
        report = await check_agent(fault.make, options(fault.edition, login=login, seconds=10))
    return report


SHOWN_BY = {
    "ClosesTwice": "v2_scalars",
    "DropsWhatHasNotEnded": "turns",
    "ErrorWithoutMessage": "unknown_session",
    "HasAListForMetadata": "listing",
    "ListsInCircles": "v2_scalars",
    "NeverCompletesAToolCall": "v2_resumes",
    "SpeaksForTheSessionResumedLast": "strange_outcome",
    "TellsOfStrangers": "v2_scalars",
    "ThinksInArrays": "v2_same_ids",
    "WantsALoginThatItDoesNotHave": "mcp_servers",
}


async def judged_in_its_steps(fault: Fault) -> Report:
    """The report of the rules that look at no other steps than the broken one, where it is seen there.

    That takes a twentieth of a whole check. Some rules look at whatever was said: `SHOWN_BY` has a step that shows it.
    """
    played = {*steps_of(fault.edition, fault.breaks), "meet", SHOWN_BY.get(fault.name, "meet")}
    only = tuple(
        rule.id
        for rule in judged_rules()
        if rule.edition == fault.edition and rule.side != "client" and steps_of(rule.edition, rule.id) <= played
    )
    report = await check_agent(fault.make, options(fault.edition, login="-AUTH-" in fault.breaks, only=only))
    return report if is_seen(fault, report) else await judged(fault)


@functools.cache
def steps_of(edition: EditionName, id_: str) -> set[str]:
    return {name for judge in judges_of(edition, id_) for name in judge.steps}


def is_seen(fault: Fault, report: Report) -> bool:
    """Whether what is wrong was found, and nothing that is not."""
    if set(failures(report)) not in sets_that_fall(fault, report):
        return False
    if fault.note:
        return fault.note in note_on(fault.breaks, report)
    return [finding.root.rule.id for finding in report.findings] == [fault.breaks]


def failures(report: Report) -> dict[str, str]:
    """By id, why."""
    return {outcome.rule.id: said_of(outcome) for outcome in report.outcomes if outcome.status == "FAIL"}


def said_of(outcome: Outcome) -> str:
    return outcome.deciding.message if outcome.deciding else ""


def name_of(fault: Fault) -> str:
    return f"{fault.edition}-{fault.breaks}-{fault.name}"


def sets_that_fall(fault: Fault, report: Report) -> list[set[str]]:
    """The rule alone, or with what the manifest says cannot hold without it; each room says that of its own rules."""
    if fault.note:
        fall = [STRICTER.get((fault.edition, fault.breaks), set())]
    else:
        causes = [cause.ids for cause in CAUSES if (cause.edition, cause.root) == (fault.edition, fault.breaks)]
        chosen = [combinations(causes, count) for count in range(len(causes) + 1)]
        fall = [{fault.breaks}.union(*some) for several in chosen for some in several]
    judged = {outcome.rule.id for outcome in report.outcomes}
    return [each & judged for each in fall]


STRICTER: dict[tuple[EditionName, str], set[str]] = {
    # What the kit only records has a rule of ours in some editions: who does it another way breaks that one.
    ("v2", "ACP-BATCH-207"): {"ACCORD-WIRE-201"},
    ("v2", "ACP-EXT-203"): {"ACP-JSONRPC-003"},
    ("v2", "ACP-INFO-BATCH-202"): {"ACCORD-WIRE-202"},
    ("v2", "ACP-INFO-CANCEL-202"): {"ACCORD-CANCEL-204", "ACCORD-ELICIT-205"},
    ("v2", "ACP-INFO-UNKNOWNSESSION-001"): {"ACCORD-CLOSE-203", "ACCORD-UNKNOWN-201"},
}


def note_on(id_: str, report: Report) -> str:
    return next(said_of(outcome) for outcome in report.outcomes if outcome.rule.id == id_)


# --- every fault, in the steps that show it


@pytest.mark.parametrize("topic", TOPICS)
@timeless
async def test_the_faults_of_a_topic_are_seen_in_the_steps_that_show_them(topic: str) -> None:
    faults = [fault for fault in AGENTS if fault.breaks.rpartition("-")[0] == topic]
    # Side by side: many of them are told by their silence.
    for fault, report in zip(faults, await asyncio.gather(*map(judged_in_its_steps, faults)), strict=True):
        assert is_seen(fault, report), (name_of(fault), failures(report))


# --- whole checks


@pytest.mark.sampled(96, long=6)
@pytest.mark.parametrize("fault", BREAKING, ids=name_of)
@timeless
async def test_a_faulty_peer_fails_exactly_what_it_breaks(fault: Fault) -> None:
    report = await judged(fault)
    assert is_seen(fault, report), failures(report)


@pytest.mark.sampled(24, long=6)
@pytest.mark.parametrize("fault", NOTED, ids=name_of)
@timeless
async def test_a_peer_that_does_it_another_way_is_noted_as_that(fault: Fault) -> None:
    report = await judged(fault)
    assert is_seen(fault, report), failures(report)


@pytest.mark.parametrize("edition", EDITIONS)
@timeless
async def test_what_is_noted_of_a_faulty_peer_is_noted_of_no_conforming_one(edition: EditionName) -> None:
    noted = [fault for fault in NOTED if fault.edition == edition]
    for make in CONFORMING[edition]:
        report = await check_agent(make, options(edition, only=tuple(fault.breaks for fault in noted)))
        for fault in noted:
            assert fault.note not in note_on(fault.breaks, report), name_of(fault)


@pytest.mark.rotated("login")
@pytest.mark.parametrize("login", [False, True], ids=["as it is", "with a login"])
@pytest.mark.parametrize(
    ("edition", "make"), [(edition, make) for edition, makes in CONFORMING.items() for make in makes]
)
@timeless
async def test_a_conforming_peer_fails_nothing(edition: EditionName, make: Callable[[], Any], *, login: bool) -> None:
    report = await check_agent(make, options(edition, login=login))
    assert failures(report) == {}
    assert report.conformant


@pytest.mark.parametrize("edition", EDITIONS)
@timeless
async def test_a_peer_with_everything_shows_nearly_everything(edition: EditionName) -> None:
    report = await check_agent(CONFORMING[edition][1], options(edition, login=True))
    assert failures(report) == {}
    skipped = {o.rule.id: said_of(o) for o in report.outcomes if o.status in {"SKIPPED", "NOT_TESTED"}}
    assert set(skipped) <= NEVER_SHOWN.get(edition, set()), skipped


NEVER_SHOWN: dict[EditionName, set[str]] = {
    # An agent that has ways to log in cannot show what one without does; nobody can see how soon work stops.
    "v1": {"ACP-AUTH-005"},
    "v2_june": {"ACP-AUTH-005"},
    # Who has every kind of block and server has none to refuse, and nobody asks for work that fails.
    "v2": {"ACP-AUTH-205", "ACP-CANCEL-204", "ACCORD-MCP-202", "ACCORD-PROMPT-202", "ACCORD-STATE-204"},
}


# --- the manifest


def judged_rules() -> list[CheckRule]:
    return [rule for rule in RULES if not rule.superseded]


def test_every_rule_has_a_fault_that_breaks_it() -> None:
    broken = {(fault.edition, fault.breaks, fault.side) for fault in FAULTS}
    broken |= {(fault.edition, fault.breaks, "agent") for fault in SERVER_FAULTS}
    sides = {"agent": ("agent",), "client": ("client",), "both": ("agent", "client")}
    missing = [
        f"{rule.edition} {rule.id} {side}"
        for rule in judged_rules()
        for side in sides[rule.side]
        if (rule.edition, rule.id, side) not in broken and rule.id not in NOTHING_TO_CHANGE
    ]
    assert missing == []


NOTHING_TO_CHANGE = {
    # Nobody can see how soon work stops, so no peer can make it seen.
    "ACP-CANCEL-204",
}


def test_every_fault_breaks_a_rule_and_only_what_is_recorded_has_a_note() -> None:
    tiers = {(rule.edition, rule.id): rule.tier for rule in judged_rules()}
    for fault in FAULTS:
        assert (fault.edition, fault.breaks) in tiers, fault
        assert (tiers[fault.edition, fault.breaks] == "informational") == bool(fault.note), fault


def test_every_rule_has_a_judge_and_every_judge_has_rules() -> None:
    rules = {(rule.edition, rule.id) for rule in judged_rules()}
    judged = {(edition, id_) for judge in JUDGES for edition in judge.editions for id_ in judge.ids}
    assert sorted(rules - judged) == []
    assert sorted({id_ for _, id_ in judged} - {rule.id for rule in RULES}) == []
    # An id is the same rule in every edition that has it; a judge without an edition may look at all.
    assert [judge.verdict.__name__ for judge in JUDGES if not judged_by(judge)] == []


def judged_by(judge: Judge) -> list[CheckRule]:
    """The rules that a judge judges."""
    return [rule for rule in judged_rules() if rule.edition in judge.editions and rule.id in judge.ids]


def test_no_rule_is_there_twice() -> None:
    ids = [(rule.edition, rule.id, rule.side) for rule in RULES]
    assert len(set(ids)) == len(ids)


def test_what_a_judge_looks_at_is_played() -> None:
    known = {*STEPS, *PARTS, *REMOTE_STEPS, "meet"}
    assert sorted({name for judge in JUDGES for name in judge.steps} - known) == []


def test_no_two_faults_have_one_name() -> None:
    names = [(fault.edition, fault.side, fault.name) for fault in FAULTS]
    assert len(set(names)) == len(names)


def test_what_falls_together_is_in_the_manifest() -> None:
    known = {(rule.edition, rule.id) for rule in RULES}
    for cause in CAUSES:
        assert {(cause.edition, id_) for id_ in cause.ids} <= known, cause
