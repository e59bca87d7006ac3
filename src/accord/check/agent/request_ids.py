"""Ids of requests: large, odd, used again, used by both sides."""

from __future__ import annotations

from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import (
    LATE,
    NO_SESSION,
    line_step,
    settle,
    wait_for_answers,
    wait_for_question,
    wait_or_none,
)
from accord.check.agent.lines import BIG_ID, each_line_gets, line_is_answered, line_reaction
from accord.check.agent.queries import code_of, key_of
from accord.check.engine.evidence import Evidence, Inconclusive, Violation, skip_unless
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.engine.record import INVALID_REQUEST, Entry, Record, is_answer, messages_in
from accord.check.rule import SESSIONS, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-WIRE-005", "AA-", "#RequestId", "An id beyond 2**53 comes back digit by digit"),
    RuleRow("ACCORD-WIRE-010", "II-", "#RequestId", "What happens to requests whose id is null or a fraction"),
    RuleRow("ACCORD-WIRE-206", "--M", "#RequestId",
        says="A request whose id is null, a fraction or no scalar is refused with -32600 and the id null"),
    RuleRow("ACCORD-WIRE-212", "--M", "#RequestId", "A request is answered once, never twice"),
    RuleRow("ACCORD-WIRE-213", "--M", "#RequestId",
        says="The ids of an agent's own requests are strings or integers, and none is used again while it waits"),
    RuleRow("ACCORD-WIRE-216", "--C", "#RequestId", gate="session",
        says="An id that the agent uses for a request of its own may be used by the client at the same time"),
    RuleRow("ACCORD-WIRE-217", "--A", "#RequestId", "An id may be used again when its request was answered"),
)
# fmt: on


BAD_IDS = {"null": b"null", "a fraction": b"1.5", "a list": b"[1]", "a boolean": b"true"}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_same_ids(agent: AgentConversation) -> Notes:
    """While the agent waits for a permission, a request has the id of its question."""
    session = await agent.new()
    since = agent.now
    with agent.replying(session__request_permission=lambda _: None):
        prompt = agent.prompt(session, agent.tool_prompt)
        asked = await wait_for_question(agent, "session/request_permission", session, since, prompt)
        if asked is None:
            await wait_for_answers(agent, prompt)
            return {"session": session}
        id_ = asked.message["id"]
        place = agent.wire.send_json(
            {"jsonrpc": "2.0", "id": id_, "method": "session/close", "params": {"sessionId": NO_SESSION}}
        )
        await wait_for_answers(agent, id_)
        agent.notify("session/cancel", {"sessionId": session})
        idle = await settle(agent, session, place)
    return {"session": session, "id": id_, "place": place, "asked": asked, "idle": idle}


_BAD_ID = b'{"jsonrpc":"2.0","id":%b,"method":"session/close","params":{"sessionId":"accord-check-no-such-session"}}'
line_step("v2_bad_ids", "ACCORD-WIRE-206", {name: _BAD_ID % id_ for name, id_ in BAD_IDS.items()}, are_refused=True)


@step("bare", editions=V2, order=LATE)
async def v2_ids_again(agent: AgentConversation) -> Notes:
    """One id for two requests, one after the other."""
    id_ = agent.ask("session/close", {"sessionId": NO_SESSION}, "accord-check-again")
    await agent.answer(id_)
    since = agent.now
    agent.ask("session/close", {"sessionId": NO_SESSION}, id_)
    await wait_or_none(agent, lambda entry: is_answer(entry.message, id_), since, agent.options.timeout_seconds)
    return {"id": id_, "since": since}


@judge("ACCORD-WIRE-010", steps=("odd_lines",))
def what_comes_of_strange_ids(evidence: Evidence) -> str:
    return f"null: {line_reaction(evidence, 'a null id')}; a fraction: {line_reaction(evidence, 'a fraction as id')}"


@judge("ACCORD-WIRE-212", steps=("meet",))
def requests_are_answered_once(evidence: Evidence) -> None:
    for record in evidence.records:
        asked = [key_of(each["id"]) for _, each in messages_in(record.entries, sent=True) if _asks(each)]
        counts: dict[str, int] = {}
        for entry, each in messages_in(record.entries):
            key = key_of(each.get("id"))
            if "method" in each or key not in asked or key == key_of(None):
                continue
            counts[key] = counts.get(key, 0) + 1
            if counts[key] > asked.count(key):
                raise Violation(f"request {each['id']!r} was answered once more", entry)


def _asks(message: dict[str, Any]) -> bool:
    return "method" in message and "id" in message


@judge("ACCORD-WIRE-213", steps=("v2_finished_things",))
def own_ids_are_good(evidence: Evidence) -> None:
    own = [_own_ids(record) for record in evidence.records]
    skip_unless(any(own), "the agent asked for nothing")


def _own_ids(record: Record) -> int:
    """The number of requests that the agent made in a process; checks their ids."""
    waiting: set[str] = set()
    count = 0
    for entry in record.entries:
        for _, each in messages_in([entry], sent=entry.sent):
            if entry.sent and "method" not in each:
                waiting.discard(key_of(each.get("id")))
            elif not entry.sent and _asks(each):
                count += 1
                _look_at_id(each["id"], waiting, entry)
                waiting.add(key_of(each["id"]))
    return count


def _is_id(id_: Any) -> bool:
    return isinstance(id_, (str, int)) and not isinstance(id_, bool)


def _look_at_id(id_: Any, waiting: set[str], entry: Entry) -> None:
    if not _is_id(id_):
        raise Violation(f"{id_!r} is no id for a request", entry)
    if key_of(id_) in waiting:
        raise Violation(f"{id_!r} is the id of another request that still waits", entry)


@judge("ACCORD-WIRE-216", steps=("v2_same_ids",))
def ids_have_a_direction(evidence: Evidence) -> None:
    run = evidence.step("v2_same_ids")
    if run.get("asked") is None:
        raise Inconclusive("no permission was asked for")
    skip_unless(_is_id(run["id"]), "the id of the agent is one that no client may use")
    if not run.answers(run["id"]):
        raise Violation("the request was not answered", run["asked"], run.entries[run["place"]])


@judge("ACCORD-WIRE-217", steps=("v2_ids_again",))
def ids_can_be_used_again(evidence: Evidence) -> None:
    run = evidence.step("v2_ids_again")
    answers = run.answers(run["id"])
    second = [(entry, each) for entry, each in answers if entry.place > run["since"]]
    if not second:
        raise Violation("the second request was not answered", answers[0][0], run.entries[run["since"]])
    if code_of(second[0][1]) == INVALID_REQUEST:
        raise Violation("the second request was refused", run.entries[run["since"]], second[0][0])


judge_rows(
    line_is_answered,
    ("ACCORD-WIRE-005", "a_large_id_comes_back_digit_by_digit", "a large id", BIG_ID),
    steps=("odd_lines",),
)
judge_rows(each_line_gets, ("ACCORD-WIRE-206", "bad_ids_are_refused", "v2_bad_ids", INVALID_REQUEST))
