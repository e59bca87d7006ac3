"""Sessions of v2 that must not be, are not there, are listed and closed; their options and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry
from accord.check.judge import judge
from accord.check.judges.v2_more_seen import answers_to, must_be_refused, needed, told

__all__: list[str] = []

_INVALID_PARAMS, _NO_SESSION, _CANCELLED = -32602, -32002, -32800
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


@judge("ACCORD-SESSION-201", steps=("v2_refused_sessions",), editions=("v2",))
def a_relative_directory_is_refused(case: Case) -> None:
    played = case.step("v2_refused_sessions")
    must_be_refused(played, played["relative"], _INVALID_PARAMS)


@judge("ACCORD-SESSION-202", steps=("v2_refused_sessions",), editions=("v2",))
def no_directory_is_refused(case: Case) -> None:
    played = case.step("v2_refused_sessions")
    must_be_refused(played, played["nowhere"], _INVALID_PARAMS)


@judge("ACCORD-SESSION-203", steps=("v2_refused_sessions",), editions=("v2",))
def null_lists_are_empty(case: Case) -> None:
    played = case.step("v2_refused_sessions")
    played.result(played["nulls"])


@judge("ACCORD-SESSION-204", steps=("meet", "v2_resumes"), editions=("v2",))
def lists_in_results_are_lists(case: Case) -> None:
    for _, entry, result in answers_to(case, "session/new", "session/resume"):
        for name in ("configOptions", "availableCommands"):
            if name in result and result[name] is None:
                raise Violation(f"{name} is null", entry)


@judge("ACCORD-ADDDIRS-201", steps=("v2_relative_root",), editions=("v2",))
def a_relative_root_is_refused(case: Case) -> None:
    played = case.step("v2_relative_root")
    must_be_refused(played, played["new"], _INVALID_PARAMS)


@judge("ACCORD-MCP-201", steps=("v2_refused_sessions",), editions=("v2",))
def an_unknown_transport_is_refused(case: Case) -> None:
    played = case.step("v2_refused_sessions")
    must_be_refused(played, played["pigeons"], _INVALID_PARAMS)


@judge("ACCORD-MCP-202", steps=("v2_refused_sessions",), editions=("v2",))
def a_transport_that_is_not_advertised_is_refused(case: Case) -> None:
    played = case.step("v2_refused_sessions")
    asked = [played[name] for name in ("stdio", "http") if played.get(name)]
    needed(asked, "every transport is advertised")
    for id_ in asked:
        must_be_refused(played, id_, _INVALID_PARAMS)


# --- sessions that are not there


@judge("ACCORD-UNKNOWN-201", steps=("v2_unknown_sessions",), editions=("v2",))
def prompting_an_unknown_session_is_refused(case: Case) -> None:
    played = case.step("v2_unknown_sessions")
    must_be_refused(played, played["prompt"], _NO_SESSION)


@judge("ACCORD-UNKNOWN-202", steps=("v2_unknown_sessions",), editions=("v2",))
def resuming_an_unknown_session_is_refused(case: Case) -> None:
    played = case.step("v2_unknown_sessions")
    must_be_refused(played, played["resume"], _NO_SESSION)


@judge("ACCORD-UNKNOWN-203", steps=("v2_unknown_sessions",), editions=("v2",))
def the_unknown_session_is_named(case: Case) -> None:
    played = case.step("v2_unknown_sessions")
    ids = [played[name] for name in ("prompt", "resume") if _code(played, played[name]) == _NO_SESSION]
    needed(ids, "there was no error -32002")
    for id_ in ids:
        data = played.error(id_).get("data")
        request = played.request_entry(id_)
        asked = request.message["params"]["sessionId"] if request else None
        if not isinstance(data, dict) or data.get("sessionId") != asked:
            raise Violation(f"the data is {data!r}", request, played.answer_entry(id_))


def _code(played: Played, id_: Any) -> Any:
    error = played.answer(id_).get("error")
    return error.get("code") if isinstance(error, dict) else None


# --- the list


@judge("ACCORD-LIST-201", steps=("v2_lists",), editions=("v2",))
def pages_end_and_do_not_overlap(case: Case) -> str | None:
    played = case.step("v2_lists")
    if "result" not in played.answer(played["pages"][0]):
        raise Unseen("session/list does not work")
    seen: dict[Any, Entry] = {}
    for id_ in played["pages"]:
        entry, result = played.answer_entry(id_), played.result(id_)
        sessions = result.get("sessions") if isinstance(result, dict) else None
        for session in sessions if isinstance(sessions, list) else []:
            named = session.get("sessionId") if isinstance(session, dict) else None
            if named in seen:
                raise Violation(f"session {named!r} stands there twice", seen[named], entry)
            seen[named] = entry
    return f"{len(seen)} sessions on {len(played['pages'])} pages"


@judge("ACCORD-LIST-202", steps=("v2_lists",), editions=("v2",))
def a_page_that_never_was(case: Case) -> str:
    played = case.step("v2_lists")
    code = _code(played, played["strange"])
    return "it succeeded" if code is None else f"error {code}"


@judge("ACCORD-LIST-203", steps=("v2_lists", "v2_finished_things"), editions=("v2",))
def times_are_times(case: Case) -> None:
    found = [(each.entry, each.update.get("updatedAt")) for each in told(case, "session_info_update")]
    for _, entry, result in answers_to(case, "session/list"):
        sessions = result.get("sessions")
        listed = sessions if isinstance(sessions, list) else []
        found += [(entry, each.get("updatedAt")) for each in listed if isinstance(each, dict)]
    times = [(entry, time) for entry, time in found if time is not None]
    needed(times, "no time of an activity was told")
    for entry, time in times:
        if not isinstance(time, str) or not _TIME.fullmatch(time):
            raise Violation(f"{time!r} is no time", entry)


# --- closing and deleting


@judge("ACCORD-CLOSE-201", steps=("v2_closes",), editions=("v2",))
def nothing_is_told_of_a_closed_session(case: Case) -> None:
    played = case.step("v2_closes")
    closed = played.answer_entry(played["close"])
    played.result(played["close"])
    for entry, _ in played.updates(played["session"], since=closed.place):
        raise Violation("something was told after the answer to session/close", closed, entry)


@judge("ACCORD-CLOSE-202", steps=("v2_closes",), editions=("v2",))
def a_held_prompt_is_cancelled_by_closing(case: Case) -> None:
    played = case.step("v2_closes")
    if "result" in played.answer(played["behind"]):
        raise Unseen("no prompt was held: it was inserted at once")
    must_be_refused(played, played["behind"], _CANCELLED)


@judge("ACCORD-CLOSE-203", steps=("v2_closes",), editions=("v2",))
def a_closed_session_cannot_be_prompted(case: Case) -> None:
    played = case.step("v2_closes")
    if "result" not in played.answer(played["close"]):
        raise Unseen("session/close did not succeed")
    must_be_refused(played, played["prompt"], _NO_SESSION)


@judge("ACCORD-CLOSE-204", steps=("v2_closes", "v2_unknown_sessions"), editions=("v2",))
def closing_what_is_not_open_succeeds(case: Case) -> None:
    played = case.step("v2_unknown_sessions")
    played.result(played["close"])
    played = case.step("v2_closes")
    if "result" in played.answer(played["close"]):
        played.result(played["again"])


@judge("ACCORD-DELETE-201", steps=("v2_deletes",), editions=("v2",))
def a_deleted_session_is_gone(case: Case) -> None:
    played = case.step("v2_deletes")
    if "result" not in played.answer(played["delete"]):
        raise Unseen("session/delete did not succeed")
    must_be_refused(played, played["resume"], _NO_SESSION)


# --- options and commands


def _wrong_option(case: Case, name: str) -> None:
    played = case.step("v2_wrong_options")
    needed(played.get(name), "there is no option with values to choose from")
    must_be_refused(played, played[name], _INVALID_PARAMS)


@judge("ACCORD-CONFIG-201", steps=("v2_wrong_options",), editions=("v2",))
def an_unknown_option_is_refused(case: Case) -> None:
    _wrong_option(case, "option")


@judge("ACCORD-CONFIG-202", steps=("v2_wrong_options",), editions=("v2",))
def an_unknown_value_is_refused(case: Case) -> None:
    _wrong_option(case, "value")


@judge("ACCORD-CONFIG-203", steps=("v2_wrong_options",), editions=("v2",))
def a_value_of_an_unknown_type_is_refused(case: Case) -> None:
    _wrong_option(case, "type")


@judge("ACCORD-CONFIG-204", steps=("v2_wrong_options",), editions=("v2",))
def what_was_refused_changes_nothing(case: Case) -> None:
    played = case.step("v2_wrong_options")
    needed(played.get("same"), "there is no option with values to choose from")
    if "result" not in played.answer(played["same"]):
        raise Unseen("session/set_config_option did not succeed")
    before, after = _values(played.result(played["new"])), _values(played.result(played["same"]))
    for id_, value in after.items():
        if id_ in before and before[id_] != value:
            raise Violation(f"{id_!r} was {before[id_]!r} and is {value!r}", played.answer_entry(played["same"]))


def _values(result: Any) -> dict[Any, Any]:
    return {option.get("configId"): option.get("currentValue") for option in _dicts(result, "configOptions")}


def _dicts(owner: Any, name: str) -> list[dict[str, Any]]:
    found = owner.get(name) if isinstance(owner, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _lists(case: Case, name: str) -> Iterator[tuple[Entry, list[dict[str, Any]]]]:
    """Every list of options or of commands that the agent told."""
    for _, entry, result in answers_to(case, "session/new", "session/resume", "session/set_config_option"):
        yield entry, _dicts(result, name)
    for each in told(case, "config_option_update", "available_commands_update"):
        yield each.entry, _dicts(each.update, name)


@judge("ACCORD-CONFIG-205", steps=("meet", "v2_wrong_options"), editions=("v2",))
def values_are_different(case: Case) -> None:
    for entry, options in _lists(case, "configOptions"):
        for option in options:
            choices = _dicts(option, "options")
            values = [each.get("value") for choice in choices for each in _dicts(choice, "options") or [choice]]
            if len(values) != len({repr(value) for value in values}):
                raise Violation(f"option {option.get('configId')!r} has a value twice", entry)


def _commands(case: Case) -> list[tuple[Entry, list[dict[str, Any]]]]:
    found = [(entry, commands) for entry, commands in _lists(case, "availableCommands") if commands]
    needed(found, "there are no commands")
    return found


@judge("ACCORD-COMMAND-201", steps=("meet", "v2_finished_things"), editions=("v2",))
def commands_are_words(case: Case) -> None:
    for entry, commands in _commands(case):
        for command in commands:
            name = command.get("name")
            if isinstance(name, str) and (not name or re.search(r"\s", name)):
                raise Violation(f"{name!r} is no name of a command", entry)


@judge("ACCORD-COMMAND-202", steps=("meet", "v2_finished_things"), editions=("v2",))
def commands_are_different(case: Case) -> None:
    for entry, commands in _commands(case):
        names = [repr(command.get("name")) for command in commands]
        if len(names) != len(set(names)):
            raise Violation("a command stands there twice", entry)
