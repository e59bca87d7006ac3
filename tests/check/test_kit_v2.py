"""The public kit's rules of v2 on agents that keep them, in usual ways and in others, and on some that end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from accord.check import RULES, Options, Report, check_agent
from tests.check.faults.reference.agent_v2 import FullV2, PlainV2
from tests.check.faults.reference.agent_v2_sessions import HeldPrompt, OpenSession
from tests.check.faults.reference.raw import Refused
from tests.limits import limit

KIT = ("ACP-",)
# These agents have no settings that anybody else uses.
TOUCH: dict[str, Any] = {"touch_model": True, "touch_permission": True}
QUICK = {
    "cancel_prompt": "__hang__",
    "timeout_seconds": limit(1),
    "turn_seconds": limit(1),
    "start_seconds": limit(1),
    "grace_seconds": limit(0.3),
    "quiet_seconds": 0.02,
}


def statuses(report: Report, *wanted: str) -> dict[str, str]:
    """By id why a rule has one of some statuses."""
    return {
        outcome.rule.id: outcome.deciding.message if outcome.deciding else ""
        for outcome in report.outcomes
        if outcome.status in wanted
    }


async def judged(make: Any, **options: Any) -> Report:
    """A peer in this process, which needs no time."""
    return await check_agent(make, Options(edition="v2", only=KIT, **{**QUICK, **options}))


# --- the manifest


def test_every_row_of_the_kit_is_there() -> None:
    rules = [rule for rule in RULES if rule.edition == "v2" and rule.id.startswith(KIT)]
    assert len({rule.id for rule in rules}) == len(rules) == 106
    assert Counter(rule.tier for rule in rules) == {
        "mandatory": 19,
        "capability": 51,
        "advisory": 20,
        "informational": 16,
    }


async def test_what_november_says_otherwise_about_batches_is_reported_and_not_judged() -> None:
    rows = statuses(await judged(PlainV2), "SUPERSEDED")
    assert set(rows) == {f"ACP-BATCH-20{number}" for number in (2, 3, 4, 5, 6, 8)}


# --- what the rules leave open


class HasNoOldVersion(PlainV2):
    versions = (2,)


class EndsForAReasonOfItsOwn(PlainV2):
    def tell_idle(self, session: OpenSession, reason: str) -> None:
        super().tell_idle(session, "_example.com/tired" if reason == "end_turn" else reason)


class GivesNoReasonForAnEnd(PlainV2):
    def state_update(self, session: OpenSession, **more: Any) -> Any:
        if more.get("stopReason") == "end_turn":
            del more["stopReason"]
        return super().state_update(session, **more)


class BeginsWithAQuestion(PlainV2):
    def tell_running(self, session: OpenSession) -> None:
        session.state = "requires_action"
        self.tell_state(session)


class SaysTwiceThatItIsIdle(PlainV2):
    def tell_idle(self, session: OpenSession, reason: str) -> None:
        super().tell_idle(session, reason)
        super().tell_idle(session, reason)


class NoticesBehindAReplay(PlainV2):
    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        await super().after_answer(id_, method, params, result)
        if method == "session/resume":
            update = {"sessionUpdate": "notice", "severity": "info", "title": "Welcome back"}
            self.update(params["sessionId"], update)
            self.update(params["sessionId"], {"sessionUpdate": "available_commands_update", "availableCommands": []})


class KnowsNoSessionFromBefore(PlainV2):
    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        raise Refused(-32002, "Session not found", {"sessionId": params["sessionId"]})


class HasAnUpdateAndAMethodOfItsOwn(PlainV2):
    async def reply(self, session: OpenSession, prompt: HeldPrompt) -> None:
        await super().reply(session, prompt)
        self.update(session.id, {"sessionUpdate": "_example.com/mood", "mood": 5})
        self.notify("_example.com/mood", {"mood": 5})


class NamesItsToolCallInTheQuestion(FullV2):
    def tell_tool(self, session: OpenSession, id_: str) -> None:
        session.kept.keep({"sessionUpdate": "tool_call_update", **self.tool(session, id_)})

    def question(self, session: OpenSession, id_: str) -> dict[str, Any]:
        question = super().question(session, id_)
        return {**question, "subject": {"type": "tool_call", "toolCall": self.tool(session, id_)}}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "make",
    [
        HasNoOldVersion,
        EndsForAReasonOfItsOwn,
        GivesNoReasonForAnEnd,
        BeginsWithAQuestion,
        SaysTwiceThatItIsIdle,
        NoticesBehindAReplay,
        KnowsNoSessionFromBefore,
        HasAnUpdateAndAMethodOfItsOwn,
        NamesItsToolCallInTheQuestion,
    ],
)
async def test_what_is_unusual_and_allowed_is_no_failure(make: Any) -> None:
    report = await judged(make)
    assert statuses(report, "FAIL") == {}
    assert report.conformant


async def test_a_turn_that_ends_by_itself_is_not_held_against_its_agent() -> None:
    report = await judged(FullV2, cancel_prompt="Hello", timeout_seconds=10.0, turn_seconds=10.0)
    assert statuses(report, "FAIL") == {}
    for id_ in ("ACP-CANCEL-201", "ACP-CANCEL-206", "ACP-CLOSE-202"):
        assert "--cancel-prompt" in statuses(report, "SKIPPED")[id_]


async def test_an_agent_that_speaks_version_one_only_is_blocked_and_not_broken() -> None:
    class Old(PlainV2):
        versions = (1,)

    report = await judged(Old)
    assert report.blocked_by_version
    assert not report.conformant
    assert statuses(report, "FAIL") == {}


async def test_an_agent_that_wants_a_login_cannot_be_judged_without() -> None:
    class Locked(FullV2):
        def __init__(self) -> None:
            super().__init__()
            self.is_logged_in = False

    locked = await judged(Locked)
    assert statuses(locked, "FAIL") == {}
    assert locked.blocked_by_auth
    assert not locked.conformant
    opened = await judged(Locked, auth_method="token")
    assert statuses(opened, "FAIL") == {}
    assert opened.conformant


# --- agents that end


async def test_an_agent_that_ends_at_once_has_one_thing_wrong() -> None:
    class Ends(PlainV2):
        async def at_start(self) -> None:
            raise SystemExit(1)

    report = await judged(Ends)
    assert [finding.root.rule.id for finding in report.findings] == ["ACP-INIT-001"]
    assert not report.conformant


async def test_an_agent_that_ends_at_a_prompt_has_one_thing_wrong() -> None:
    class Ends(PlainV2):
        def take_prompt(self, _request: Any, _params: Any) -> None:
            raise SystemExit(1)

    report = await judged(Ends)
    roots = [finding.root.rule for finding in report.findings]
    assert [rule.id for rule in roots if rule.tier != "informational"] == ["ACP-PROMPT-201"]


async def test_an_agent_that_ends_at_an_array_is_judged_in_everything_else() -> None:
    class Ends(PlainV2):
        async def take_array(self, _messages: list[Any]) -> None:
            raise SystemExit(1)

    report = await judged(Ends)
    assert set(statuses(report, "FAIL")) == {"ACP-BATCH-201", "ACP-JSONRPC-005"}
    assert "ended" in statuses(report, "SKIPPED")["ACP-INFO-BATCH-202"]


async def test_a_line_that_nobody_ended_is_seen() -> None:
    class LeavesAPiece(PlainV2):
        async def at_end(self) -> None:
            await super().at_end()
            self.write(b'{"jsonrpc":')

    assert set(statuses(await judged(LeavesAPiece), "FAIL")) == {"ACP-TRANSPORT-201"}


async def test_the_proof_of_a_failure_is_in_the_report() -> None:
    class Speaks(PlainV2):
        def tell_idle(self, session: OpenSession, _reason: str) -> None:
            super().tell_idle(session, "bored")

    report = await judged(Speaks)
    (finding,) = [each for each in report.findings if each.root.rule.id == "ACP-STATE-203"]
    assert finding.root.deciding is not None
    prompt, idle = finding.root.deciding.evidence
    assert prompt.message["method"] == "session/prompt"
    assert idle.message["params"]["update"]["stopReason"] == "bored"
