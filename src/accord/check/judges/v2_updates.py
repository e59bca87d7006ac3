"""What updates say in v2 and in June: ids, words, folders and bytes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry, is_request
from accord.check.judge import judge
from accord.check.judges.v2_sight import (
    BOTH,
    CHUNKS,
    MESSAGES,
    TOOLS,
    V2,
    Told,
    is_extension,
    is_whole,
    prompts_of,
    told,
)

__all__: list[str] = []

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
        # Of the unstable text: no vendor's.
        "subagent_update",
        "session_message",
        "session_message_chunk",
    },
}


def _seen(case: Case, *kinds: str) -> list[Told]:
    """The updates of some kinds.

    Raises:
        Unseen: There were none.
    """
    prompts_of(case, "turns")
    found = list(told(case, *kinds))
    if not found:
        raise Unseen("the agent told nothing of that kind")
    return found


@judge("ACP-PATCH-201", steps=("turns",), editions=BOTH)
def messages_and_chunks_have_ids(case: Case) -> None:
    for each in _seen(case, *MESSAGES, *CHUNKS):
        if not is_whole(each.update.get("messageId")):
            raise Violation(
                f"a {each.update['sessionUpdate']} has the messageId {each.update.get('messageId')!r}", each.entry
            )


@judge("ACP-PATCH-204", steps=("turns", "meet_able"), editions=BOTH)
def everything_about_a_tool_call_names_it(case: Case) -> None:
    for each in _seen(case, *TOOLS):
        kind = each.update["sessionUpdate"]
        if not is_whole(each.update.get("toolCallId")):
            raise Violation(f"a {kind} has the toolCallId {each.update.get('toolCallId')!r}", each.entry)
        if kind == "tool_call_content_chunk" and not isinstance(each.update.get("content"), dict):
            raise Violation("a tool_call_content_chunk has no content", each.entry)


@judge("ACP-PATCH-205", steps=("turns", "meet_able"), editions=V2)
def a_plan_has_an_id(case: Case) -> None:
    for each in _seen(case, "plan_update"):
        plan = each.update.get("plan")
        if not isinstance(plan, dict) or not is_whole(plan.get("planId")):
            raise Violation("a plan has no planId", each.entry)


@judge("ACP-PATCH-206", steps=("turns", "meet_able"), editions=V2)
def a_terminal_stays_in_its_absolute_folder(case: Case) -> None:
    folders: dict[tuple[str, str], Told] = {}
    for each in _seen(case, "terminal_update"):
        cwd = each.update.get("cwd")
        if cwd is None:
            continue
        if not isinstance(cwd, str) or not (PurePosixPath(cwd).is_absolute() or PureWindowsPath(cwd).is_absolute()):
            raise Violation(f"the folder of a terminal is {cwd!r}", each.entry)
        key = str(each.session), str(each.update.get("terminalId"))
        # Another process may give the same names to other things: only one record at a time.
        first = folders.setdefault((f"{each.record.name} {key[0]}", key[1]), each)
        if first.update["cwd"] != cwd:
            raise Violation(f"the folder of a terminal changed to {cwd!r}", first.entry, each.entry)
    if not folders:
        raise Unseen("no terminal told its folder")


@judge("ACP-PATCH-207", steps=("turns", "meet_able"), editions=V2)
def each_piece_of_output_is_base64_by_itself(case: Case) -> None:
    pieces = list(_pieces(_seen(case, "terminal_output_chunk", "terminal_update")))
    if not pieces:
        raise Unseen("no terminal had output")
    for entry, data in pieces:
        try:
            base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise Violation("a piece of a terminal's output is not base64", entry) from None


def _pieces(seen: list[Told]) -> Iterator[tuple[Entry, Any]]:
    for each in seen:
        if each.update["sessionUpdate"] == "terminal_output_chunk":
            yield each.entry, each.update.get("data")
        elif isinstance(each.update.get("output"), dict):
            yield each.entry, each.update["output"].get("data")


# --- tool calls over time


def _tool_calls(case: Case) -> Iterator[tuple[str, str, Entry, dict[str, Any]]]:
    """Everything that was said of tool calls, in questions too: process and session, id, line, what was said."""
    prompts_of(case, "turns")
    for record, entry, message in case.messages():
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


@judge("ACP-PATCH-208", steps=("turns", "meet_able"), editions=V2)
def a_tool_call_begins_with_a_title_and_keeps_its_name(case: Case) -> None:
    names: dict[tuple[str, str], tuple[Entry, Any]] = {}
    seen = set()
    for where, id_, entry, said in _tool_calls(case):
        if (where, id_) not in seen and not is_whole(said.get("title")):
            raise Violation("a tool call was first told without a title", entry)
        seen.add((where, id_))
        name = said.get("name")
        if name is None:
            continue
        first, before = names.setdefault((where, id_), (entry, name))
        if name != before:
            raise Violation(f"the name of a tool call changed from {before!r} to {name!r}", first, entry)
    if not seen:
        raise Unseen("the agent used no tool: give --tool-prompt")


# --- words


def _is_strange(word: Any, known: set[str]) -> bool:
    """Whether a word is neither known nor private; what is no word at all is not this rule's matter."""
    return isinstance(word, str) and word not in known and not is_extension(word)


@judge("ACP-ENUM-201", steps=("turns", "meet_able"), editions=BOTH)
def words_of_tool_calls_and_plans_are_known(case: Case) -> None:
    edition = case.edition
    for _, _, entry, said in _tool_calls(case):
        for key, known in (("kind", KINDS), ("status", STATUSES[edition])):
            if _is_strange(said.get(key), known):
                raise Violation(f"the {key} of a tool call is {said[key]!r}", entry)
    for each in told(case, "plan_update"):
        for planned in _entries(each.update.get("plan")):
            for key, known in (("priority", PRIORITIES), ("status", PLAN_STATUSES[edition])):
                if _is_strange(planned.get(key), known):
                    raise Violation(f"the {key} in a plan is {planned[key]!r}", each.entry)


def _entries(plan: Any) -> list[dict[str, Any]]:
    entries = plan.get("entries") if isinstance(plan, dict) else None
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


@judge("ACP-ENUM-202", steps=("turns", "meet_able"), editions=BOTH)
def words_of_updates_states_and_content_are_known(case: Case) -> None:
    for each in _seen(case):
        update, kind = each.update, each.update.get("sessionUpdate")
        if _is_strange(kind, UPDATES[case.edition]):
            raise Violation(f"there is no update {kind!r}", each.entry)
        if kind == "state_update" and _is_strange(update.get("state"), STATES):
            raise Violation(f"there is no state {update['state']!r}", each.entry)
        known = BLOCKS if kind in {*MESSAGES, *CHUNKS} else CONTENTS[case.edition]
        if kind in {*MESSAGES, *CHUNKS, *TOOLS}:
            for content in _contents(update.get("content")):
                if _is_strange(content.get("type"), known):
                    raise Violation(f"there is no content of the type {content['type']!r}", each.entry)


def _contents(content: Any) -> list[dict[str, Any]]:
    contents = content if isinstance(content, list) else [content]
    return [each for each in contents if isinstance(each, dict)]
