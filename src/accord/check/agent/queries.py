"""Queries on the evidence of a check of an agent: handshakes, requests, updates, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from accord.check.engine.evidence import (
    Entry,
    Evidence,
    Inconclusive,
    Record,
    StepFailed,
    StepResult,
    Violation,
    is_answer,
    is_update,
    messages_in,
    skip_if,
)
from accord.check.engine.judging import judge_rows

FINAL = {"completed", "failed", "cancelled"}
"""The statuses of tool calls that have ended."""
_DRIVE_LENGTH = 3


class RecordedUpdate(NamedTuple):
    """One update with its record, line and session."""

    record: Record
    entry: Entry
    session: Any
    update: dict[str, Any]


VERSION = 2
MESSAGES = ("user_message", "agent_message", "agent_thought")
CHUNKS = tuple(f"{kind}_chunk" for kind in MESSAGES)
TOOLS = ("tool_call_update", "tool_call_content_chunk")
HISTORY = (*MESSAGES, *CHUNKS, *TOOLS, "plan_update", "compaction_update", "compaction_summary_chunk")
"""Updates about events, in contrast to the current state: resuming a session sends only the latter."""


class RecordedRequest(NamedTuple):
    """A request of ours, and its first answer where there is one."""

    record: Record | StepResult
    entry: Entry
    params: dict[str, Any]
    answer_entry: Entry | None
    answer: dict[str, Any]

    @property
    def result(self) -> dict[str, Any] | None:
        """The result, if that is an object."""
        result = self.answer.get("result")
        return result if isinstance(result, dict) else None

    def violation(self, message: str) -> Violation:
        """A violation that the request and its answer prove."""
        return Violation(message, self.entry, self.answer_entry)


PERMISSION, ELICITATION = "session/request_permission", "elicitation/create"


def must_be_refused(run: StepResult, id_: Any, code: int) -> None:
    found = run.error(id_).get("code")
    if found != code:
        raise run.violation(f"the error is {found!r}, not {code}", id_)


def request_fails_with(evidence: Evidence, step: str, note: str, code: int) -> None:
    """For `judge_rows`: the request under a note was answered with this error."""
    run = evidence.step(step)
    must_be_refused(run, run[note], code)


def request_gives_object(evidence: Evidence, step: str, note: str) -> None:
    """For `judge_rows`: the result of the request under a note is an object or null."""
    run = evidence.step(step)
    succeeds(run, run[note])


def judge_completion(*rows: tuple[str, str, str]) -> None:
    """Register judges of rules that are kept if a step is completed; a row has the rule, the judge's name, the step."""
    for id_, name, step in rows:
        judge_rows(_completes, (id_, name, step, id_))


def _completes(evidence: Evidence, step: str, rule: str) -> None:
    completed(evidence, step, rule)


def judge_refusals(*rows: tuple[Any, ...]) -> None:
    """Register judges of requests that must fail; a row has the rule, the judge's name, step, note and error codes."""
    for id_, name, step, note, *codes in rows:
        judge_rows(_refuses, (id_, name, step, id_, note, *codes))


def _refuses(evidence: Evidence, step: str, rule: str, note: str, *codes: int) -> None:
    run = completed(evidence, step, rule)
    refusal(run, run[note], *codes)


def updates_of(evidence: Evidence, *kinds: str) -> Iterator[RecordedUpdate]:
    """Every update, of some kinds or all, in the order of each process."""
    for record, entry, message in evidence.messages():
        if is_update(message, None, *kinds):
            yield RecordedUpdate(record, entry, message["params"].get("sessionId"), message["params"]["update"])


def updates_by_session(evidence: Evidence, *kinds: str) -> list[list[RecordedUpdate]]:
    """The same, in a list for each session of each process."""
    found: dict[tuple[str, str], list[RecordedUpdate]] = {}
    for each in updates_of(evidence, *kinds):
        found.setdefault((each.record.name, key_of(each.session)), []).append(each)
    return list(found.values())


def answers_to(evidence: Evidence, *methods: str) -> Iterator[tuple[Entry, Entry, dict[str, Any]]]:
    """Our requests by some methods that succeeded: the line, the line of the answer, the result."""
    for record in evidence.records:
        for asked, request in messages_in(record.entries, sent=True):
            if request.get("method") not in methods or "id" not in request:
                continue
            for entry, answer in messages_in(record.entries[asked.place :]):
                if is_answer(answer, request["id"]):
                    if isinstance(answer.get("result"), dict):
                        yield asked, entry, answer["result"]
                    break


def entities(
    updates: list[RecordedUpdate],
    id_name: str,
    at: Callable[[RecordedUpdate, dict[Any, dict[str, Any]]], None] | None = None,
) -> dict[Any, dict[str, Any]]:
    """The state of tool calls or terminals after some updates: absent fields stay, others are replaced.

    `at` is called at each update with the state at that time.
    """
    found: dict[Any, dict[str, Any]] = {}
    for each in updates:
        id_ = each.update.get(id_name)
        if isinstance(id_, str) and each.update["sessionUpdate"] in {"tool_call_update", "terminal_update"}:
            found[id_] = {**found.get(id_, {}), **each.update, "entry": each.entry}
        if at is not None:
            at(each, found)
    return found


def is_absolute(path: Any) -> bool:
    """Whether a path begins at a root: one of Unix, a drive, or a server of Windows."""
    if not isinstance(path, str):
        return False
    drive = path[:_DRIVE_LENGTH]
    return path.startswith(("/", "\\\\")) or (
        len(drive) == _DRIVE_LENGTH and drive[0].isalpha() and drive[1] == ":" and drive[2] in "\\/"
    )


def completed(evidence: Evidence, name: str, *ids: str) -> StepResult:
    """The run of a completed step; one that failed for another reason than `ids` skips the judge."""
    try:
        return evidence.step(name)
    except StepFailed as failure:
        if failure.blame in ids:
            raise
        message = f"{name} did not come so far: {failure.reason}"
        raise Inconclusive(message) from None


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def key_of(*parts: Any) -> str:
    """A dictionary key for ids of any JSON type: 1 is not "1", and not True."""
    return repr(parts)


def is_relative(path: Any) -> bool:
    """Whether a path is relative on every system; other rules judge values that are no text."""
    return isinstance(path, str) and not is_absolute(path)


def tool_updates(evidence: Evidence) -> Iterator[tuple[Record, Entry, Any, dict[str, Any]]]:
    """Everything about tool calls, in updates and permission requests."""
    yield from updates_of(evidence, "tool_call", "tool_call_update")
    for record, entry, params in questions(evidence, "session/request_permission"):
        yield record, entry, params.get("sessionId"), as_dict(params.get("toolCall"))


def questions(evidence: Evidence, *methods: str) -> list[tuple[Record, Entry, dict[str, Any]]]:
    """Every request of the agent by some methods, with its params; `fs/` stands for all methods below it."""
    found = []
    for record, entry, message in evidence.messages():
        method = message.get("method")
        if isinstance(method, str) and "id" in message and _is_one_of(method, methods):
            found.append((record, entry, as_dict(message.get("params"))))
    return found


def _is_one_of(method: str, methods: tuple[str, ...]) -> bool:
    return any(method == each or (each.endswith("/") and method.startswith(each)) for each in methods)


def subject_tool(params: Any) -> Any:
    """The id of the tool call that a request for permission is about (v2)."""
    subject = as_dict(as_dict(params).get("subject"))
    tool = subject.get("toolCall")
    return tool.get("toolCallId") if isinstance(tool, dict) else subject.get("toolCallId")


def offered(record: Record) -> dict[str, Any]:
    """The capabilities of our client in a process, from its last handshake."""
    said: dict[str, Any] = {}
    for _, message in messages_in(record.entries, sent=True):
        if message.get("method") == "initialize":
            params = as_dict(message.get("params"))
            said = as_dict(params.get("clientCapabilities", params.get("capabilities")))
    return said


def offers_path(offer: dict[str, Any], *path: str) -> bool:
    """Whether a capability is offered; an empty object counts."""
    value: Any = offer
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value is not None and value is not False


def refusal(run: StepResult, id_: Any, *codes: int) -> int:
    """The code of the error with which a request was answered, which has to be one of `codes` if there are any."""
    error = run.error(id_)
    code = error.get("code")
    if codes and code not in codes:
        wanted = " or ".join(str(each) for each in codes)
        raise run.violation(f"the error has the code {code!r} instead of {wanted}", id_)
    return code if isinstance(code, int) else 0


def _ours(entry: Entry, method: str) -> bool:
    message = entry.message
    return entry.sent and isinstance(message, dict) and message.get("method") == method and "id" in message


def _answered(record: Record | StepResult, entry: Entry) -> RecordedRequest:
    params = entry.message.get("params")
    params = params if isinstance(params, dict) else {}
    for line, message in messages_in(record.entries[entry.place :]):
        if is_answer(message, entry.message["id"]):
            return RecordedRequest(record, entry, params, line, message)
    return RecordedRequest(record, entry, params, None, {})


def our_requests(evidence: Evidence, method: str) -> list[RecordedRequest]:
    """Every request of ours by a method, in all processes."""
    return [_answered(record, entry) for record in evidence.records for entry in record.entries if _ours(entry, method)]


def our_requests_in(run: StepResult, method: str) -> list[RecordedRequest]:
    """Every request of ours by a method in one run, completed or not."""
    return [_answered(run, entry) for entry in run.entries[run.start : run.end] if _ours(entry, method)]


def handshakes(evidence: Evidence) -> list[RecordedRequest]:
    """Every handshake, in all processes, that asked for the version of the edition and got it."""
    _, result = handshake(evidence)
    skip_if(result.get("protocolVersion") != VERSION, "the agent speaks another version")
    found = [each for each in our_requests(evidence, "initialize") if each.params.get("protocolVersion") == VERSION]
    return [each for each in found if (each.result or {}).get("protocolVersion") == VERSION]


def handshake(evidence: Evidence) -> tuple[RecordedRequest, dict[str, Any]]:
    """The first handshake, of a client that offers nothing, and its result."""
    (first, *_) = our_requests_in(evidence.begun("meet"), "initialize")
    if first.result is None:
        proof = (first.entry,) if first.answer_entry is None else (first.entry, first.answer_entry)
        raise StepFailed("the handshake did not succeed", "ACP-INIT-001", *proof)
    return first, first.result


def is_whole(value: Any) -> bool:
    """Whether a value is a non-empty string."""
    return isinstance(value, str) and bool(value)


def is_extension(word: Any) -> bool:
    return isinstance(word, str) and word.startswith("_")


def describe_reaction(message: Any) -> str:
    if not isinstance(message, dict):
        return "a line that is no message"
    error = message.get("error")
    if isinstance(error, dict):
        return f"error {error.get('code')}" + (" with an id" if message.get("id") is not None else "")
    return f"a message {message['method']}" if "method" in message else "a result"


def meeting(evidence: Evidence) -> tuple[StepResult, dict[str, Any]]:
    """The run of the step `meet`, and the result of its handshake."""
    meet = evidence.begun("meet")
    for _, answer in meet.answers(meet["initialize"]):
        if isinstance(answer.get("result"), dict):
            return meet, answer["result"]
    if meet.failure is not None:
        raise meet.failure
    raise Inconclusive("there was no handshake")


def handshake_line(record: Record) -> Entry | None:
    for entry, message in messages_in(record.entries, sent=True):
        if message.get("method") == "initialize":
            return entry
    return None


def check_unique(ids: list[Any], what: str, entry: Entry) -> None:
    named = [str(id_) for id_ in ids if id_ is not None]
    if len(set(named)) != len(named):
        raise Violation(f"two of the {what} have the same id: {named}", entry)


def succeeds(run: StepResult, id_: Any) -> Any:
    """The result of a request; an empty result may be null, as some examples of the specification show."""
    result = run.result(id_)
    if result is not None and not isinstance(result, dict):
        raise run.violation("the result is no object", id_)
    return result


def code_of(answer: Any) -> Any:
    error = answer.get("error") if isinstance(answer, dict) else None
    return error.get("code") if isinstance(error, dict) else None


def check_texts(value: dict[str, Any], keys: tuple[str, ...], what: str, entry: Entry) -> None:
    """Some keys of an object have to be texts."""
    for key in keys:
        if not isinstance(value.get(key), str):
            raise Violation(f"{what} has no `{key}`", entry)


def code_of_answer(run: StepResult, id_: Any) -> Any:
    """The code of the error that answered a request."""
    return code_of(run.answer(id_))


def dicts(owner: Any, name: str) -> list[dict[str, Any]]:
    found = owner.get(name) if isinstance(owner, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def option_lists(evidence: Evidence, name: str) -> Iterator[tuple[Entry, list[dict[str, Any]]]]:
    """Every list of options or commands, in results and updates."""
    for _, entry, result in answers_to(evidence, "session/new", "session/resume", "session/set_config_option"):
        yield entry, dicts(result, name)
    for each in updates_of(evidence, "config_option_update", "available_commands_update"):
        yield each.entry, dicts(each.update, name)
