"""Our own rules for agents in v2: who keeps them, what of them can be seen, and how their judges read patches."""

from __future__ import annotations

import re
from typing import Any

import pytest

from accord.check import RULES, Options, Report, check_agent
from accord.check.agent import tools
from accord.check.agent.conversation import STEPS
from accord.check.agent.queries import RecordedUpdate, entities, is_absolute
from accord.check.engine.evidence import Entry, Record
from accord.check.engine.judging import judges_of
from tests.check.faults import FAULTS
from tests.check.faults.reference.agent_v2 import FullV2, PlainV2
from tests.limits import limit
from tests.tables import rows

OURS = ("ACCORD-",)
PATCH = """diff --git /w/a.txt /w/b.txt
similarity index 50%
rename from /w/a.txt
rename to /w/b.txt
--- /w/a.txt
+++ /w/b.txt
@@ -1,2 +1,2 @@
--- a/looks like a head
-old
+++ b/looks like one too
+new
diff --git /w/c.txt /w/c.txt
new file mode 100644
--- /dev/null
+++ /w/c.txt
@@ -0,0 +1 @@
+c
"""


def quick() -> Options:
    return Options(
        edition="v2",
        only=OURS,
        cancel_prompt="__hang__",
        timeout_seconds=limit(2),
        turn_seconds=limit(2),
        start_seconds=limit(2),
        grace_seconds=limit(0.3),
        quiet_seconds=0.005,
    )


def with_status(report: Report, status: str) -> dict[str, str]:
    return {
        outcome.rule.id: outcome.deciding.message if outcome.deciding else ""
        for outcome in report.outcomes
        if outcome.status == status
    }


# --- agents that keep the rules


@pytest.mark.parametrize("agent", [PlainV2, FullV2])
async def test_an_agent_by_hand_keeps_all_of_them(agent: Any) -> None:
    report = await check_agent(agent, quick())
    assert with_status(report, "FAIL") == {}
    assert with_status(report, "NOT_TESTED") == {}


async def test_with_an_agent_that_does_everything_nearly_every_rule_can_be_seen() -> None:
    report = await check_agent(FullV2, quick())
    assert with_status(report, "SKIPPED").keys() == {"ACCORD-MCP-202", "ACCORD-PROMPT-202", "ACCORD-STATE-204"}


class Modest(FullV2):
    """Has no blocks and servers but the plainest, and fails in the end."""

    def session_capabilities(self) -> Any:
        return {}

    def stop_reason(self) -> str:
        return "error"

    def tell_idle(self, session: Any, reason: str) -> None:
        why = {"error": {"code": -32603, "message": "The model is gone"}} if reason == "error" else {}
        self.enter(session, "idle", stopReason=reason, **why)


async def test_what_an_agent_with_everything_cannot_show_is_shown_by_another() -> None:
    report = await check_agent(Modest, quick())
    assert with_status(report, "FAIL") == {}
    shown = with_status(report, "PASS")
    assert {"ACCORD-MCP-202", "ACCORD-PROMPT-202", "ACCORD-STATE-204"} <= shown.keys()


async def test_an_agent_without_sessions_is_judged_by_the_rest() -> None:
    class NoSessions(PlainV2):
        methods = frozenset({"initialize"})

        def capabilities(self) -> Any:
            return {}

    report = await check_agent(NoSessions, quick())
    assert with_status(report, "FAIL") == {}
    assert {"ACCORD-WIRE-202", "ACCORD-INIT-201"} <= with_status(report, "PASS").keys()


async def test_few_processes_are_enough() -> None:
    report = await check_agent(FullV2, quick())
    assert report.processes <= 10


# --- the manifest


# The rules of the transport have tests of their own: test_server_faults.py.
RULES_OF_OURS = [
    rule for rule in RULES if rule.edition == "v2" and rule.side == "agent" and re.match(r"ACCORD-(?!REMOTE)", rule.id)
]


def test_every_rule_says_one_sentence_and_names_a_page_of_v2() -> None:
    for rule in RULES_OF_OURS:
        assert re.fullmatch(r"[A-Z`$][^\n]+[^.\s]", rule.says), rule.id
        assert re.fullmatch(r"(protocol/v2/|schema/v2#/\$defs/)[A-Za-z-]+", rule.page), rule.id
        assert re.fullmatch(r"ACCORD-[A-Z]+-2\d\d", rule.id), rule.id


def test_every_rule_has_one_judge_and_a_fault() -> None:
    broken = {fault.breaks for fault in FAULTS if fault.edition == "v2"}
    for rule in RULES_OF_OURS:
        assert len(judges_of("v2", rule.id)) == 1, rule.id
        assert rule.id in broken, rule.id


def test_every_step_of_ours_is_needed_by_a_judge() -> None:
    ours = {step.name for step in STEPS.values() if step.name.startswith("v2_")}
    needed = {name for rule in RULES_OF_OURS for judge in judges_of("v2", rule.id) for name in judge.steps}
    assert ours <= needed


# --- how judges read


def test_what_stands_in_a_hunk_is_no_head_of_a_patch() -> None:
    paths = list(tools._paths(PATCH))
    assert paths == ["/w/a.txt", "/w/b.txt", "/w/a.txt", "/w/b.txt", "/w/c.txt"]


def test_quoted_paths_and_the_missing_side_are_left_out() -> None:
    assert list(tools._paths('--- /dev/null\n+++ "/w/\\303\\244.txt"\n')) == []


@rows(
    ("path", "is_so"),
    [
        ("/w", True),
        ("C:\\w", True),
        ("c:/w", True),
        ("\\\\server\\share", True),
        ("w", False),
        ("./w", False),
        ("C:w", False),
        ("", False),
        ("a/w", False),
        ("1:/w", False),
        (None, False),
        (7, False),
    ],
)
def test_absolute_paths_are_those_of_any_system(path: Any, is_so: Any) -> None:
    assert is_absolute(path) is is_so


def test_what_is_absent_stays_and_what_is_null_is_cleared() -> None:
    record = Record("1", [], b"", b"", "closed stdin", 0)
    updates: list[dict[str, Any]] = [
        {"toolCallId": "t", "status": "pending", "capabilities": {"cancel": {}}},
        {"toolCallId": "t", "status": "completed"},
        {"toolCallId": "t", "capabilities": None},
        {"toolCallId": 7, "status": "failed"},
    ]
    entry = Entry(sent=False, seconds=0.0, raw=b"", message=None, place=0)
    told = [RecordedUpdate(record, entry, "s", {"sessionUpdate": "tool_call_update", **update}) for update in updates]
    found = entities(told, "toolCallId")
    assert found.keys() == {"t"}
    assert (found["t"]["status"], found["t"]["capabilities"]) == ("completed", None)
