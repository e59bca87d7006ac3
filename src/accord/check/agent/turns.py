"""Turns in the evidence of a check of an agent: prompts, their ends and their updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from accord.check.agent.queries import RecordedRequest, RecordedUpdate, as_dict, our_requests_in, updates_of
from accord.check.engine.evidence import (
    Entry,
    Evidence,
    Inconclusive,
    Record,
    StepResult,
    Violation,
    is_answer,
    is_state,
    messages_in,
    skip_unless,
)


class RecordedTurn(NamedTuple):
    """One prompt of ours and its answer."""

    record: Record
    session: Any
    asked: Entry
    answered: Entry | None
    answer: dict[str, Any]
    end: int
    """The place in the record where its session is named again or another turn begins, or where the record ends."""
    is_cancelled: bool
    """Whether we cancelled something in the session before its answer."""

    @property
    def is_whole(self) -> bool:
        """Whether it ended by itself."""
        return self.answered is not None and isinstance(self.answer.get("result"), dict) and not self.is_cancelled


STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"}

TURN_KINDS = (
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
)
"""The updates that are part of a turn, and of history; others may come at any time."""


def turns_in(evidence: Evidence) -> Iterator[RecordedTurn]:
    """Every prompt that was sent by itself to a session."""
    for record in evidence.records:
        for entry, message in messages_in(record.entries, sent=True):
            if message.get("method") == "session/prompt" and "id" in message and isinstance(entry.message, dict):
                yield _turn(record, entry, message)


def _turn(record: Record, entry: Entry, message: dict[str, Any]) -> RecordedTurn:
    session = as_dict(message.get("params")).get("sessionId")
    answered, answer = None, {}
    for line, said in messages_in(record.entries[entry.place :]):
        if is_answer(said, message["id"]):
            answered, answer = line, said
            break
    since = answered.place if answered is not None else len(record.entries)
    end, is_cancelled = len(record.entries), False
    for line, said in messages_in(record.entries[entry.place + 1 :], sent=True):
        is_about_it = as_dict(said.get("params")).get("sessionId") == session
        # Updates during a turn of another session belong to that turn: `ACCORD-SESSION-004` judges them.
        if line.place > since and (is_about_it or said.get("method") == "session/prompt"):
            end = line.place
            break
        is_cancelled = is_cancelled or is_about_it
    return RecordedTurn(record, session, entry, answered, answer, end, is_cancelled)


def heeds_cancel(evidence: Evidence, but: Any) -> bool:
    """Whether every other turn that we cancelled at work ended as `cancelled`: otherwise another rule is broken."""
    for turn in turns_in(evidence):
        if turn.session != but and turn.answered is not None:
            part = turn.record.entries[turn.asked.place : turn.answered.place]
            reason = as_dict(turn.answer.get("result")).get("stopReason")
            if reason != "cancelled" and _is_cancelled_while_it_works(part, turn.session):
                return False
    return True


def _is_cancelled_while_it_works(part: list[Entry], session: Any) -> bool:
    """Whether we cancelled something in a part of a record while the agent waited for no answer of ours."""
    open_: set[str] = set()
    for entry in part:
        message = as_dict(entry.message)
        if entry.sent and message.get("method") == "session/cancel":
            if as_dict(message.get("params")).get("sessionId") == session:
                return not open_
        elif entry.sent:
            open_.discard(str(message.get("id")))
        elif "method" in message and "id" in message:
            open_.add(str(message["id"]))
    return False


def prompts_of(evidence: Evidence, name: str) -> list[RecordedRequest]:
    """The prompts of a step; without any, the failure of the step is raised."""
    run = evidence.begun(name)
    prompts = our_requests_in(run, "session/prompt")
    if not prompts:
        raise run.failure or Inconclusive(f"{name} has no prompt")
    return prompts


def idle_behind(asked: RecordedRequest) -> Entry | None:
    """Where the session of a prompt became idle behind it (v2)."""
    for entry, message in messages_in(asked.record.entries[asked.entry.place :]):
        if is_state(message, asked.params.get("sessionId"), "idle"):
            return entry
    return None


def next_about(record: Record | StepResult, session: Any, since: int) -> int:
    """The place where we next named a session or began any turn, from a place on.

    Messages behind it may be a reaction to that. Updates of the session during a turn of another one have a rule of
    their own.
    """
    for entry in record.entries[since:]:
        message = entry.message if entry.sent and isinstance(entry.message, dict) else {}
        params = message.get("params")
        is_about_it = isinstance(params, dict) and params.get("sessionId") == session
        if is_about_it or message.get("method") == "session/prompt":
            return entry.place
    return len(record.entries)


def completed_or_broken(evidence: Evidence, name: str, message: str) -> StepResult:
    """The run of a completed step; a failure is a violation where plain turns do not fail."""
    run, turns = evidence.begun(name), evidence.begun("turns")
    failure = run.failure
    if failure is None:
        return run
    if turns.failure is not None or failure.blame in {"ACP-INIT-001", "ACP-SESSION-001"}:
        raise failure
    raise Violation(f"{message}: {failure.reason}", *failure.evidence)


def recorded(evidence: Evidence, name: str) -> StepResult:
    """The run of a step whose outcome is only recorded: a failed step skips the judge."""
    failure = evidence.begun(name).failure
    if failure is not None and failure.blame != "ACP-INIT-001":
        raise Inconclusive(failure.reason)
    return evidence.step(name)


def unending(evidence: Evidence, rule: str) -> str:
    """The rule to blame for a turn that did not end: the given one, unless plain turns do not end either."""
    turns = evidence.steps.get("turns")
    blame = turns.failure.blame if turns is not None and turns.failure is not None else ""
    return blame if blame in {"ACP-STATE-202", "ACP-PROMPT-001", "ACP-PROMPT-201"} else rule


def until_asked(run: StepResult, place: int) -> int | None:
    """The place behind another at which we next asked something of the step's session, or began any turn; or None.

    Updates of the session during a turn of another one belong to that turn, which has a rule of its own.
    """
    for entry, message in messages_in(run.entries[place + 1 :], sent=True):
        params = message.get("params")
        is_about_it = "id" in message and isinstance(params, dict) and params.get("sessionId") == run["session"]
        if is_about_it or message.get("method") == "session/prompt":
            return entry.place
    return None


def updates_in_turns(evidence: Evidence, *kinds: str) -> list[RecordedUpdate]:
    prompts_of(evidence, "turns")
    found = list(updates_of(evidence, *kinds))
    skip_unless(found, "the agent sent nothing of that kind")
    return found
