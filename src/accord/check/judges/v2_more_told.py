"""What v2 agents tell: sessions that are known, words that are known, background work, failures, compactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Violation
from accord.check.entry import Entry, Record, messages_in
from accord.check.judge import judge
from accord.check.judges.v2_more_seen import FINAL, Told, answers_to, needed, questions, told, told_by_session

__all__: list[str] = []

_TURNS = ("v2_finished_things", "v2_strange_answer")
_WORDS: dict[str, set[str]] = {
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


@judge("ACCORD-UPDATE-201", steps=("v2_finished_things",), editions=("v2",))
def sessions_are_known(case: Case) -> None:
    known = {record.name: _known_sessions(record) for record in case.records}
    for each in told(case):
        if isinstance(each.session, str) and each.session not in known[each.record.name]:
            raise Violation(f"nobody knows a session {each.session!r}", each.entry)


def _known_sessions(record: Record) -> set[str]:
    """The sessions that we named in a process, or were told of as the result of a request."""
    owners = [message.get("params") for _, message in messages_in(record.entries, sent=True)]
    owners += [message.get("result") for _, message in messages_in(record.entries)]
    found = [owner.get("sessionId") for owner in owners if isinstance(owner, dict)]
    return {session for session in found if isinstance(session, str)}


# --- words


@judge("ACCORD-ENUM-201", steps=("v2_finished_things", "v2_strange_answer"), editions=("v2",))
def words_are_known(case: Case) -> None:
    found = [*_words_of_questions(case), *_words_of_updates(case), *_words_of_options(case)]
    words = [(entry, what, word) for entry, what, word in found if isinstance(word, str)]
    needed(words, "none of these words was used")
    for entry, what, word in words:
        if word not in _WORDS[what] and not word.startswith("_"):
            raise Violation(f"{word!r} is no {what}", entry)


def _dicts(owner: Any, name: str) -> list[dict[str, Any]]:
    found = owner.get(name) if isinstance(owner, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _words_of_questions(case: Case) -> Iterator[tuple[Entry, str, Any]]:
    for _, entry, params in questions(case, "session/request_permission"):
        for option in _dicts(params, "options"):
            yield entry, "kind of an option", option.get("kind")
        if isinstance(params.get("subject"), dict):
            yield entry, "subject of a permission", params["subject"].get("type")
    for _, entry, params in questions(case, "elicitation/create"):
        yield entry, "mode of a question", params.get("mode")


def _words_of_updates(case: Case) -> Iterator[tuple[Entry, str, Any]]:
    for each in told(case):
        match each.update.get("sessionUpdate"):
            case "notice":
                yield each.entry, "severity", each.update.get("severity")
            case "compaction_update":
                yield each.entry, "status of a compaction", each.update.get("status")
            case "state_update":
                for item in _dicts(each.update, "background"):
                    yield each.entry, "background work", item.get("type")
            case "tool_call_update" | "tool_call_content_chunk":
                yield from _words_of_diffs(each)
            case _:
                pass


def _words_of_diffs(each: Told) -> Iterator[tuple[Entry, str, Any]]:
    for content in [each.update.get("content"), *_dicts(each.update, "content")]:
        if isinstance(content, dict) and content.get("type") == "diff":
            for change in _dicts(content, "changes"):
                yield each.entry, "operation", change.get("operation")
                yield each.entry, "type of a file", change.get("fileType")
            patch = content.get("patch")
            yield each.entry, "format of a patch", patch.get("format") if isinstance(patch, dict) else None


def _words_of_options(case: Case) -> Iterator[tuple[Entry, str, Any]]:
    for _, entry, result in answers_to(case, "session/new", "session/resume", "session/set_config_option"):
        for option in _dicts(result, "configOptions"):
            yield entry, "category of an option", option.get("category")


# --- states


@judge("ACCORD-STATE-201", steps=("v2_finished_things",), editions=("v2",))
def background_work_is_always_told(case: Case) -> None:
    reporting = 0
    for states in told_by_session(case, "state_update"):
        telling = [each for each in states if isinstance(each.update.get("background"), list)]
        silent = [each for each in states if each.update.get("background") is None]
        reporting += len(telling)
        if telling and silent:
            raise Violation("one state tells of background work, the other does not", telling[0].entry, silent[0].entry)
    needed(reporting, "no background work is told")


def _items(update: dict[str, Any]) -> set[str]:
    """The ids of the background work that an update lists; with what they are, since ids may be alike."""
    found = set()
    for item in _dicts(update, "background"):
        for name in ("terminalId", "toolCallId"):
            if isinstance(item.get(name), str):
                found.add(f"{name} {item[name]}")
    return found


def _subjects(update: dict[str, Any]) -> set[str]:
    """What an update that is no state is about, in the same words."""
    return {f"{name} {update[name]}" for name in ("terminalId", "toolCallId") if isinstance(update.get(name), str)}


@judge("ACCORD-STATE-202", steps=("v2_finished_things",), editions=("v2",))
def background_work_is_announced(case: Case) -> None:
    listed = 0
    for updates in told_by_session(case):
        announced: set[str] = set()
        for each in updates:
            items = _items(each.update)
            listed += len(items)
            if items - announced:
                raise Violation(f"{min(items - announced)} was never told of", each.entry)
            announced |= _subjects(each.update)
    needed(listed, "no background work is listed")


@judge("ACCORD-STATE-203", steps=("v2_finished_things",), editions=("v2",))
def the_end_of_background_work_is_told(case: Case) -> None:
    dropped = 0
    for updates in told_by_session(case):
        before: set[str] = set()
        ended: set[str] = set()
        for each in updates:
            if each.update.get("status") in FINAL or each.update.get("exitStatus") is not None:
                ended |= _subjects(each.update)
            if isinstance(each.update.get("background"), list):
                now = _items(each.update)
                dropped += len(before - now)
                if before - now - ended:
                    raise Violation(f"the end of {min(before - now - ended)} was not told", each.entry)
                before = now
    needed(dropped, "no background work has ended")


@judge("ACCORD-STATE-204", steps=("v2_finished_things",), editions=("v2",))
def failures_say_why(case: Case) -> None:
    failed = [each for each in told(case, "state_update") if each.update.get("stopReason") == "error"]
    needed(failed, "no work has failed")
    for each in failed:
        if not isinstance(each.update.get("error"), dict):
            raise Violation("there is no error", each.entry)


@judge("ACCORD-STATE-205", steps=("v2_prompts_in_order",), editions=("v2",))
def ends_say_why(case: Case) -> None:
    played = case.step("v2_prompts_in_order")
    is_working = False
    ends = 0
    for entry, update in played.updates(played["session"], "state_update", since=played["since"]):
        if is_working and update.get("state") == "idle":
            ends += 1
            if update.get("stopReason") is None:
                raise Violation("there is no stop reason", entry)
        is_working = update.get("state") != "idle"
    needed(ends, "no work has ended")


@judge("ACCORD-STATE-206", steps=("v2_finished_things",), editions=("v2",))
def background_work_is_listed_once(case: Case) -> None:
    listed = 0
    for each in told(case, "state_update"):
        items = [repr(sorted(item.items())) for item in _dicts(each.update, "background")]
        listed += len(items)
        if len(items) != len(set(items)):
            raise Violation("something is listed twice", each.entry)
    needed(listed, "no background work is listed")


@judge("ACCORD-MESSAGE-201", steps=("v2_prompts_in_order",), editions=("v2",))
def messages_of_two_turns_are_two(case: Case) -> None:
    played = case.step("v2_prompts_in_order")
    turn = 0
    seen: dict[Any, tuple[int, Entry]] = {}
    kinds = ("state_update", "agent_message", "agent_message_chunk")
    for entry, update in played.updates(played["session"], *kinds, since=played["since"]):
        if update["sessionUpdate"] == "state_update":
            turn += update.get("state") == "idle"
            continue
        first, before = seen.setdefault(update.get("messageId"), (turn, entry))
        if first != turn:
            raise Violation("a message of a later turn has the id of an earlier one", before, entry)
    needed(seen, "the agent said nothing")


# --- compactions


def _compactions(case: Case) -> list[list[Told]]:
    """What was told of each compaction in turns that were live."""
    sessions = {case.steps[name].get("session") for name in _TURNS if name in case.steps}
    found: dict[tuple[str, Any], list[Told]] = {}
    for each in told(case, "compaction_update", "compaction_summary_chunk"):
        if each.session in sessions:
            found.setdefault((each.record.name, each.update.get("compactionId")), []).append(each)
    needed(found, "there was no compaction")
    return list(found.values())


@judge("ACCORD-COMPACT-201", steps=_TURNS, editions=("v2",))
def pieces_come_while_it_goes_on(case: Case) -> None:
    for updates in _compactions(case):
        end: Told | None = None
        for each in updates:
            if each.update["sessionUpdate"] == "compaction_update":
                end = each if each.update.get("status") in FINAL else None
            elif end is not None:
                raise Violation("a piece of the summary came after the end", end.entry, each.entry)


@judge("ACCORD-COMPACT-202", steps=_TURNS, editions=("v2",))
def a_completed_compaction_has_a_summary(case: Case) -> None:
    for updates in _compactions(case):
        summary = False
        for each in updates:
            if "summary" in each.update:
                summary = bool(each.update["summary"])
            elif each.update["sessionUpdate"] == "compaction_summary_chunk":
                summary = True
            if each.update.get("status") == "completed" and not summary:
                raise Violation("there is no summary", each.entry)


@judge("ACCORD-COMPACT-203", steps=_TURNS, editions=("v2",))
def a_failed_compaction_says_why(case: Case) -> None:
    failed = [each for updates in _compactions(case) for each in updates if each.update.get("status") == "failed"]
    needed(failed, "no compaction has failed")
    for each in failed:
        if not each.update.get("error"):
            raise Violation("there is no error", each.entry)
