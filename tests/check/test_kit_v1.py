"""The public kit's rules of v1 on agents that keep them, and on some that cannot be judged completely."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord.check import RULES, Options, Report, check_agent
from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.raw import Refused
from tests.limits import limit
from tests.tables import rows

AGENTS = Path(__file__).parent / "agents"
OURS = {
    "plain": [sys.executable, str(AGENTS / "plain_agent.py")],
    "full": [sys.executable, str(AGENTS / "full_agent.py")],
}
KIT = ("ACP-",)
# These agents have no settings that anybody else uses.
TOUCH: dict[str, Any] = {"touch_model": True, "touch_permission": True}


def statuses(report: Report, *wanted: str) -> dict[str, str]:
    """By id why a rule has one of some statuses."""
    return {
        outcome.rule.id: outcome.deciding.message if outcome.deciding else ""
        for outcome in report.outcomes
        if outcome.status in wanted
    }


async def judged_process(name: str, home: Path, *, logged_in: bool = True, **options: Any) -> Report:
    env = {"XDG_STATE_HOME": str(home), "FULL_AGENT_LOGGED_IN": "1" if logged_in else None}
    return await check_agent(OURS[name], Options(only=KIT, env=env, cancel_prompt="__hang__", **TOUCH, **options))


async def judged(make: Any, **options: Any) -> Report:
    """A peer in this process, which needs no time."""
    seconds = {
        "timeout_seconds": limit(1),
        "turn_seconds": limit(1),
        "grace_seconds": limit(0.3),
        "quiet_seconds": 0.02,
    }
    chosen = {"cancel_prompt": "__hang__", **seconds, **options}
    return await check_agent(make, Options(only=KIT, **chosen))


def test_every_row_of_the_kit_is_there() -> None:
    rules = [rule for rule in RULES if rule.edition == "v1" and rule.id.startswith(KIT)]
    counts = [sum(rule.tier == tier for rule in rules) for tier in ("mandatory", "capability", "advisory")]
    assert (len({rule.id for rule in rules}), counts) == (56, [21, 19, 12])


# --- agents that keep the rules


@pytest.mark.usefixtures("forked_interpreters")
async def test_an_agent_that_wants_a_login_gets_it(tmp_path: Path) -> None:
    report = await judged_process("full", tmp_path, logged_in=False, auth_method="token", allow_logout=True)
    assert statuses(report, "FAIL", "NOT_TESTED") == {}
    assert report.conformant


@pytest.mark.usefixtures("forked_interpreters")
async def test_an_agent_that_wants_a_login_cannot_be_judged_without(tmp_path: Path) -> None:
    report = await judged_process("full", tmp_path, logged_in=False)
    assert statuses(report, "FAIL") == {}
    assert report.blocked_by_auth
    assert not report.conformant
    skipped = statuses(report, "SKIPPED")
    assert skipped["ACP-PROMPT-001"].startswith("AUTH-GATED")
    # What needs no session is judged all the same.
    assert {"ACP-JSONRPC-001", "ACP-INIT-003", "ACP-EXT-001"}.isdisjoint(skipped)


# --- agents that cannot be judged whole


async def test_a_turn_that_ends_by_itself_is_not_held_against_its_agent() -> None:
    report = await judged(FullV1, cancel_prompt="Hello")
    assert statuses(report, "FAIL") == {}
    for id_ in ("ACP-CANCEL-001", "ACP-CANCEL-002", "ACP-CLOSE-002"):
        assert "--cancel-prompt" in statuses(report, "SKIPPED")[id_]


async def test_without_leave_nobody_is_logged_out() -> None:
    logouts: list[Any] = []

    class Counting(FullV1):
        async def on_logout(self, params: dict[str, Any]) -> Any:
            logouts.append(params)
            return await super().on_logout(params)

    report = await judged(Counting, auth_method="token")
    assert "--allow-logout" in statuses(report, "SKIPPED")["ACP-AUTH-004"]
    assert logouts == []
    await judged(Counting, auth_method="token", allow_logout=True)
    assert len(logouts) == 1


async def test_another_version_than_the_one_that_is_judged_blocks() -> None:
    class Newer(PlainV1):
        def version(self, _asked: int) -> int:
            return 2

    report = await judged(Newer)
    assert report.blocked_by_version
    assert not report.conformant
    assert set(statuses(report, "FAIL")) == {"ACP-INIT-002"}


async def test_blocks_that_are_not_advertised_are_not_sent() -> None:
    kinds: set[str] = set()

    class OnlyImages(FullV1):
        def capabilities(self) -> dict[str, Any]:
            return {**super().capabilities(), "promptCapabilities": {"image": True, "audio": False}}

        def blocks_of(self, params: dict[str, Any]) -> list[Any]:
            kinds.update(block["type"] for block in params["prompt"])
            return super().blocks_of(params)

    report = await judged(OnlyImages)
    assert statuses(report, "FAIL") == {}
    assert kinds == {"text", "resource_link", "image"}


# --- what stands in a report


async def test_a_violation_has_the_lines_that_prove_it() -> None:
    class Ends(PlainV1):
        def cancelled_reason(self) -> str:
            return "end_turn"

    report = await judged(Ends)
    (finding,) = report.findings
    assert finding.root.deciding is not None
    asked, answered = (entry.message for entry in finding.root.deciding.evidence)
    assert asked["method"] == "session/cancel"
    assert answered["result"] == {"stopReason": "end_turn"}


async def test_one_thing_that_is_wrong_is_one_finding() -> None:
    class Closed(PlainV1):
        async def on_session_new(self, params: dict[str, Any]) -> Any:
            del params
            raise Refused(-32603, "Internal error")

    report = await judged(Closed)
    (finding,) = report.findings
    assert finding.root.rule.id == "ACP-SESSION-001"
    assert "ACP-PROMPT-001" in {outcome.rule.id for outcome in finding.fell}


async def test_an_agent_that_dies_of_bad_lines_is_judged_by_all_else() -> None:
    class Frail(PlainV1):
        async def take_broken(self, _line: bytes) -> None:
            raise SystemExit(1)

    report = await judged(Frail)
    assert statuses(report, "FAIL") == {}
    notes = statuses(report, "PASS")
    assert "nothing is answered after it" in notes["ACP-INFO-PARSE-001"]
    assert "goes on" in notes["ACP-INFO-INVALIDREQ-001"]


@rows("id_", ["ACP-INIT-004", "ACP-STDERR-001", "ACP-INFO-UNKNOWNSESSION-001"])
async def test_one_rule_alone_can_be_asked_for(id_: str) -> None:
    report = await check_agent(PlainV1, Options(only=(id_,)))
    (outcome,) = report.outcomes
    assert outcome.status == "PASS"
    assert report.processes <= 2
