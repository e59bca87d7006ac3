"""Agents that conform, and that a hasty judge would accuse: the judge does not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord.check import Options, Report, check_agent
from tests.check.faults.careful import (
    CAREFUL,
    ForgetsClosedSessions,
    KeepsPromptedSessionsV2,
    NeverResumesWithOtherRoots,
    StuckOnce,
)
from tests.check.faults.reference.agent_v1 import PlainV1
from tests.client.clock import timeless
from tests.limits import limit

ONLY = {
    "KeepsPromptedSessions": ("ACP-LOAD-", "ACP-RESUME-", "ACP-ADDDIRS-", "ACP-PROMPT-"),
    "KillsAndWaits": ("ACCORD-TERMINAL-", "ACCORD-PERM-005"),
    "LoadsOnlyWhatIsClosed": ("ACP-LOAD-", "ACP-RESUME-", "ACCORD-LOAD-", "ACP-ADDDIRS-"),
    "LoadsOnlyAfterRestart": ("ACP-LOAD-", "ACP-RESUME-", "ACCORD-LOAD-", "ACP-ADDDIRS-"),
    "RefusesSomeValues": ("ACP-CONFIG-", "ACP-MODES-", "ACCORD-CONFIG-"),
}


def failures(report: Report) -> dict[str, str]:
    return {
        outcome.rule.id: outcome.deciding.message if outcome.deciding else ""
        for outcome in report.outcomes
        if outcome.status == "FAIL"
    }


def options(**more: Any) -> Options:
    given: dict[str, Any] = {
        "timeout_seconds": 5.0,
        "turn_seconds": 5.0,
        "grace_seconds": limit(1),
        "quiet_seconds": 0.05,
    }
    return Options(**{**given, "cancel_prompt": "__hang__", "touch_model": True, "touch_permission": True, **more})


@pytest.mark.usefixtures("forked_interpreters")
@pytest.mark.parametrize("make", CAREFUL)
async def test_a_careful_agent_in_a_process_of_its_own_is_not_accused(make: Any, tmp_path: Path) -> None:
    program = [sys.executable, str(Path(__file__).parent / "faults"), "v1", make.__name__]
    env = {"TMPDIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    report = await check_agent(program, options(only=ONLY[make.__name__], env=env))
    assert failures(report) == {}
    judged = [outcome.rule.id for outcome in report.outcomes if outcome.status == "PASS"]
    assert len(judged) >= 4, judged


@pytest.mark.long
@pytest.mark.parametrize("make", CAREFUL)
@timeless
async def test_a_careful_agent_conforms_as_a_whole(make: Callable[[], Any]) -> None:
    report = await check_agent(make, options())
    assert failures(report) == {}
    assert report.conformant


@timeless
async def test_an_agent_that_keeps_sessions_from_their_first_turn_on_can_resume_them_with_another_root() -> None:
    report = await check_agent(KeepsPromptedSessionsV2, options(edition="v2", only=("ACP-ADDDIRS-", "ACP-RESUME-")))
    assert failures(report) == {}
    passed = {outcome.rule.id for outcome in report.outcomes if outcome.status == "PASS"}
    assert {"ACP-ADDDIRS-201", "ACP-ADDDIRS-202", "ACP-RESUME-201"} <= passed


@timeless
async def test_an_agent_that_forgets_closed_sessions_is_not_accused_of_refusing_a_root() -> None:
    report = await check_agent(ForgetsClosedSessions, options(edition="v2", only=("ACP-ADDDIRS-",)))
    assert {outcome.rule.id: outcome.status for outcome in report.outcomes} == {
        "ACP-ADDDIRS-201": "PASS",
        "ACP-ADDDIRS-202": "SKIPPED",
    }


@timeless
async def test_a_session_that_was_not_resumed_gets_no_prompt() -> None:
    report = await check_agent(NeverResumesWithOtherRoots, options(only=("ACP-ADDDIRS-", "ACP-PROMPT-")))
    assert failures(report) == {}


@pytest.mark.long
@timeless
async def test_an_agent_that_keeps_sessions_from_their_first_turn_on_conforms_as_a_whole() -> None:
    report = await check_agent(KeepsPromptedSessionsV2, options(edition="v2"))
    assert failures(report) == {}


@timeless
async def test_after_one_stuck_turn_later_turns_have_their_full_time() -> None:
    StuckOnce._stuck = False
    # A twentieth of the time, which they once had, would not be enough.
    report = await check_agent(
        StuckOnce, options(only=("ACP-PROMPT-", "ACCORD-CANCEL-", "ACCORD-ORDER-"), turn_seconds=2.0)
    )
    assert [finding.root.rule.id for finding in report.findings] == ["ACP-PROMPT-001"]
    passed = {outcome.rule.id for outcome in report.outcomes if outcome.status == "PASS"}
    assert {"ACCORD-CANCEL-001", "ACCORD-CANCEL-003"} <= passed


@timeless
async def test_an_agent_whose_turns_never_end_has_one_finding() -> None:
    class Stuck(PlainV1):
        async def obey(self, _session: Any, _words: str) -> None:
            await asyncio.Event().wait()

    wanted = ("ACP-PROMPT-", "ACCORD-SESSION-", "ACCORD-ORDER-", "ACCORD-SIZE-002", "ACCORD-PERM-", "ACCORD-OFFER-")
    report = await check_agent(Stuck, options(only=wanted, turn_seconds=0.5))
    roots = [finding.root.rule.id for finding in report.findings]
    assert roots == ["ACP-PROMPT-001"], failures(report)
    assert report.seconds < limit(60)
