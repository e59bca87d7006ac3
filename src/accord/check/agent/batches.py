"""Arrays of messages: batches in v1 and June, refused in v2."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from accord.check.agent.conversation import BARE, AgentConversation, step, text
from accord.check.agent.exchange import LATE, NO_SESSION, send_each
from accord.check.agent.lines import each_line_gets, line_reaction
from accord.check.agent.queries import code_of, handshake
from accord.check.agent.requests import RESPONSES
from accord.check.engine.evidence import (
    INVALID_REQUEST,
    Entry,
    Evidence,
    Inconclusive,
    StepFailed,
    StepResult,
    Violation,
    is_answer,
    is_update,
    messages_in,
)
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.engine.wire import Silence
from accord.check.rule import JUNE, JUNE_V2, NO_BATCHES, V2, RuleRow, agent_rules
from accord.time_scale import scaled

# fmt: off
RULES = agent_rules(
    RuleRow("ACP-BATCH-201", "-MM", "transports", "An empty array is answered with one error -32600 without an id"),
    RuleRow("ACP-BATCH-202", "-MM", "transports", "An array of notifications is not answered", superseded=NO_BATCHES),
    RuleRow("ACP-BATCH-203", "-AA", "transports", superseded=NO_BATCHES,
        says="A bad entry of an array gets an error of its own, and the others run"),
    RuleRow("ACP-BATCH-204", "-AA", "transports", superseded=NO_BATCHES,
        says="The answers to an array come as one array when all are there"),
    RuleRow("ACP-BATCH-205", "-AA", "transports", superseded=NO_BATCHES,
        says="The answers in an array are found by their ids"),
    RuleRow("ACP-BATCH-206", "-II", "transports", superseded=NO_BATCHES,
        says="Whether the entries of an array run side by side"),
    RuleRow("ACP-BATCH-207", "-II", "transports", "Whether the agent says arrays of its own accord"),
    RuleRow("ACP-BATCH-208", "-II", "transports", "What a handshake inside an array does", superseded=NO_BATCHES),
    RuleRow("ACP-INFO-BATCH-201", "-II", "transports", "What happens after an array that is broken off"),
    RuleRow("ACP-INFO-BATCH-202", "-II", "transports", "What happens after an array of calls and answers"),
    RuleRow("ACCORD-WIRE-011", "I--", "transports", "What happens after an array of messages"),
    RuleRow("ACCORD-WIRE-201", "--M", "transports", "An agent sends each message alone, never in an array"),
    RuleRow("ACCORD-WIRE-202", "--M", "error", "An array with messages gets exactly one -32600 with the id null"),
    RuleRow("ACCORD-WIRE-203", "--M", "transports", "Nothing that stands in an array is done or answered"),
)
# fmt: on


ANSWER_SECONDS = scaled(3.0)
"""The time limit for the answer to an array, counted from the sign of life that follows it."""


def _request(id_: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def _notification(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


ARRAYS: dict[str, list[Any]] = {
    "empty": [],
    "calls": [
        _request("one", "_example.com/unknown"),
        _notification("_example.com/unknown", {}),
        _request("two", "_example.com/another"),
        _request(3_000_003, "nonsense/method"),
    ],
    "bad entries": [1, {"hello": "world"}, _request("valid", "_example.com/unknown")],
    "notifications": [_notification("_example.com/unknown", {}), _notification("_example.com/note", {})],
    "answers too": [_request("four", "_example.com/unknown"), {"jsonrpc": "2.0", "id": 999_999, "result": {}}],
}
"""By name, the most widely tolerated first: after the end of the process no further array can be sent."""
SILENT = {"notifications"}
"""Arrays whose answer is not waited for: June has none."""


def answers_an_array(entry: Entry) -> bool:
    """Whether a line of the agent is an answer to a whole array: another array, or an answer without an id."""
    message = entry.message
    if isinstance(message, list):
        # Requests and notifications of the agent may come in arrays as well.
        return not any(isinstance(each, dict) and "method" in each for each in message)
    return isinstance(message, dict) and "method" not in message and message.get("id", 0) is None


@step("own", editions=JUNE_V2)
async def arrays(agent: AgentConversation) -> Notes:
    """Sends each array; notes the part of the record (from, to) with the reaction to it.

    `ended` is the array after which the agent stopped answering, or "". `work` is a prompt in an array beside a
    quick call, where there are sessions: `cancel` is the place at which that was cancelled.
    """
    await agent.handshake()
    notes: Notes = {"reactions": {}, "ended": ""}
    lifecycle = [_request("five", "initialize", BARE[agent.edition]), _request("six", "_example.com/unknown")]
    for name, array in ARRAYS.items():
        if not await _send_array(agent, notes, name, array):
            return notes
    if agent.edition == "v2_june" and await _work(agent, notes):
        await _send_array(agent, notes, "lifecycle", lifecycle)
    return notes


async def _send_array(agent: AgentConversation, notes: Notes, name: str, array: list[Any]) -> bool:
    """Send an array and wait for the reaction; whether the agent lives."""
    since = agent.wire.send_json(array)
    try:
        await agent.is_alive()
        if name in SILENT:
            await agent.is_alive()  # Background work is done by the second sign of life.
        else:
            await agent.wire.until(answers_an_array, since, min(agent.options.timeout_seconds, ANSWER_SECONDS))
    except StepFailed:
        notes["ended"] = name
    except Silence:
        pass  # It was not answered: that is judged.
    notes["reactions"][name] = (since, agent.now)
    return not notes["ended"]


def _answers_the_work(entry: Entry) -> bool:
    messages = entry.message if isinstance(entry.message, list) else [entry.message]
    return any(is_answer(message, "work") for message in messages)


async def _work(agent: AgentConversation, notes: Notes) -> bool:
    """A prompt in an array beside a quick call, cancelled when the work has begun; whether the agent lives."""
    try:
        session = await agent.new()
    except StepFailed:
        return True  # Without sessions there is no work.
    since = agent.now
    prompt = {"sessionId": session, "prompt": [text(agent.options.cancel_prompt)]}
    agent.wire.send_json([_request("work", "session/prompt", prompt), _request("quick", "_example.com/unknown")])
    speech = ("agent_message", "agent_message_chunk", "tool_call_update")
    seconds = min(agent.options.turn_seconds, ANSWER_SECONDS)
    # Without a first message it may still be working.
    with suppress(Silence):
        await agent.wire.until(
            lambda entry: answers_an_array(entry) or is_update(entry.message, session, *speech), since, seconds
        )
    notes["cancel"] = agent.notify("session/cancel", {"sessionId": session})
    with suppress(Silence):
        await agent.wire.until(_answers_the_work, since, agent.options.turn_seconds)
    notes["work"] = (since, agent.now)
    try:
        return await agent.is_alive()
    except StepFailed:
        notes["ended"] = "work"
        return False


@step("bare", editions=V2, order=LATE)
async def v2_arrays(agent: AgentConversation) -> Notes:
    call = (
        b'{"jsonrpc":"2.0","id":"in-an-array","method":"session/close","params":{"sessionId":"%b"}}'
        % NO_SESSION.encode()
    )
    note = b'{"jsonrpc":"2.0","method":"_accord.check/note","params":{}}'
    lines = {
        "requests": b"[%b,%b]" % (call, call.replace(b"in-an-array", b"in-the-array")),
        "notifications": b"[%b]" % note,
        "responses": b"[%b]" % RESPONSES["unknown number"],
    }
    notes = await send_each(agent, "ACCORD-WIRE-202", lines, are_refused=True)
    return {**notes, "ids": ["in-an-array", "in-the-array"]}


def _answers(said: list[Entry]) -> list[Any]:
    """Everything in the answers to an array, one by one, whether they came together or not."""
    return [each for entry in said for each in (entry.message if isinstance(entry.message, list) else [entry.message])]


@judge("ACP-BATCH-202", steps=("arrays",), editions=JUNE)
def an_array_of_notifications_is_not_answered(evidence: Evidence) -> None:
    _, array, said = reactions(evidence, "notifications")
    if said:
        raise Violation("an array of notifications was answered", array, said[0])


@judge("ACP-BATCH-203", steps=("arrays",), editions=JUNE)
def a_bad_entry_gets_its_own_error_and_the_others_run(evidence: Evidence) -> None:
    _, array, said = reactions(evidence, "bad entries")
    answers = [each for each in _answers(said) if isinstance(each, dict)]
    bad = [each for each in answers if each.get("id", 0) is None]
    if [code_of(each) for each in bad] != [INVALID_REQUEST, INVALID_REQUEST]:
        raise Violation("two bad entries did not get an error -32600 each", array, *said[:1])
    if not any(each.get("id") == "valid" for each in answers):
        raise Violation("a good entry beside bad ones was not answered", array, *said[:1])


@judge("ACP-BATCH-204", steps=("arrays",), editions=JUNE)
def the_answers_come_as_one_array_when_all_are_there(evidence: Evidence) -> None:
    _, array, said = reactions(evidence, "calls")
    said = [entry for entry in said if not _is_nobodys(entry)]
    if len(said) != 1 or not isinstance(said[0].message, list):
        raise Violation("an array of calls was not answered with one array", array, *said[:1])
    run = evidence.step("arrays")
    if run.get("work") is None:
        return
    since, before = run["work"]
    answers = [each for each in run.entries[since:before] if not each.sent and _is_about(each, "work", "quick")]
    if len(answers) != 1 or not isinstance(answers[0].message, list):
        raise Violation(
            "work and a quick call in one array were not answered together", run.entries[since], *answers[:1]
        )


def _is_nobodys(entry: Entry) -> bool:
    """Whether a line is an answer without an id, which answers no call."""
    return isinstance(entry.message, dict) and entry.message.get("id", 0) is None


def _is_about(entry: Entry, *ids: str) -> bool:
    answers = [each for each in _answers([entry]) if isinstance(each, dict) and "method" not in each]
    return any(each.get("id") in ids for each in answers)


@judge("ACP-BATCH-205", steps=("arrays",), editions=JUNE)
def answers_in_an_array_are_found_by_their_ids(evidence: Evidence) -> None:
    _, array, said = reactions(evidence, "calls")
    ids = [each["id"] for each in _answers(said) if isinstance(each, dict) and each.get("id") is not None]
    wanted = ["one", "two", 3_000_003]
    if sorted(map(repr, ids)) != sorted(map(repr, wanted)):
        raise Violation(f"the answers to {wanted} have the ids {ids}", array, *said[:1])


@judge("ACP-BATCH-206", steps=("arrays",), editions=JUNE)
def whether_entries_run_side_by_side(evidence: Evidence) -> str:
    run = evidence.step("arrays")
    if run.get("work") is None:
        raise Inconclusive("there was no work in an array")
    since, before = run["work"]
    for entry in run.entries[since:before]:
        if not entry.sent and answers_an_array(entry):
            ids = [each.get("id") for each in _answers([entry]) if isinstance(each, dict)]
            return f"answered together, in the order {', '.join(map(str, ids))}"
    return "not answered together"


@judge("ACP-BATCH-208", steps=("arrays",), editions=JUNE)
def what_a_handshake_in_an_array_does(evidence: Evidence) -> str:
    run, _, said = reactions(evidence, "lifecycle")
    answers = [each for each in _answers(said) if isinstance(each, dict)]
    parts = [f"{each.get('id')}: {code_of(each) if 'error' in each else 'a result'}" for each in answers]
    ended = ", and the agent ended" if run["ended"] == "lifecycle" else ""
    return (", ".join(parts) or "nothing") + ended


@judge("ACCORD-WIRE-201", steps=("meet", "v2_arrays"))
def no_arrays_are_sent(evidence: Evidence) -> None:
    for _, entry in evidence.received():
        if isinstance(entry.message, list):
            raise Violation("this is an array", entry)


@judge("ACCORD-WIRE-203", steps=("v2_arrays",))
def nothing_in_an_array_is_answered(evidence: Evidence) -> None:
    run = evidence.begun("v2_arrays")
    for entry, each in messages_in(run.entries[run.start :]):
        if "method" not in each and each.get("id") in ("in-an-array", "in-the-array"):
            raise Violation("a request that stood in an array was answered", run.entries[run.start], entry)


def reactions(evidence: Evidence, name: str) -> tuple[StepResult, Entry, list[Entry]]:
    """The run, the line with an array, and the reactions to it without the signs of life."""
    run = evidence.step("arrays")
    places = run["reactions"].get(name)
    if places is None:
        raise Inconclusive(f"the agent had ended by then, behind the array {run['ended']!r}")
    since, before = places
    ours = [entry.message.get("id") for entry in run.entries[since + 1 : before] if entry.sent]
    said = [
        entry
        for entry in run.entries[since:before]
        if not entry.sent and not (isinstance(entry.message, dict) and entry.message.get("id") in ours and ours)
    ]
    return run, run.entries[since], [entry for entry in said if _is_reaction(entry)]


def _is_reaction(entry: Entry) -> bool:
    """Whether a line answers something; requests and notifications of the agent do not."""
    messages = entry.message if isinstance(entry.message, list) else [entry.message]
    return not messages or any(not isinstance(each, dict) or "method" not in each for each in messages)


def _is_refusal(message: Any) -> bool:
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and message.get("id", 0) is None and error.get("code") == INVALID_REQUEST


@judge("ACP-BATCH-201", steps=("arrays",))
def an_empty_array_is_refused(evidence: Evidence) -> None:
    _, array, said = reactions(evidence, "empty")
    if len(said) != 1 or not _is_refusal(said[0].message):
        raise Violation("an empty array was not answered with one -32600 without an id", array, *said[:1])


@judge("ACP-BATCH-207", steps=("turns", "arrays"))
def whether_the_agent_says_arrays(evidence: Evidence) -> str:
    handshake(evidence)
    found = 0
    for _, entry in evidence.received():
        if isinstance(entry.message, list):
            found += any(isinstance(each, dict) and "method" in each for each in entry.message)
    return f"{found} arrays" if found else "none"


@judge("ACP-INFO-BATCH-201", steps=("bad_lines",))
def what_an_array_that_is_broken_off_does(evidence: Evidence) -> str:
    run = evidence.step("bad_lines")
    places = run["places"].get("a broken array")
    if places is None:
        raise Inconclusive(f"the agent had ended by then, behind {run['ended']}")
    return _codes(run, *places) + (", and the agent ended" if run["ended"] == "a broken array" else "")


def _codes(run: StepResult, since: int, before: int) -> str:
    """The errors without an id between two places."""
    errors = [each.get("error") for _, each in messages_in(run.entries[since:before]) if each.get("id", 0) is None]
    return ", ".join(str(error.get("code")) for error in errors if isinstance(error, dict)) or "ignored"


@judge("ACP-INFO-BATCH-202", steps=("arrays",))
def what_an_array_of_calls_and_answers_does(evidence: Evidence) -> str:
    run, _, said = reactions(evidence, "answers too")
    lists = [len(entry.message) for entry in said if isinstance(entry.message, list)]
    parts = [f"an array of {length}" for length in lists] + ["one error" for e in said if _is_refusal(e.message)]
    ended = ", and the agent ended" if run["ended"] == "answers too" else ""
    return (", ".join(parts) or ("nothing" if not said else "single answers")) + ended


judge_rows(line_reaction, ("ACCORD-WIRE-011", "what_comes_of_an_array", "an array"), steps=("odd_lines",))
judge_rows(each_line_gets, ("ACCORD-WIRE-202", "an_array_gets_one_error", "v2_arrays", INVALID_REQUEST))
