"""The schema of messages in their edition: shapes, keys, open enums, metadata and extensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.agent.handshake import _NOTHING, MARKERS
from accord.check.agent.queries import (
    CHUNKS,
    MESSAGES,
    TOOLS,
    RecordedUpdate,
    answers_to,
    dicts,
    handshake,
    handshakes,
    is_extension,
    questions,
    updates_of,
)
from accord.check.agent.tools import tool_call_facts
from accord.check.agent.turns import updates_in_turns
from accord.check.engine.evidence import (
    Entry,
    Evidence,
    Inconclusive,
    Record,
    StepResult,
    Violation,
    is_request,
    messages_in,
    skip_unless,
)
from accord.check.engine.judging import judge, judge_rows, request_is_answered, request_succeeds
from accord.check.engine.shape import Payload, payloads, shape_of
from accord.check.rule import JUNE_V2, V1, VERSIONS, RuleRow, agent_rules
from accord.protocol.codec import Codec, Misfit
from accord.protocol.edition import V2, V2_JUNE, Edition

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-ENUM-201", "--C", "extensibility", gate="session",
        says="Words for options, notices, compactions, diffs and background work are known or begin with `_`"),
    RuleRow("ACP-ENUM-201", "-CC", "extensibility", gate="session",
        says="Kinds, statuses and priorities of tool calls and plans are known words or start with an underscore"),
    RuleRow("ACP-ENUM-202", "-AA", "extensibility", gate="session", says=(
        "",
        "Updates and types of content are known words or start with an underscore",
        "Updates, states and types of content are known words or start with an underscore",
    )),
    RuleRow("ACP-EXT-001", "MMM", "extensibility", "An unknown extension request is answered"),
    RuleRow("ACP-EXT-201", "-AA", "extensibility", "An unknown extension notification is ignored"),
    RuleRow("ACP-EXT-202", "-AA", "extensibility",
        says="Capabilities beside the protocol stand in the metadata of the capabilities"),
    RuleRow("ACP-EXT-203", "-II", "extensibility",
        says="The effect of an unknown notification whose name starts with $/"),
    RuleRow("ACCORD-META-001", "A--", "extensibility", "All metadata are objects or null"),
    RuleRow("ACP-META-001", "AAA", "extensibility", "A prompt may carry metadata", gate="session"),
    RuleRow("ACP-META-201", "-AA", "extensibility", "All metadata are objects or null"),
    RuleRow("ACP-SCHEMA-001", "MMM", ("schema", "#InitializeResponse", "#InitializeResponse"), says=(
        "Sessions, ends of turns and what the agent asks for fit the schema (handshake, updates: rows of their own)",
        "The answer to the handshake fits the schema",
        "The answer to the handshake fits the schema",
    )),
    RuleRow("ACP-SCHEMA-002", "AAA", "extensibility", says=(
        "No params and no result have keys at their root that the schema does not name",
        "No params and no result have keys that the schema does not name",
        "No params and no result have keys that the schema does not name",
    )),
)
# fmt: on


OTHER_KINDS = ("available_commands_update", "config_option_update", "session_info_update")
"""Updates that have nothing to do with a turn, and no rule of their own."""
_OWN_RULES = {("session/new", "sessionId"), ("session/prompt", "stopReason")}
_EDITIONS: dict[str, Edition] = {"v2": V2, "v2_june": V2_JUNE}

UNSTABLE = {
    "": {"providers", "nes", "positionEncoding"},
    "auth": {"status"},
    "session": {"fork", "archive", "status", "title", "systemPrompt"},
    "session.mcp": {"acp"},
}
"""Keys that the unstable texts add: not those of a vendor."""

_VALUES: dict[str, set[str]] = {
    "kind of an option": {"allow_once", "allow_always", "reject_once", "reject_always"},
    "subject of a permission": {"tool_call", "command"},
    "severity": {"info", "warning", "error"},
    "status of a compaction": {"in_progress", "completed", "failed", "cancelled"},
    "operation": {"add", "delete", "modify", "move", "copy"},
    "type of a file": {"text", "binary", "directory", "symlink"},
    "format of a patch": {"git_patch"},
    "background work": {"terminal", "tool_call"},
    "category of an option": {"mode", "model", "model_config", "thought_level"},
    "mode of a question": {"form", "url"},
}

KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}

STATUSES = {
    "v2": {"pending", "in_progress", "paused", "completed", "failed", "cancelled"},
    "v2_june": {"pending", "in_progress", "completed", "failed"},
}

PLAN_STATUSES = {
    "v2": {"pending", "in_progress", "completed", "cancelled"},
    "v2_june": {"pending", "in_progress", "completed"},
}

PRIORITIES = {"high", "medium", "low"}
STATES = {"running", "requires_action", "idle"}
BLOCKS = {"text", "image", "audio", "resource_link", "resource"}
CONTENTS = {"v2": {"content", "diff", "terminal"}, "v2_june": {"content", "diff"}}

_UPDATES = {
    *MESSAGES,
    *CHUNKS,
    *TOOLS,
    "plan_update",
    "plan_removed",
    "available_commands_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
}

UPDATES = {
    "v2_june": _UPDATES,
    "v2": {
        *_UPDATES,
        "state_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
        "terminal_update",
        "terminal_output_chunk",
        # Of the unstable text, not of a vendor.
        "subagent_update",
        "session_message",
        "session_message_chunk",
    },
}

FREE = {"rawInput", "rawOutput", "_meta"}
"""Fields whose content belongs to tools or vendors."""


@judge("ACP-SCHEMA-002", steps=("meet", "turns", "meet_able"))
def nothing_has_keys_that_the_schema_does_not_name(evidence: Evidence) -> None:
    found: dict[str, Entry] = {}
    for record in evidence.records:
        for payload in payloads(record):
            if payload.method == "initialize" and not _is_about(record, payload.value, VERSIONS[evidence.edition]):
                continue  # Another version has another shape.
            for key in shape_of(evidence.edition, payload, is_root=True).further:
                what = "result" if payload.is_result else "params"
                found.setdefault(f"{key!r} in the {what} of {payload.method}", payload.entry)
    if found:
        raise Violation(f"the schema does not name {', '.join(found)}", *list(found.values())[:2])


def _is_about(record: Record, result: Any, version: int) -> bool:
    """Whether the handshakes of a process were all for a version, and an answer is too."""
    if not isinstance(result, dict) or result.get("protocolVersion") != version:
        return False
    asked = [each.get("params") for _, each in messages_in(record.entries, sent=True) if is_request(each, "initialize")]
    return all(isinstance(each, dict) and each.get("protocolVersion") == version for each in asked)


@judge("ACCORD-META-001", steps=("meet", "two_turns", "allowed_work"))
def metadata_is_an_object(evidence: Evidence) -> None:
    for _, entry, message in evidence.messages():
        for value in _metas(message):
            if value is not None and not isinstance(value, dict):
                raise Violation(f"`_meta` is {value!r}", entry)


def _metas(value: Any) -> list[Any]:
    """Every `_meta` below a value, without those inside of others."""
    found: list[Any] = []
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            found.extend(item for key, item in each.items() if key == "_meta")
            todo.extend(item for key, item in each.items() if key not in FREE)
        elif isinstance(each, list):
            todo.extend(each)
    return found


@judge("ACP-SCHEMA-001", steps=("meet", "turns", "cancel", "meet_able"), editions=V1)
def what_is_said_fits_the_schema(evidence: Evidence) -> None:
    for record in evidence.records:
        for payload in payloads(record):
            if not is_judged_by_schema(payload):
                continue
            shape = shape_of("v1", payload)
            if shape.problem and (payload.method, shape.field) not in _OWN_RULES:
                what = "the result" if payload.is_result else "the params"
                where = f"{shape.field} in {what}" if shape.field else what
                raise Violation(f"{where} of {payload.method} does not fit: expected {shape.problem}", payload.entry)


def is_judged_by_schema(payload: Payload) -> bool:
    """Whether no other rule judges a payload, as for the handshake, updates of a turn and empty results."""
    if payload.is_result:
        return payload.method in {"session/new", "session/prompt"} and isinstance(payload.value, dict)
    if payload.method != "session/update":
        return True
    update = payload.value.get("update") if isinstance(payload.value, dict) else None
    return isinstance(update, dict) and update.get("sessionUpdate") in OTHER_KINDS


def misfit(edition: str, method: str, value: Any, *, is_result: bool) -> str:
    """The misfit of params or a result of the agent, or "".

    Unknown enum values are judged by other rules; values that a lenient reader would drop are misfits.
    """
    kind = _type_of(_EDITIONS[edition], method, is_result=is_result)
    if kind is None:
        return ""
    codec = Codec()
    try:
        codec.convert(kind, value)
        if codec.dropped:
            Codec(strict=True).convert(kind, value)
    except Misfit as wrong:
        return str(wrong)
    return "a part of it is of the wrong type" if codec.dropped else ""


def _type_of(edition: Edition, method: str, *, is_result: bool) -> Any:
    if is_result:
        served = edition.request("agent", method)
        return None if served is None else served.result
    said = edition.request("client", method) or edition.notification("client", method)
    return None if said is None else said.params


@judge("ACP-SCHEMA-001", steps=("meet",), editions=JUNE_V2)
def the_handshake_fits_the_schema(evidence: Evidence) -> None:
    for asked in handshakes(evidence):
        if asked.result is None:
            continue
        wrong = misfit(evidence.edition, "initialize", asked.result, is_result=True)
        if wrong:
            raise Violation(f"the answer to the handshake does not fit: {wrong}", asked.answer_entry)


def _strangers(said: Any, tree: dict[str, Any], path: str = "") -> Iterator[str]:
    """Every key in the capabilities that no text of the protocol has."""
    if isinstance(said, dict):
        for key, inner in said.items():
            name = f"{path}.{key}".lstrip(".")
            if key in tree:
                yield from _strangers(inner, tree[key], name)
            elif key != "_meta" and key not in UNSTABLE.get(path, set()):
                yield name


@judge("ACP-EXT-202", steps=("meet",))
def capabilities_beside_the_protocol_are_metadata(evidence: Evidence) -> None:
    for asked in handshakes(evidence):
        for name in _strangers((asked.result or _NOTHING).get("capabilities"), MARKERS[evidence.edition]):
            raise Violation(f"capabilities.{name} is not of the protocol and no metadata", asked.answer_entry)


@judge("ACCORD-ENUM-201", steps=("v2_finished_things", "v2_strange_answer"))
def words_are_known(evidence: Evidence) -> None:
    found = [*_values_of_questions(evidence), *_values_of_updates(evidence), *_values_of_options(evidence)]
    values = [(entry, what, value) for entry, what, value in found if isinstance(value, str)]
    skip_unless(values, "none of these words was used")
    for entry, what, value in values:
        if value not in _VALUES[what] and not value.startswith("_"):
            raise Violation(f"{value!r} is no {what}", entry)


def _values_of_questions(evidence: Evidence) -> Iterator[tuple[Entry, str, Any]]:
    for _, entry, params in questions(evidence, "session/request_permission"):
        for option in dicts(params, "options"):
            yield entry, "kind of an option", option.get("kind")
        if isinstance(params.get("subject"), dict):
            yield entry, "subject of a permission", params["subject"].get("type")
    for _, entry, params in questions(evidence, "elicitation/create"):
        yield entry, "mode of a question", params.get("mode")


def _values_of_updates(evidence: Evidence) -> Iterator[tuple[Entry, str, Any]]:
    for each in updates_of(evidence):
        match each.update.get("sessionUpdate"):
            case "notice":
                yield each.entry, "severity", each.update.get("severity")
            case "compaction_update":
                yield each.entry, "status of a compaction", each.update.get("status")
            case "state_update":
                for item in dicts(each.update, "background"):
                    yield each.entry, "background work", item.get("type")
            case "tool_call_update" | "tool_call_content_chunk":
                yield from _values_of_diffs(each)
            case _:
                pass


def _values_of_diffs(each: RecordedUpdate) -> Iterator[tuple[Entry, str, Any]]:
    for content in [each.update.get("content"), *dicts(each.update, "content")]:
        if isinstance(content, dict) and content.get("type") == "diff":
            for change in dicts(content, "changes"):
                yield each.entry, "operation", change.get("operation")
                yield each.entry, "type of a file", change.get("fileType")
            patch = content.get("patch")
            yield each.entry, "format of a patch", patch.get("format") if isinstance(patch, dict) else None


def _values_of_options(evidence: Evidence) -> Iterator[tuple[Entry, str, Any]]:
    for _, entry, result in answers_to(evidence, "session/new", "session/resume", "session/set_config_option"):
        for option in dicts(result, "configOptions"):
            yield entry, "category of an option", option.get("category")


def _is_strange(value: Any, known: set[str]) -> bool:
    """Whether an enum value is neither known nor an extension; values that are no strings break another rule."""
    return isinstance(value, str) and value not in known and not is_extension(value)


@judge("ACP-ENUM-201", steps=("turns", "meet_able"))
def words_of_tool_calls_and_plans_are_known(evidence: Evidence) -> None:
    edition = evidence.edition
    for _, _, entry, said in tool_call_facts(evidence):
        for key, known in (("kind", KINDS), ("status", STATUSES[edition])):
            if _is_strange(said.get(key), known):
                raise Violation(f"the {key} of a tool call is {said[key]!r}", entry)
    for each in updates_of(evidence, "plan_update"):
        for planned in _entries(each.update.get("plan")):
            for key, known in (("priority", PRIORITIES), ("status", PLAN_STATUSES[edition])):
                if _is_strange(planned.get(key), known):
                    raise Violation(f"the {key} in a plan is {planned[key]!r}", each.entry)


def _entries(plan: Any) -> list[dict[str, Any]]:
    entries = plan.get("entries") if isinstance(plan, dict) else None
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


@judge("ACP-ENUM-202", steps=("turns", "meet_able"))
def words_of_updates_states_and_content_are_known(evidence: Evidence) -> None:
    for each in updates_in_turns(evidence):
        update, kind = each.update, each.update.get("sessionUpdate")
        if _is_strange(kind, UPDATES[evidence.edition]):
            raise Violation(f"there is no update {kind!r}", each.entry)
        if kind == "state_update" and _is_strange(update.get("state"), STATES):
            raise Violation(f"there is no state {update['state']!r}", each.entry)
        known = BLOCKS if kind in {*MESSAGES, *CHUNKS} else CONTENTS[evidence.edition]
        if kind in {*MESSAGES, *CHUNKS, *TOOLS}:
            for content in _contents(update.get("content")):
                if _is_strange(content.get("type"), known):
                    raise Violation(f"there is no content of the type {content['type']!r}", each.entry)


def _contents(content: Any) -> list[dict[str, Any]]:
    contents = content if isinstance(content, list) else [content]
    return [each for each in contents if isinstance(each, dict)]


def _behind(run: StepResult, method: str) -> tuple[Entry | None, list[Entry]]:
    """A notification of ours, and the errors without an id behind it, up to the next sign of life."""
    for entry in run.entries[run.start : run.end]:
        message = entry.message if entry.sent and isinstance(entry.message, dict) else {}
        if message.get("method") == method and "id" not in message:
            ours = [each.place for each in run.entries[entry.place + 1 : run.end] if each.sent]
            part = run.entries[entry.place : ours[1] if len(ours) > 1 else run.end]
            return entry, [line for line, each in messages_in(part) if each.get("id", 0) is None]
    return None, []


@judge("ACP-EXT-201", steps=("strange_requests",))
def an_extension_notification_is_ignored(evidence: Evidence) -> None:
    run = evidence.begun("strange_requests")
    notification, errors = _behind(run, "_example.com/unknown")
    if notification is None:
        raise run.failure or Inconclusive("there was no such notification")
    if run.failure is not None and not messages_behind(run, notification):
        raise Violation("behind an extension notification the agent did not answer any more", notification)
    if errors:
        raise Violation("an extension notification was answered", notification, errors[0])


def messages_behind(run: StepResult, entry: Entry) -> bool:
    """Whether the agent sent anything after a line of ours in a run."""
    return any(True for _ in messages_in(run.entries[entry.place : run.end]))


@judge("ACP-EXT-203", steps=("strange_requests",))
def what_a_notification_with_a_dollar_does(evidence: Evidence) -> str:
    run = evidence.begun("strange_requests")
    notification, errors = _behind(run, "$/nonsense")
    if notification is None:
        raise run.failure or Inconclusive("there was no such notification")
    if not messages_behind(run, notification):
        return "the agent ended"
    if errors:
        return "answered with an error"
    part = run.entries[notification.place : run.end]
    said = ", ".join(str(each["method"]) for _, each in messages_in(part) if "method" in each)
    return f"answered with {said}" if said else "ignored"


@judge("ACP-META-201", steps=("turns", "meet_able"))
def all_metadata_are_objects(evidence: Evidence) -> None:
    handshake(evidence)
    for _, entry, message in evidence.messages():
        if str(message.get("method", "")).startswith("_"):
            continue
        for each in _metas([message.get("params"), message.get("result")]):
            if each is not None and not isinstance(each, dict):
                raise Violation(f"metadata are {each!r}, and no object", entry)


judge_rows(
    request_is_answered,
    ("ACP-EXT-001", "an_unknown_extension_request_is_answered", "strange_requests", "extension"),
)
judge_rows(request_succeeds, ("ACP-META-001", "a_prompt_may_carry_metadata", "turns", "meta"))
