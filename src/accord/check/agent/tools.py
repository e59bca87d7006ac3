"""Tool calls: announcements, status, paths, diffs and patches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import answered_turn
from accord.check.agent.permission import choosing
from accord.check.agent.queries import (
    FINAL,
    TOOLS,
    RecordedUpdate,
    as_dict,
    completed,
    dicts,
    entities,
    is_absolute,
    is_relative,
    is_whole,
    key_of,
    listed,
    questions,
    tool_updates,
    updates_by_session,
    updates_of,
)
from accord.check.agent.turns import prompts_of, turns_in, updates_in_turns
from accord.check.engine.evidence import Entry, Evidence, Violation, is_request, is_update, messages_in, skip_unless
from accord.check.engine.judging import Notes, judge
from accord.check.engine.wire import Refusal
from accord.check.rule import V1, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-DIFF-001", "MC-", "overview", gate="session",
        says="Diffs are of files that are named by absolute paths"),
    RuleRow("ACCORD-JUNE-TOOL-001", "-A-", "tool-calls", gate="session",
        says="The first update of a tool call has its title"),
    RuleRow("ACCORD-ORDER-002", "AA-", "tool-calls", gate="session",
        says="A tool call is announced before any other update of it"),
    RuleRow("ACCORD-ORDER-003", "A--", "tool-calls", "A tool call is announced once, and has an id of its own"),
    RuleRow("ACP-PATCH-204", "-CC", "tool-calls", gate="session",
        says="Everything about a tool call names it, and a chunk of its content has content"),
    RuleRow("ACP-PATCH-208", "--A", "tool-calls", gate="session",
        says="The first update of a tool call has a title, and its name never changes"),
    RuleRow("ACCORD-PATH-001", "MC-", "overview", "The locations of tool calls are absolute paths", gate="session"),
    RuleRow("ACCORD-PATH-002", "A--", "overview", "Lines are counted from 1"),
    RuleRow("ACCORD-TOOL-001", "AA-", "tool-calls", "The status of a tool call only goes forward", gate="session"),
    RuleRow("ACCORD-TOOL-002", "AA-", "prompt-turn", gate="session",
        says="A turn that ends by itself leaves no tool call open"),
    RuleRow("ACCORD-TOOL-003", "A--", "tool-calls",
        says="A client that has no file, no terminal and no answer does not fail the prompt"),
    RuleRow("ACCORD-TOOL-201", "--C", "#AbsolutePath", gate="session",
        says="The paths of tool calls and of their diffs are absolute"),
    RuleRow("ACCORD-TOOL-202", "--A", "#Diff", "Diffs have a patch wherever one can be made", gate="session"),
    RuleRow("ACCORD-TOOL-203", "--C", "#DiffPatchFormat", gate="session",
        says="A Git patch has absolute paths without prefixes, and nothing in front of its first section"),
    RuleRow("ACCORD-TOOL-204", "--C", "#Diff", "A patch names only files that the changes name", gate="session"),
    RuleRow("ACCORD-TOOL-205", "--A", "#ToolCallCapabilities", gate="session",
        says="A tool call with a final status offers no cancellation"),
    RuleRow("ACCORD-TOOL-206", "--A", "tool-calls", gate="session",
        says="When a session is idle, a tool call has ended or is listed as background work"),
    RuleRow("ACCORD-TOOL-207", "--A", "#ToolCallId", "A tool call that has ended does not begin again", gate="session"),
)
# fmt: on


_OVER = {"completed", "failed"}
_PLACE = {"pending": 0, "in_progress": 1, "completed": 2, "failed": 2}
_CHANGED = ("tool_call_update", "tool_call_content_chunk")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEADS = ("--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ")


@step("able", editions=V1, order=34)
async def failing_client(agent: AgentConversation) -> Notes:
    """A turn of a client that grants permissions, but fails file and terminal requests and cancels elicitations."""
    session = await agent.new()
    since = agent.now
    missing = Refusal(-32002, "Resource not found")
    with agent.replying(
        session__request_permission=choosing("allow_once", "allow_always"),
        fs__read_text_file=lambda _: missing,
        fs__write_text_file=lambda _: Refusal(-32603, "Internal error"),
        terminal__create=lambda _: Refusal(-32603, "Internal error"),
        elicitation__create=lambda _: {"action": "cancel"},
    ):
        prompt = await answered_turn(agent, session, agent.tool_prompt, "ACCORD-TOOL-003")
        await agent.is_alive()
    return {"session": session, "prompt": prompt, "since": since}


@judge("ACCORD-ORDER-002", steps=("two_turns", "allowed_work"))
def a_tool_call_is_announced_first(evidence: Evidence) -> None:
    first = ("tool_call",) if evidence.edition == "v1" else ("tool_call_update",)
    then = "tool_call_update" if evidence.edition == "v1" else "tool_call_content_chunk"
    known: set[Any] = set()
    updates = list(updates_of(evidence, *first, then))
    for record, entry, session, update in updates:
        key = key_of(record.name, session, update.get("toolCallId"))
        if update["sessionUpdate"] != then:
            known.add(key)
        elif key not in known:
            raise Violation(f"{then} is about a tool call that was not announced before", entry)
    skip_unless(updates, "no tool was used")


@judge("ACCORD-ORDER-003", steps=("two_turns", "allowed_work"))
def a_tool_call_is_announced_once(evidence: Evidence) -> None:
    found = False
    for record in evidence.records:
        known: dict[Any, Entry] = {}
        for entry in record.entries:
            message = as_dict(entry.message)
            if entry.sent and message.get("method") in {"session/load", "session/resume"}:
                known.clear()  # A replay announces tool calls again.
            if not entry.sent and is_update(message, None, "tool_call"):
                key = key_of(message["params"].get("sessionId"), message["params"]["update"].get("toolCallId"))
                if key in known:
                    raise Violation("two tool calls of a session have the same id", known[key], entry)
                known[key] = entry
                found = True
    skip_unless(found, "no tool was used")


@judge("ACCORD-TOOL-001", steps=("two_turns", "allowed_work"))
def the_status_of_a_tool_call_only_goes_forward(evidence: Evidence) -> None:
    last: dict[Any, tuple[str, Entry]] = {}
    for record, entry, session, update in updates_of(evidence, "tool_call", "tool_call_update"):
        status = update.get("status")
        key = key_of(record.name, session, update.get("toolCallId"))
        if key in last and update["sessionUpdate"] == "tool_call":
            del last[key]  # It is announced again: a replay.
        if not isinstance(status, str) or status not in _PLACE:
            continue
        if key in last and _is_backward(last[key][0], status) and not _is_replayed(evidence, session):
            raise Violation(f"a tool call went from {last[key][0]} to {status}", last[key][1], entry)
        last[key] = (status, entry)
    skip_unless(last, "no tool was used")


def _is_backward(before: str, status: str) -> bool:
    return _PLACE[status] < _PLACE[before] or (before in _OVER and status != before)


def _is_replayed(evidence: Evidence, session: Any) -> bool:
    """Whether a session was loaded: a replay repeats its tool calls from the start."""
    return any(
        message.get("method") == "session/load" and as_dict(message.get("params")).get("sessionId") == session
        for _, _, message in evidence.messages(sent=True)
    )


@judge("ACCORD-TOOL-002", steps=("two_turns", "allowed_work"))
def no_tool_call_is_left_open_at_the_end(evidence: Evidence) -> None:
    found = False
    for turn in turns_in(evidence):
        if not turn.is_whole or turn.answer["result"].get("stopReason") != "end_turn" or turn.answered is None:
            continue
        tools: dict[Any, tuple[Any, Entry]] = {}
        for entry, message in messages_in(turn.record.entries[turn.asked.place : turn.answered.place]):
            if is_update(message, turn.session, "tool_call", "tool_call_update"):
                update = message["params"]["update"]
                key = key_of(update.get("toolCallId"))
                tools[key] = (update.get("status") or tools.get(key, ("pending",))[0], entry)
        found = found or bool(tools)
        for status, entry in tools.values():
            if status in ("pending", "in_progress"):
                raise Violation(f"the turn ended while a tool call was {status}", entry, turn.answered)
    skip_unless(found, "no tool was used in a turn that came to its end")


@judge("ACCORD-TOOL-003", steps=("failing_client",))
def a_client_that_fails_does_not_fail_the_turn(evidence: Evidence) -> str:
    run = completed(evidence, "failing_client", "ACCORD-TOOL-003")
    answered = run.answer_entry(run["prompt"])
    refused = [
        entry
        for entry, message in messages_in(run.entries[run["since"] : answered.place], sent=True)
        if "error" in message or as_dict(message.get("result")).get("action") == "cancel"
    ]
    skip_unless(refused, "it asked the client for nothing that could fail")
    if "error" in run.answer(run["prompt"]):
        raise Violation("the prompt failed with it", refused[-1], answered)
    return f"{len(refused)} requests of the agent failed"


@judge("ACCORD-PATH-001", steps=("two_turns", "allowed_work"))
def locations_are_absolute(evidence: Evidence) -> None:
    found = False
    for _, entry, _, tool in tool_updates(evidence):
        for location in listed(tool.get("locations")):
            found = True
            if is_relative(as_dict(location).get("path")):
                raise Violation(f"the location {location['path']!r} is relative", entry)
    skip_unless(found, "no tool call had locations")


@judge("ACCORD-PATH-002", steps=("two_turns", "allowed_work"))
def lines_are_counted_from_one(evidence: Evidence) -> None:
    found = False
    for _, entry, _, tool in tool_updates(evidence):
        for location in listed(tool.get("locations")):
            line = as_dict(location).get("line")
            found = found or line is not None
            if isinstance(line, int) and line < 1:
                raise Violation(f"the location has the line {line}", entry)
    for _, entry, params in questions(evidence, "fs/read_text_file"):
        line = params.get("line")
        found = found or line is not None
        if isinstance(line, int) and line < 1:
            raise Violation(f"it reads from the line {line}", entry)
    skip_unless(found, "no line was named")


@judge("ACCORD-DIFF-001", steps=("two_turns", "allowed_work"))
def diffs_name_absolute_paths(evidence: Evidence) -> None:
    found = False
    for _, entry, _, tool in [*tool_updates(evidence), *_chunks(evidence)]:
        for content in listed(tool.get("content")):
            if as_dict(content).get("type") == "diff":
                found = True
                if is_relative(content.get("path")):
                    raise Violation(f"the diff is of the relative path {content['path']!r}", entry)
    skip_unless(found, "no diff was shown")


def _chunks(evidence: Evidence) -> list[Any]:
    """Content chunks of June, as lists of one."""
    found = updates_of(evidence, "tool_call_content_chunk")
    return [(record, entry, session, {"content": [chunk.get("content")]}) for record, entry, session, chunk in found]


@judge("ACCORD-JUNE-TOOL-001", steps=("two_turns", "allowed_work"))
def a_tool_call_has_its_title_from_the_start(evidence: Evidence) -> None:
    known: set[Any] = set()
    for record, entry, session, update in updates_of(evidence, "tool_call_update"):
        key = key_of(record.name, session, update.get("toolCallId"))
        if key not in known and not update.get("title"):
            raise Violation("the first update of a tool call has no title", entry)
        known.add(key)
    skip_unless(known, "no tool was used")


def tool_call_updates(evidence: Evidence) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Tool calls in updates and in permission requests, with their lines."""
    for each in updates_of(evidence, *_CHANGED):
        yield each.entry, each.update
    for _, entry, params in questions(evidence, "session/request_permission"):
        subject = params.get("subject")
        if isinstance(subject, dict) and isinstance(subject.get("toolCall"), dict):
            yield entry, subject["toolCall"]


def tool_contents(evidence: Evidence) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every content item of a tool call."""
    for entry, call in tool_call_updates(evidence):
        single = [call["content"]] if isinstance(call.get("content"), dict) else []
        for content in [*single, *dicts(call, "content")]:
            yield entry, content


def _diffs(evidence: Evidence) -> list[tuple[Entry, dict[str, Any]]]:
    found = [(entry, content) for entry, content in tool_contents(evidence) if content.get("type") == "diff"]
    skip_unless(found, "there was no diff")
    return found


@judge("ACCORD-TOOL-201", steps=("v2_finished_things",))
def paths_are_absolute(evidence: Evidence) -> None:
    owners = [(entry, each) for entry, call in tool_call_updates(evidence) for each in dicts(call, "locations")]
    owners += [(entry, each) for entry, content in tool_contents(evidence) for each in dicts(content, "changes")]
    paths = [(entry, owner[name]) for entry, owner in owners for name in ("path", "oldPath") if name in owner]
    skip_unless(paths, "no path was sent")
    for entry, path in paths:
        if not is_absolute(path):
            raise Violation(f"{path!r} is no absolute path", entry)


@judge("ACCORD-TOOL-202", steps=("v2_finished_things",))
def a_diff_has_a_patch(evidence: Evidence) -> None:
    diffs = _diffs(evidence)
    # A binary or unchanged file has no patch; one patch shows that the agent can make them.
    if not any(isinstance(diff.get("patch"), dict) for _, diff in diffs):
        raise Violation("no diff has a patch", diffs[0][0])


def _patches(evidence: Evidence) -> list[tuple[Entry, dict[str, Any], str]]:
    found = []
    for entry, diff in _diffs(evidence):
        patch = diff.get("patch")
        if isinstance(patch, dict) and patch.get("format") == "git_patch" and isinstance(patch.get("text"), str):
            found.append((entry, diff, patch["text"]))
    skip_unless(found, "there was no Git patch")
    return found


def _heads(patch: str) -> Iterator[str]:
    """The lines of a patch that are no part of a hunk."""
    old = new = 0
    for line in patch.split("\n"):
        if old > 0 or new > 0:
            old -= line[:1] in ("-", " ", "")
            new -= line[:1] in ("+", " ", "")
        elif found := _HUNK.match(line):
            old, new = (int(count) if count is not None else 1 for count in found.groups())
        else:
            yield line


def _paths(patch: str) -> Iterator[str]:
    """The paths that a patch names in its heads, without those that Git quotes."""
    for line in _heads(patch):
        head = next((head for head in _HEADS if line.startswith(head)), None)
        if head is not None:
            path = line[len(head) :].split("\t")[0]
            if path != "/dev/null" and not path.startswith('"'):
                yield path


@judge("ACCORD-TOOL-203", steps=("v2_finished_things",))
def git_patches_have_absolute_paths(evidence: Evidence) -> None:
    for entry, _, patch in _patches(evidence):
        if not patch.startswith("diff --git "):
            raise Violation("it does not begin with a section", entry)
        sections = [line.removeprefix("diff --git ") for line in _heads(patch) if line.startswith("diff --git ")]
        for path in [*sections, *_paths(patch)]:
            if not is_absolute(path.removeprefix('"')):
                raise Violation(f"{path!r} is no absolute path", entry)


@judge("ACCORD-TOOL-204", steps=("v2_finished_things",))
def patches_agree_with_changes(evidence: Evidence) -> None:
    for entry, diff, patch in _patches(evidence):
        changed = {each.get(name) for each in dicts(diff, "changes") for name in ("path", "oldPath")}
        for path in _paths(patch):
            if is_absolute(path) and path not in changed:
                raise Violation(f"no change names {path!r}", entry)


def can_be_cancelled(thing: dict[str, Any]) -> bool:
    capabilities = thing.get("capabilities")
    return isinstance(capabilities, dict) and capabilities.get("cancel") is not None


def check_cancellation_offers(evidence: Evidence, kind: str, id_name: str, why_not: str) -> None:
    """A tool call or terminal that has ended does not advertise cancellation."""
    offered = 0
    for updates in updates_by_session(evidence, kind):
        offered += sum(can_be_cancelled(each.update) for each in updates)
        for id_, thing in entities(updates, id_name).items():
            has_ended = thing.get("status") in FINAL or thing.get("exitStatus") is not None
            if has_ended and can_be_cancelled(thing):
                raise Violation(f"{id_!r} has ended and offers to be cancelled", thing["entry"])
    skip_unless(offered, why_not)


@judge("ACCORD-TOOL-205", steps=("v2_stopped_alone",))
def ended_tool_calls_offer_nothing(evidence: Evidence) -> None:
    check_cancellation_offers(evidence, "tool_call_update", "toolCallId", "no tool call offered to be cancelled")


@judge("ACCORD-TOOL-206", steps=("v2_finished_things",))
def tool_calls_end_before_the_session_is_idle(evidence: Evidence) -> None:
    known = 0

    def look(each: RecordedUpdate, calls: dict[Any, dict[str, Any]]) -> None:
        if each.update.get("sessionUpdate") != "state_update" or each.update.get("state") != "idle":
            return
        background = dicts(each.update, "background")
        if any("toolCallId" not in item for item in background):
            return  # A process is listed as its terminal, which stands for its tool call.
        listed = {item.get("toolCallId") for item in background}
        for id_, call in calls.items():
            if call.get("status") not in FINAL and id_ not in listed:
                raise Violation(f"tool call {id_!r} has not ended", call["entry"], each.entry)

    for updates in updates_by_session(evidence, "tool_call_update", "state_update"):
        known += len(entities(updates, "toolCallId", look))
    skip_unless(known, "there was no tool call")


@judge("ACCORD-TOOL-207", steps=("v2_prompts_in_order",))
def ended_tool_calls_do_not_begin_again(evidence: Evidence) -> None:
    ended: dict[Any, Entry] = {}
    for entry, update in updates_of_three_turns(evidence, "tool_call_update"):
        id_ = update.get("toolCallId")
        if update.get("status") in FINAL:
            ended[id_] = entry
        elif update.get("status") in {"pending", "in_progress", "paused"} and id_ in ended:
            raise Violation(f"tool call {id_!r} had ended", ended[id_], entry)
    skip_unless(ended, "no tool call has ended")


def updates_of_three_turns(evidence: Evidence, kind: str) -> list[tuple[Entry, dict[str, Any]]]:
    """The updates of the one session that has several turns and is never resumed."""
    run = evidence.step("v2_prompts_in_order")
    return run.updates(run["session"], kind, since=run["since"])


@judge("ACP-PATCH-204", steps=("turns", "meet_able"))
def everything_about_a_tool_call_names_it(evidence: Evidence) -> None:
    for each in updates_in_turns(evidence, *TOOLS):
        kind = each.update["sessionUpdate"]
        if not is_whole(each.update.get("toolCallId")):
            raise Violation(f"a {kind} has the toolCallId {each.update.get('toolCallId')!r}", each.entry)
        if kind == "tool_call_content_chunk" and not isinstance(each.update.get("content"), dict):
            raise Violation("a tool_call_content_chunk has no content", each.entry)


def tool_call_facts(evidence: Evidence) -> Iterator[tuple[str, str, Entry, dict[str, Any]]]:
    """Every mention of a tool call, also in permission requests: process and session, id, line, fields."""
    prompts_of(evidence, "turns")
    for record, entry, message in evidence.messages():
        params = message.get("params")
        if not isinstance(params, dict):
            continue
        said = None
        if is_request(message, "session/request_permission"):
            subject = params.get("subject")
            said = subject.get("toolCall") if isinstance(subject, dict) else params.get("toolCall")
        elif message.get("method") == "session/update" and isinstance(params.get("update"), dict):
            said = params["update"] if params["update"].get("sessionUpdate") == "tool_call_update" else None
        if isinstance(said, dict) and is_whole(said.get("toolCallId")):
            yield f"{record.name} {params.get('sessionId')}", said["toolCallId"], entry, said


@judge("ACP-PATCH-208", steps=("turns", "meet_able"))
def a_tool_call_begins_with_a_title_and_keeps_its_name(evidence: Evidence) -> None:
    names: dict[tuple[str, str], tuple[Entry, Any]] = {}
    known = set()
    for where, id_, entry, said in tool_call_facts(evidence):
        if (where, id_) not in known and not is_whole(said.get("title")):
            raise Violation("the first update of a tool call has no title", entry)
        known.add((where, id_))
        name = said.get("name")
        if name is None:
            continue
        first, before = names.setdefault((where, id_), (entry, name))
        if name != before:
            raise Violation(f"the name of a tool call changed from {before!r} to {name!r}", first, entry)
    skip_unless(known, "the agent used no tool: give --tool-prompt")
