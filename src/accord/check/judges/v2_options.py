"""The options of a session in v2 and in June: whole, with values that they have, and always all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry
from accord.check.judge import judge
from accord.check.judges.v2_sight import BOTH, JUNE, V2, is_extension, is_whole, told

__all__: list[str] = []

KEYS = {"v2": "configId", "v2_june": "id"}


def _in(value: Any) -> list[dict[str, Any]] | None:
    found = value.get("configOptions") if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else None


def _lack(option: dict[str, Any]) -> str:
    """What is wrong with an option of v2, "" if nothing is."""
    for key in ("configId", "name"):
        if not is_whole(option.get(key)):
            return f"the {key} {option.get(key)!r}"
    type_ = option.get("type")
    if type_ not in {"select", "boolean"} and not is_extension(type_):
        return f"the type {type_!r}"
    if type_ != "select":
        return ""
    choices = option.get("options")
    if not isinstance(choices, list) or not all(isinstance(each, dict) for each in choices):
        return "no list of choices"
    if len({"options" in each for each in choices}) > 1:
        return "choices in groups beside others that are in none"
    return ""


def _check(options: list[dict[str, Any]], entry: Entry) -> None:
    for option in options:
        wrong = _lack(option)
        if wrong:
            raise Violation(f"an option has {wrong}", entry)


def _offered(case: Case) -> tuple[Played, list[dict[str, Any]]]:
    """The step with the options, and what was offered in it."""
    played = case.step("options")
    options = _in(played.result(played["new"]))
    if not options:
        raise Unseen("this session has no options")
    return played, options


@judge("ACP-CONFIG-201", steps=("options",), editions=V2)
def options_are_whole(case: Case) -> None:
    played, options = _offered(case)
    _check(options, played.answer_entry(played["new"]))
    meet = case.begun("meet")
    for id_ in meet.get("new") or []:
        answers = meet.answers(id_)
        if answers:
            _check(_in(answers[0][1].get("result")) or [], answers[0][0])


@judge("ACP-CONFIG-202", steps=("options",), editions=V2)
def setting_an_option_is_answered_with_all(case: Case) -> None:
    played, options = _offered(case)
    known = {option.get("configId") for option in options}
    if not played["changes"]:
        raise Unseen(next(iter(played["untouched"]), "no option can have another value"))
    for id_, value, request in played["changes"]:
        entries = played.request_entry(request), played.answer_entry(request)
        after = _in(played.answer(request).get("result"))
        if after is None:
            raise Violation(f"the option {id_!r} could not be set to {value!r}", *entries)
        missing = known - {option.get("configId") for option in after}
        if missing:
            raise Violation(f"the answer does not have the options {sorted(map(str, missing))}", *entries)


@judge("ACP-CONFIG-002", steps=("options",), editions=JUNE)
def setting_an_option_is_answered_with_all_and_the_new_value(case: Case) -> None:
    played, options = _offered(case)
    known = {option.get("id") for option in options}
    if not played["changes"]:
        raise Unseen(next(iter(played["untouched"]), "no option can have another value"))
    for id_, value, request in played["changes"]:
        entries = played.request_entry(request), played.answer_entry(request)
        after = {option.get("id"): option for option in _in(played.answer(request).get("result")) or []}
        if id_ not in after or after[id_].get("currentValue") != value:
            raise Violation(f"the answer does not have {value!r} for the option {id_!r}", *entries)
        if known - set(after):
            raise Violation(f"the answer does not have the options {sorted(map(str, known - set(after)))}", *entries)


@judge("ACP-CONFIG-203", steps=("options",), editions=V2)
def resuming_tells_options_in_the_same_shape(case: Case) -> None:
    played, _ = _offered(case)
    if played.get("resume") is None or "result" not in played.answer(played["resume"]):
        raise Unseen("the session was not resumed")
    options = _in(played.result(played["resume"]))
    if options is None:
        raise Unseen("resuming told no options")
    _check(options, played.answer_entry(played["resume"]))


def _lists(case: Case) -> Iterator[tuple[Entry, list[dict[str, Any]]]]:
    """Every list of options that was told, in all processes."""
    for _, entry, message in case.messages():
        params = message.get("params")
        said = params.get("update") if isinstance(params, dict) else message.get("result")
        options = _in(said)
        if options is not None:
            yield entry, options


def _values(option: dict[str, Any]) -> list[Any]:
    """What a select can be, in groups or not."""
    choices = [each for each in option.get("options") or [] if isinstance(each, dict)]
    nested = [each.get("options", [each]) for each in choices]
    return [one.get("value") for each in nested if isinstance(each, list) for one in each if isinstance(one, dict)]


@judge("ACP-CONFIG-204", steps=("options",), editions=V2)
@judge("ACP-CONFIG-001", steps=("options",), editions=JUNE)
def the_value_of_a_select_is_one_of_its_choices(case: Case) -> None:
    judged = 0
    for entry, options in _lists(case):
        for option in options:
            if option.get("type") == "select":
                judged += 1
                if option.get("currentValue") not in _values(option):
                    name = option.get(KEYS[case.edition])
                    raise Violation(f"the option {name!r} is {option.get('currentValue')!r}, which is no choice", entry)
    if not judged:
        raise Unseen("there is no select")


@judge("ACP-CONFIG-206", steps=("options",), editions=BOTH)
def an_update_about_options_has_all(case: Case) -> None:
    played, options = _offered(case)
    key = KEYS[case.edition]
    known = {option.get(key) for option in options}
    judged = 0
    for each in told(case, "config_option_update"):
        judged += 1
        missing = known - {option.get(key) for option in _in(each.update) or []}
        if each.record.entries is played.entries and missing:
            raise Violation(
                f"an update does not have the options {sorted(map(str, missing))}",
                played.answer_entry(played["new"]),
                each.entry,
            )
    if not judged:
        raise Unseen("no update was about options")
