"""Tool calls of v2, their diffs and their terminals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Violation
from accord.check.entry import Entry
from accord.check.judge import judge
from accord.check.judges.v2_more_seen import (
    FINAL,
    Told,
    entities,
    is_absolute,
    needed,
    questions,
    told,
    told_by_session,
)

__all__: list[str] = []

_CHANGED = ("tool_call_update", "tool_call_content_chunk")
_STEPS = ("v2_finished_things",)
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEADS = ("--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ")


def _dicts(owner: Any, name: str) -> list[dict[str, Any]]:
    found = owner.get(name) if isinstance(owner, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _tool_calls(case: Case) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """All that was told of tool calls, by updates and by permissions."""
    for each in told(case, *_CHANGED):
        yield each.entry, each.update
    for _, entry, params in questions(case, "session/request_permission"):
        subject = params.get("subject")
        if isinstance(subject, dict) and isinstance(subject.get("toolCall"), dict):
            yield entry, subject["toolCall"]


def _contents(case: Case) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every piece of content of a tool call."""
    for entry, call in _tool_calls(case):
        single = [call["content"]] if isinstance(call.get("content"), dict) else []
        for content in [*single, *_dicts(call, "content")]:
            yield entry, content


def _diffs(case: Case) -> list[tuple[Entry, dict[str, Any]]]:
    found = [(entry, content) for entry, content in _contents(case) if content.get("type") == "diff"]
    needed(found, "there was no diff")
    return found


@judge("ACCORD-TOOL-201", steps=_STEPS, editions=("v2",))
def paths_are_absolute(case: Case) -> None:
    owners = [(entry, each) for entry, call in _tool_calls(case) for each in _dicts(call, "locations")]
    owners += [(entry, each) for entry, content in _contents(case) for each in _dicts(content, "changes")]
    paths = [(entry, owner[name]) for entry, owner in owners for name in ("path", "oldPath") if name in owner]
    needed(paths, "no path was told")
    for entry, path in paths:
        if not is_absolute(path):
            raise Violation(f"{path!r} is no absolute path", entry)


# --- diffs


@judge("ACCORD-TOOL-202", steps=_STEPS, editions=("v2",))
def a_diff_has_a_patch(case: Case) -> None:
    diffs = _diffs(case)
    # A binary file, or one that is as it was before, has none; who gives one elsewhere knows how.
    if not any(isinstance(diff.get("patch"), dict) for _, diff in diffs):
        raise Violation("no diff has a patch", diffs[0][0])


def _patches(case: Case) -> list[tuple[Entry, dict[str, Any], str]]:
    found = []
    for entry, diff in _diffs(case):
        patch = diff.get("patch")
        if isinstance(patch, dict) and patch.get("format") == "git_patch" and isinstance(patch.get("text"), str):
            found.append((entry, diff, patch["text"]))
    needed(found, "there was no Git patch")
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


@judge("ACCORD-TOOL-203", steps=_STEPS, editions=("v2",))
def git_patches_have_absolute_paths(case: Case) -> None:
    for entry, _, patch in _patches(case):
        if not patch.startswith("diff --git "):
            raise Violation("it does not begin with a section", entry)
        sections = [line.removeprefix("diff --git ") for line in _heads(patch) if line.startswith("diff --git ")]
        for path in [*sections, *_paths(patch)]:
            if not is_absolute(path.removeprefix('"')):
                raise Violation(f"{path!r} is no absolute path", entry)


@judge("ACCORD-TOOL-204", steps=_STEPS, editions=("v2",))
def patches_agree_with_changes(case: Case) -> None:
    for entry, diff, patch in _patches(case):
        changed = {each.get(name) for each in _dicts(diff, "changes") for name in ("path", "oldPath")}
        for path in _paths(patch):
            if is_absolute(path) and path not in changed:
                raise Violation(f"no change names {path!r}", entry)


# --- what can still be cancelled, what still goes on


def _can_be_cancelled(thing: dict[str, Any]) -> bool:
    capabilities = thing.get("capabilities")
    return isinstance(capabilities, dict) and capabilities.get("cancel") is not None


def _look_at_offers(case: Case, kind: str, id_name: str, why_not: str) -> None:
    """What has ended does not offer to be cancelled."""
    offered = 0
    for updates in told_by_session(case, kind):
        offered += sum(_can_be_cancelled(each.update) for each in updates)
        for id_, thing in entities(updates, id_name).items():
            has_ended = thing.get("status") in FINAL or thing.get("exitStatus") is not None
            if has_ended and _can_be_cancelled(thing):
                raise Violation(f"{id_!r} has ended and offers to be cancelled", thing["entry"])
    needed(offered, why_not)


@judge("ACCORD-TOOL-205", steps=("v2_stopped_alone",), editions=("v2",))
def ended_tool_calls_offer_nothing(case: Case) -> None:
    _look_at_offers(case, "tool_call_update", "toolCallId", "no tool call offered to be cancelled")


@judge("ACCORD-TERM-202", steps=("v2_stopped_alone",), editions=("v2",))
def exited_terminals_offer_nothing(case: Case) -> None:
    _look_at_offers(case, "terminal_update", "terminalId", "no terminal offered to be cancelled")


@judge("ACCORD-TOOL-206", steps=_STEPS, editions=("v2",))
def tool_calls_end_before_the_session_is_idle(case: Case) -> None:
    seen = 0

    def look(each: Told, calls: dict[Any, dict[str, Any]]) -> None:
        if each.update.get("sessionUpdate") != "state_update" or each.update.get("state") != "idle":
            return
        background = _dicts(each.update, "background")
        if any("toolCallId" not in item for item in background):
            return  # A process is listed as its terminal, which stands for its tool call.
        listed = {item.get("toolCallId") for item in background}
        for id_, call in calls.items():
            if call.get("status") not in FINAL and id_ not in listed:
                raise Violation(f"tool call {id_!r} has not ended", call["entry"], each.entry)

    for updates in told_by_session(case, "tool_call_update", "state_update"):
        seen += len(entities(updates, "toolCallId", look))
    needed(seen, "there was no tool call")


@judge("ACCORD-TOOL-207", steps=("v2_prompts_in_order",), editions=("v2",))
def ended_tool_calls_do_not_begin_again(case: Case) -> None:
    ended: dict[Any, Entry] = {}
    for entry, update in _of_three_turns(case, "tool_call_update"):
        id_ = update.get("toolCallId")
        if update.get("status") in FINAL:
            ended[id_] = entry
        elif update.get("status") in {"pending", "in_progress", "paused"} and id_ in ended:
            raise Violation(f"tool call {id_!r} had ended", ended[id_], entry)
    needed(ended, "no tool call has ended")


@judge("ACCORD-TERM-203", steps=("v2_prompts_in_order",), editions=("v2",))
def terminals_are_not_used_again(case: Case) -> None:
    exited: dict[Any, Entry] = {}
    for entry, update in _of_three_turns(case, "terminal_update"):
        id_ = update.get("terminalId")
        if update.get("command") is not None and id_ in exited:
            raise Violation(f"terminal {id_!r} had exited, and has a command again", exited[id_], entry)
        if update.get("exitStatus") is not None:
            exited[id_] = entry
    needed(exited, "no terminal has exited")


def _of_three_turns(case: Case, kind: str) -> list[tuple[Entry, dict[str, Any]]]:
    """What was told in the one session that has several turns and is never resumed."""
    played = case.step("v2_prompts_in_order")
    return played.updates(played["session"], kind, since=played["since"])


@judge("ACCORD-TERM-201", steps=_STEPS, editions=("v2",))
def shown_terminals_are_described(case: Case) -> None:
    shown = [(entry, each.get("terminalId")) for entry, each in _contents(case) if each.get("type") == "terminal"]
    needed(shown, "no terminal was shown")
    described = {each.update.get("terminalId") for each in told(case, "terminal_update", "terminal_output_chunk")}
    for entry, terminal in shown:
        if terminal not in described:
            raise Violation(f"nothing was told of terminal {terminal!r}", entry)
