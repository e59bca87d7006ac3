"""Our own rules for agents in v1 and in June: conforming agents keep them, and nonsense does not trip their judges."""

from __future__ import annotations

import re
from typing import Any

import pytest

from accord.check import RULES, Options, Report, check_agent
from accord.check.agent.queries import is_absolute, is_relative, offered
from accord.check.agent.turns import heeds_cancel, turns_in
from accord.check.engine.evidence import Entry, Evidence, Record, read_json
from accord.check.engine.judging import judges_of
from accord.check.rule import EditionName
from tests.check.faults.reference.agent_june import FullJune, PlainJune
from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.store import Session
from tests.limits import limit
from tests.tables import rows

OURS = ("ACCORD-",)
EDITIONS: tuple[EditionName, ...] = ("v1", "v2_june")


def quick(edition: EditionName) -> Options:
    return Options(
        edition=edition,
        only=OURS,
        cancel_prompt="__hang__",
        timeout_seconds=limit(1),
        turn_seconds=limit(1),
        start_seconds=limit(1),
        grace_seconds=limit(0.3),
        quiet_seconds=0.02,
        touch_model=True,
        touch_permission=True,
    )


def with_status(report: Report, status: str) -> dict[str, str]:
    return {
        outcome.rule.id: outcome.deciding.message if outcome.deciding else ""
        for outcome in report.outcomes
        if outcome.status == status
    }


# --- agents that keep the rules


@pytest.mark.parametrize(
    ("agent", "edition"), [(PlainV1, "v1"), (FullV1, "v1"), (PlainJune, "v2_june"), (FullJune, "v2_june")]
)
async def test_an_agent_by_hand_keeps_all_of_them(agent: Any, edition: EditionName) -> None:
    report = await check_agent(agent, quick(edition))
    assert with_status(report, "FAIL") == {}
    assert with_status(report, "NOT_TESTED") == {}


@pytest.mark.parametrize(("agent", "edition"), [(FullV1, "v1"), (FullJune, "v2_june")])
async def test_with_an_agent_that_does_everything_every_rule_can_be_seen(agent: Any, edition: EditionName) -> None:
    report = await check_agent(agent, quick(edition))
    assert with_status(report, "SKIPPED") == {"ACCORD-AUTH-003": "give --allow-logout"}


# --- agents that make no sense

NONSENSE: tuple[Any, ...] = (
    None,
    5,
    [],
    {},
    {"sessionUpdate": 5},
    {"sessionUpdate": "tool_call", "toolCallId": [], "locations": 5, "content": "x", "status": {}},
    {
        "sessionUpdate": "tool_call_update",
        "locations": [5, {"path": 5, "line": "x"}],
        "content": [None, {"type": "diff"}],
    },
    {"sessionUpdate": "tool_call_content_chunk", "content": 5},
    {"sessionUpdate": "plan", "entries": [5, {"content": []}]},
    {"sessionUpdate": "plan_update", "plan": "x"},
    {"sessionUpdate": "usage_update", "cost": {"amount": "x", "currency": 5}},
    {"sessionUpdate": "available_commands_update", "availableCommands": [5, {"name": 5}]},
    {"sessionUpdate": "agent_message_chunk", "messageId": {}, "content": [5]},
    {"sessionUpdate": "config_option_update", "configOptions": [5, {"options": [5, {"options": 5}]}]},
)


class _Nonsense(PlainV1):
    def show_message(self, session: Session, words: str) -> None:
        for update in NONSENSE:
            self.notify("session/update", {"sessionId": session.id, "update": update})
        self.notify("session/update", [])
        self.notify("session/update", {"sessionId": {}, "update": {}})
        for method in ("session/request_permission", "fs/read_text_file", "terminal/create", "elicitation/create"):
            requests: tuple[Any, ...] = (
                None,
                [],
                {"sessionId": {}, "options": 5, "toolCall": 5, "path": 5, "requestedSchema": []},
            )
            for params in requests:
                self.say({"jsonrpc": "2.0", "id": f"{method}-{params}", "method": method, "params": params})
        super().show_message(session, words)

    def settings(self, _session: Session) -> dict[str, Any]:
        return {"modes": 5, "configOptions": {"a": 1}}

    def auth_methods(self) -> list[dict[str, Any]]:
        return [5, {"type": []}]  # type: ignore[list-item]


class _NonsenseInJune(_Nonsense, PlainJune): ...


@pytest.mark.parametrize(("agent", "edition"), [(_Nonsense, "v1"), (_NonsenseInJune, "v2_june")])
async def test_no_judge_trips_over_nonsense(agent: Any, edition: EditionName) -> None:
    report = await check_agent(agent, quick(edition))
    tripped = {id_: why for id_, why in with_status(report, "FAIL").items() if "unexpected shape" in why}
    assert tripped == {}


# --- the manifest

# The rules of the transport have tests of their own: test_server_faults.py.
MANIFEST = [
    rule for rule in RULES if rule.edition != "v2" and rule.side == "agent" and re.match(r"ACCORD-(?!REMOTE)", rule.id)
]


@rows("edition", EDITIONS)
def test_every_rule_of_ours_has_a_judge_and_a_sentence(edition: EditionName) -> None:
    for rule in MANIFEST:
        assert rule.edition != edition or len(judges_of(edition, rule.id)) == 1, rule
        assert not rule.says.endswith("."), rule
        assert rule.page.startswith(("protocol/", "schema/")), rule


# --- what they look at


@rows("path", ["/notes.txt", "C:\\notes.txt", "C:/notes.txt", "\\\\host\\share\\notes.txt"])
def test_a_path_is_absolute_on_any_machine(path: str) -> None:
    assert is_absolute(path)


@rows("path", ["notes.txt", "./notes.txt", "", "C:notes.txt"])
def test_a_path_below_a_folder_is_relative(path: str) -> None:
    assert is_relative(path)


@rows("path", [5, None])
def test_a_path_that_is_no_text_is_neither(path: Any) -> None:
    assert not is_absolute(path)
    assert not is_relative(path)


def recorded(*lines: str) -> Evidence:
    """A case of one process: `>` is what we said, `<` what the agent said."""
    entries = [
        Entry(line[0] == ">", 0.0, line[2:].encode(), read_json(line[2:].encode()), place)
        for place, line in enumerate(lines)
    ]
    case = Evidence(Options())
    case.records.append(Record("01 bare", entries, b"", b"", "closed stdin", 0))
    return case


PROMPT = '> {"id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}}'
CANCEL = '> {"method": "session/cancel", "params": {"sessionId": "s"}}'
QUESTION = '< {"id": "q", "method": "session/request_permission", "params": {"sessionId": "s"}}'
ENDED = '< {"id": 1, "result": {"stopReason": "end_turn"}}'


def test_a_turn_reaches_to_the_next_word_to_its_session() -> None:
    case = recorded(PROMPT, ENDED, '< {"method": "session/update"}', PROMPT.replace('"id": 1', '"id": 2'))
    first, second = turns_in(case)
    assert (first.is_whole, first.end, second.answered) == (True, 3, None)


def test_a_turn_that_was_cancelled_is_not_whole() -> None:
    (turn,) = turns_in(recorded(PROMPT, CANCEL, ENDED))
    assert turn.is_cancelled
    assert not turn.is_whole


def test_a_cancellation_that_is_not_heeded_is_noticed() -> None:
    assert not heeds_cancel(recorded(PROMPT, CANCEL, ENDED), "another session")


@rows(
    "lines",
    [
        (PROMPT, ENDED),
        (PROMPT, CANCEL, ENDED.replace("end_turn", "cancelled")),
        (PROMPT, QUESTION, CANCEL, ENDED),
        (PROMPT, CANCEL.replace('"s"', '"t"'), ENDED),
    ],
)
def test_what_is_no_cancellation_at_work_says_nothing_about_cancellation(lines: tuple[str, ...]) -> None:
    assert heeds_cancel(recorded(*lines), "another session")


def test_what_was_offered_is_in_the_handshake() -> None:
    case = recorded('> {"id": 1, "method": "initialize", "params": {"clientCapabilities": {"terminal": true}}}')
    assert offered(case.records[0]) == {"terminal": True}
