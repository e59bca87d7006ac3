"""The public kit's rules in June, on agents that keep them in usual and unusual ways, and on some that end."""

from __future__ import annotations

from typing import Any

import pytest

from accord.check import RULES, Options, Report, check_agent
from tests.check.faults.reference.agent_june import Batch, FullJune, PlainJune
from tests.limits import limit

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


async def judged(make: Any, **options: Any) -> Report:
    """A peer in this process, which needs no time."""
    seconds = {
        "timeout_seconds": limit(1),
        "turn_seconds": limit(1),
        "grace_seconds": limit(0.3),
        "quiet_seconds": 0.02,
    }
    chosen = {"cancel_prompt": "__hang__", **seconds, **options}
    return await check_agent(make, Options(edition="v2_june", only=KIT, start_seconds=limit(1), **chosen))


# --- the manifest


def test_every_row_is_one_of_the_kit() -> None:
    kit = {rule.id for rule in RULES if rule.edition in {"v1", "v2"}}
    rows = [rule for rule in RULES if rule.edition == "v2_june" and rule.id.startswith(KIT)]
    assert {rule.id for rule in rows} - kit == set()
    assert len({rule.id for rule in rows}) == len(rows)


def test_the_batches_are_judged_here() -> None:
    rows = {rule.id: rule for rule in RULES if rule.edition == "v2_june"}
    superseded = [rule.id for rule in RULES if rule.edition == "v2" and rule.superseded]
    assert superseded
    assert [id_ for id_ in superseded if id_ not in rows or rows[id_].superseded] == []


# --- what the rules leave open


class AnswersBatchesBackwards(PlainJune):
    def answer_batch(self, batch: Batch) -> None:
        batch.replies.reverse()
        super().answer_batch(batch)


class SpeaksOfItsCommandsBehindALoad(FullJune):
    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        await super().after_answer(id_, method, params, result)
        if method == "session/load":
            update = {"sessionUpdate": "available_commands_update", "availableCommands": []}
            self.notify("session/update", {"sessionId": params["sessionId"], "update": update})


class HasAMethodOfItsOwn(PlainJune):
    async def at_start(self) -> None:
        await super().at_start()
        self.notify("_example.com/mood", {"mood": 5})


@pytest.mark.parametrize("make", [AnswersBatchesBackwards, SpeaksOfItsCommandsBehindALoad, HasAMethodOfItsOwn])
async def test_what_is_unusual_and_allowed_is_no_failure(make: Any) -> None:
    report = await judged(make)
    assert statuses(report, "FAIL") == {}
    assert report.conformant


async def test_a_turn_that_ends_by_itself_is_not_held_against_its_agent() -> None:
    report = await judged(FullJune, cancel_prompt="Hello")
    assert statuses(report, "FAIL") == {}
    for id_ in ("ACP-CANCEL-001", "ACP-CANCEL-206", "ACP-CLOSE-002"):
        assert "--cancel-prompt" in statuses(report, "SKIPPED")[id_]


# --- agents that end


class Mortal(PlainJune):
    """Has nothing of its own that would survive it."""

    def capabilities(self) -> dict[str, Any]:
        return {"session": {}, "auth": {}}


async def test_an_agent_that_ends_at_once_has_one_thing_wrong() -> None:
    class Ends(Mortal):
        async def at_start(self) -> None:
            raise SystemExit(1)

    report = await judged(Ends)
    assert [finding.root.rule.id for finding in report.findings] == ["ACP-INIT-001"]


async def test_an_agent_that_ends_at_a_prompt_has_one_thing_wrong() -> None:
    class Ends(Mortal):
        async def take_request(self, message: dict[str, Any]) -> None:
            if message["method"] == "session/prompt":
                raise SystemExit(1)
            await super().take_request(message)

    report = await judged(Ends)
    roots = [finding.root.rule for finding in report.findings]
    assert [rule.id for rule in roots if rule.tier != "informational"] == ["ACP-PROMPT-001"]


async def test_an_agent_that_ends_at_an_array_is_judged_in_everything_else() -> None:
    class Ends(Mortal):
        async def take_array(self, _messages: list[Any]) -> None:
            raise SystemExit(1)

    report = await judged(Ends)
    assert set(statuses(report, "FAIL")) == {"ACP-BATCH-201", "ACP-JSONRPC-005"}
    assert "ended" in statuses(report, "SKIPPED")["ACP-BATCH-203"]


async def test_an_agent_without_batches_fails_the_rules_about_them_and_no_others() -> None:
    class Refuses(PlainJune):
        async def take_array(self, _messages: list[Any]) -> None:
            self.refuse(None, -32600, "Invalid request")

    report = await judged(Refuses)
    assert set(statuses(report, "FAIL")) == {f"ACP-BATCH-20{number}" for number in (2, 3, 4, 5)}
