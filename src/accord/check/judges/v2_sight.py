"""Where judges of v2 and June find things in a case: handshakes, prompts, turns, updates, whoever played them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, Record, is_answer, is_state, is_update, messages_in
from accord.check.rule import EditionName
from accord.check.talk import StepFailed

__all__ = [
    "BOTH",
    "CHUNKS",
    "HISTORY",
    "JUNE",
    "MESSAGES",
    "STOP_REASONS",
    "TOOLS",
    "V2",
    "VERSION",
    "Asked",
    "Told",
    "asked",
    "asked_in",
    "handshake",
    "handshakes",
    "idle_behind",
    "is_extension",
    "is_whole",
    "next_about",
    "played_or_broken",
    "prompts_of",
    "recorded",
    "told",
    "unending",
]

V2: tuple[EditionName, ...] = ("v2",)
VERSION = 2
JUNE: tuple[EditionName, ...] = ("v2_june",)
BOTH: tuple[EditionName, ...] = ("v2_june", "v2")

STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"}
MESSAGES = ("user_message", "agent_message", "agent_thought")
CHUNKS = tuple(f"{kind}_chunk" for kind in MESSAGES)
TOOLS = ("tool_call_update", "tool_call_content_chunk")
HISTORY = (*MESSAGES, *CHUNKS, *TOOLS, "plan_update", "compaction_update", "compaction_summary_chunk")
"""What happened, in contrast to how things stand: a session that is resumed tells the latter only."""


class Asked(NamedTuple):
    """A request of ours, and its first answer where there is one."""

    record: Record | Played
    entry: Entry
    params: dict[str, Any]
    answer_entry: Entry | None
    answer: dict[str, Any]

    @property
    def result(self) -> dict[str, Any] | None:
        """What came of it, if that is an object."""
        result = self.answer.get("result")
        return result if isinstance(result, dict) else None


class Told(NamedTuple):
    """An update, and where it stands."""

    record: Record
    entry: Entry
    session: Any
    update: dict[str, Any]


def _ours(entry: Entry, method: str) -> bool:
    message = entry.message
    return entry.sent and isinstance(message, dict) and message.get("method") == method and "id" in message


def _answered(record: Record | Played, entry: Entry) -> Asked:
    params = entry.message.get("params")
    params = params if isinstance(params, dict) else {}
    for line, message in messages_in(record.entries[entry.place :]):
        if is_answer(message, entry.message["id"]):
            return Asked(record, entry, params, line, message)
    return Asked(record, entry, params, None, {})


def asked(case: Case, method: str) -> list[Asked]:
    """Every request of ours by a method, in all processes."""
    return [_answered(record, entry) for record in case.records for entry in record.entries if _ours(entry, method)]


def asked_in(played: Played, method: str) -> list[Asked]:
    """Every request of ours by a method in one step, also in one that was not played to its end."""
    return [_answered(played, entry) for entry in played.entries[played.start : played.end] if _ours(entry, method)]


def prompts_of(case: Case, name: str) -> list[Asked]:
    """The prompts of a step; a session that could not be opened is what is wrong then.

    Raises:
        StepFailed: There was no prompt.
        Unseen: The step was not played.
    """
    played = case.begun(name)
    prompts = asked_in(played, "session/prompt")
    if not prompts:
        raise played.failure or Unseen(f"{name} has no prompt")
    return prompts


def idle_behind(asked: Asked) -> Entry | None:
    """Where the session of a prompt became idle behind it (v2)."""
    for entry, message in messages_in(asked.record.entries[asked.entry.place :]):
        if is_state(message, asked.params.get("sessionId"), "idle"):
            return entry
    return None


def handshakes(case: Case) -> list[Asked]:
    """Every handshake, in all processes, that asked for the version of the edition and got it.

    Raises:
        StepFailed: Not even the first one succeeded.
        Unseen: The agent speaks another version, in the shape of that.
    """
    _, result = handshake(case)
    if result.get("protocolVersion") != VERSION:
        raise Unseen("the agent speaks another version")
    found = [each for each in asked(case, "initialize") if each.params.get("protocolVersion") == VERSION]
    return [each for each in found if (each.result or {}).get("protocolVersion") == VERSION]


def handshake(case: Case) -> tuple[Asked, dict[str, Any]]:
    """The first handshake, of a client that offers nothing, and its result.

    Raises:
        StepFailed: It did not succeed.
    """
    (first, *_) = asked_in(case.begun("meet"), "initialize")
    if first.result is None:
        evidence = (first.entry,) if first.answer_entry is None else (first.entry, first.answer_entry)
        raise StepFailed("the handshake did not succeed", "ACP-INIT-001", *evidence)
    return first, first.result


def next_about(record: Record | Played, session: Any, since: int) -> int:
    """The place where we next named a session or began any turn, from a place on.

    What is said behind it may be the answer to that. What an agent tells of the session in a turn of another one has a
    rule of its own.
    """
    for entry in record.entries[since:]:
        message = entry.message if entry.sent and isinstance(entry.message, dict) else {}
        params = message.get("params")
        is_about_it = isinstance(params, dict) and params.get("sessionId") == session
        if is_about_it or message.get("method") == "session/prompt":
            return entry.place
    return len(record.entries)


def told(case: Case, *kinds: str) -> Iterator[Told]:
    """The updates of some kinds, or all, of all sessions in all processes."""
    for record, entry, message in case.messages():
        if is_update(message, None, *kinds):
            yield Told(record, entry, message["params"].get("sessionId"), message["params"]["update"])


def played_or_broken(case: Case, name: str, message: str) -> Played:
    """A step that was played to its end; where it failed though plain turns do not, that is a violation.

    Raises:
        Violation: It failed by itself.
        StepFailed: It failed as everything does.
        Unseen: It made no sense with this agent.
    """
    played, turns = case.begun(name), case.begun("turns")
    failure = played.failure
    if failure is None:
        return played
    if turns.failure is not None or failure.blame in {"ACP-INIT-001", "ACP-SESSION-001"}:
        raise failure
    raise Violation(f"{message}: {failure.reason}", *failure.evidence)


def recorded(case: Case, name: str) -> Played:
    """A step for what is only recorded: where it failed there is nothing to record, and that is no failure again.

    Raises:
        StepFailed: Not even the handshake succeeded.
        Unseen: It was not played to its end.
    """
    failure = case.begun(name).failure
    if failure is not None and failure.blame != "ACP-INIT-001":
        raise Unseen(failure.reason)
    return case.step(name)


def unending(case: Case, rule: str) -> str:
    """Whom to blame for a turn that did not end: a rule, unless no turn of the agent ever does."""
    turns = case.steps.get("turns")
    blame = turns.failure.blame if turns is not None and turns.failure is not None else ""
    return blame if blame in {"ACP-STATE-202", "ACP-PROMPT-001", "ACP-PROMPT-201"} else rule


def is_whole(value: Any) -> bool:
    """Whether something is a text that is not empty."""
    return isinstance(value, str) and bool(value)


def is_extension(word: Any) -> bool:
    """Whether a word is private."""
    return isinstance(word, str) and word.startswith("_")
