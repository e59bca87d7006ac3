"""What v2 agents ask of users, and what they make of strange answers."""

from __future__ import annotations

import re
from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry, Record, is_answer, is_request, messages_in
from accord.check.judge import judge
from accord.check.judges.v2_more_seen import is_absolute, key_of, needed, questions

__all__: list[str] = []

_SECRET = re.compile(
    r"credential|pass ?word|pass ?phrase|secret|api[ _-]?key|private[ _-]?key|access[ _-]?token", re.IGNORECASE
)
_PERMISSION, _ELICITATION = "session/request_permission", "elicitation/create"


@judge("ACCORD-PERM-201", steps=("v2_strange_choice",), editions=("v2",))
def what_was_not_offered_is_no_approval(case: Case) -> None:
    played = case.step("v2_strange_choice")
    asked = [
        (entry, call["params"])
        for entry, call in played.calls(_PERMISSION)
        if entry.place >= played["since"] and call["params"].get("sessionId") == played["session"]
    ]
    needed(asked, "no permission was asked for")
    for question, params in asked:
        tool = _tool(params.get("subject"))
        for entry, update in played.updates(played["session"], "tool_call_update", since=question.place):
            if tool is not None and update.get("toolCallId") == tool and update.get("status") == "completed":
                raise Violation("the tool call was completed", question, entry)


def _tool(subject: Any) -> Any:
    if not isinstance(subject, dict):
        return None
    tool = subject.get("toolCall")
    return tool.get("toolCallId") if isinstance(tool, dict) else subject.get("toolCallId")


@judge("ACCORD-PERM-202", steps=("v2_finished_things",), editions=("v2",))
def options_are_different(case: Case) -> None:
    asked = questions(case, _PERMISSION)
    needed(asked, "no permission was asked for")
    for _, entry, params in asked:
        options = params.get("options")
        ids = [key_of(each.get("optionId")) for each in options or [] if isinstance(each, dict)]
        if len(ids) != len(set(ids)):
            raise Violation("two options have the same id", entry)


@judge("ACCORD-PERM-203", steps=("v2_finished_things",), editions=("v2",))
def commands_have_absolute_directories(case: Case) -> None:
    subjects = [(entry, params.get("subject")) for _, entry, params in questions(case, _PERMISSION)]
    commands = [(entry, each) for entry, each in subjects if isinstance(each, dict) and each.get("type") == "command"]
    needed(commands, "no permission was asked for a command")
    for entry, command in commands:
        if not is_absolute(command.get("cwd")):
            raise Violation(f"the directory is {command.get('cwd')!r}", entry)


# --- elicitation


def _elicited(case: Case) -> list[tuple[Record, Entry, dict[str, Any]]]:
    found = questions(case, _ELICITATION)
    needed(found, "the agent asked no question")
    return found


@judge("ACCORD-ELICIT-201", steps=("v2_only_links", "v2_strange_answer"), editions=("v2",))
def only_offered_modes_are_used(case: Case) -> None:
    found = _elicited(case)
    case.step("v2_only_links")
    for record, entry, params in found:
        if record.name.endswith(" v2_only_links") and params.get("mode") != "url":
            raise Violation(f"the client offers links only, and the mode is {params.get('mode')!r}", entry)


@judge("ACCORD-ELICIT-202", steps=("v2_strange_answer",), editions=("v2",))
def a_question_has_one_scope(case: Case) -> None:
    for record, entry, params in _elicited(case):
        scopes = [name for name in ("sessionId", "requestId") if params.get(name) is not None]
        if len(scopes) != 1:
            raise Violation(f"it belongs to {' and '.join(scopes) or 'nothing'}", entry)
        if scopes == ["requestId"] and not _is_pending(record, entry, params["requestId"]):
            raise Violation("the request that it belongs to does not wait for an answer", entry)


def _is_pending(record: Record, question: Entry, id_: Any) -> bool:
    """Whether a request of ours waited for its answer when a question came."""
    before = record.entries[: question.place]
    asked = [
        each for _, each in messages_in(before, sent=True) if is_request(each) and key_of(each["id"]) == key_of(id_)
    ]
    answered = [each for _, each in messages_in(before) if is_answer(each, id_)]
    return len(asked) > len(answered)


@judge("ACCORD-ELICIT-203", steps=("v2_strange_answer",), editions=("v2",))
def forms_ask_for_no_secrets(case: Case) -> None:
    for _, entry, params in _elicited(case):
        schema = params.get("requestedSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for name, each in properties.items() if isinstance(properties, dict) else ():
            title = each.get("title") if isinstance(each, dict) else None
            if _SECRET.search(f"{name} {title or ''}"):
                raise Violation(f"{name!r} is asked for in a form", entry)


@judge("ACCORD-ELICIT-204", steps=("v2_strange_answer", "v2_finished_things"), editions=("v2",))
def an_unknown_action_is_survived(case: Case) -> None:
    played = case.step("v2_strange_answer")
    asked = [entry for entry, _ in played.calls(_ELICITATION) if entry.place >= played["since"]]
    needed(asked, "the agent asked no question")
    if "error" in played.answer(played["prompt"]):
        raise Unseen("the prompt was refused")
    if played["idle"] is None:
        case.step("v2_finished_things")
        raise Violation("the turn did not come to its end", asked[0])
