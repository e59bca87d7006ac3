"""What is told of a session beside its messages: options and modes, commands, plans, cost, ids of messages."""

from __future__ import annotations

import re
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry
from accord.check.judge import judge
from accord.check.judges.v1_more_sight import BOTH, V1, as_dict, key_of, listed, refusal, seen, told

__all__: list[str] = []

_TURNS = ("more_turn", "more_work")


# --- modes and options


def _settings(case: Case) -> list[tuple[Entry, dict[str, Any]]]:
    """The answers of the step `meet` that opened sessions."""
    meet = case.begun("meet")
    answers = [each for id_ in meet.get("new") or [] for each in meet.answers(id_)]
    return [(entry, as_dict(answer.get("result"))) for entry, answer in answers]


def _mode_option(settings: dict[str, Any]) -> dict[str, Any] | None:
    for option in listed(settings.get("configOptions")):
        if as_dict(option).get("category") == "mode":
            return as_dict(option)
    return None


@judge("ACCORD-CONFIG-001", steps=("meet",), editions=V1)
def modes_are_told_both_ways(case: Case) -> None:
    found = False
    for entry, settings in _settings(case):
        has_modes, option = bool(settings.get("modes")), _mode_option(settings)
        found = found or has_modes or option is not None
        if has_modes and option is None:
            raise Violation("there are modes and no option of the category `mode`", entry)
        if option is not None and not has_modes:
            raise Violation("there is an option of the category `mode` and no modes", entry)
    if not found:
        raise Unseen("it has no modes")


@judge("ACCORD-CONFIG-002", steps=("meet",), editions=V1)
def mode_and_option_have_the_same_value(case: Case) -> None:
    found = False
    for entry, settings in _settings(case):
        option, modes = _mode_option(settings), settings.get("modes")
        if option is None or not isinstance(modes, dict):
            continue
        found = True
        ids = [as_dict(mode).get("id") for mode in listed(modes.get("availableModes"))]
        values = [choice.get("value") for choice in _choices(option)]
        # A value that is none of its own list is another rule's business.
        is_sound = modes.get("currentModeId") in ids and option.get("currentValue") in values
        if is_sound and modes["currentModeId"] != option["currentValue"]:
            raise Violation(f"the mode is {modes['currentModeId']!r}, its option {option['currentValue']!r}", entry)
    if not found:
        raise Unseen("its modes are told in one way only")


def _choices(option: dict[str, Any]) -> list[dict[str, Any]]:
    flat: list[dict[str, Any]] = []
    for each in listed(option.get("options")):
        flat.extend(as_dict(choice) for choice in listed(as_dict(each).get("options")) or [each])
    return flat


@judge("ACCORD-CONFIG-003", steps=("v1_more_modes",), editions=V1)
def the_option_follows_the_mode(case: Case) -> None:
    played = _switched(case)
    told_ = played.updates(
        played["session"], "config_option_update", since=played["since_mode"], before=played["since_option"]
    )
    for _, update in told_:
        if (_mode_option(update) or {}).get("currentValue") == played["mode"]:
            return
    entry = played.answer_entry(played["set_mode"])
    raise Violation("no config_option_update told the new mode", played.request_entry(played["set_mode"]), entry)


@judge("ACCORD-CONFIG-004", steps=("v1_more_modes",), editions=V1)
def the_mode_follows_the_option(case: Case) -> None:
    played = _switched(case)
    if "error" in played.answer(played["set_option"]):
        raise Unseen("the option could not be set")
    since, before = played["since_option"], played.end
    updates = played.updates(played["session"], "current_mode_update", since=since, before=before)
    if not any(played["back"] in update.values() for _, update in updates):
        entry = played.answer_entry(played["set_option"])
        raise Violation("no current_mode_update told the new mode", played.request_entry(played["set_option"]), entry)


def _switched(case: Case) -> Played:
    played = seen(case, "v1_more_modes")
    if played.get("set_option") is None:
        raise Unseen(played.get("untouched") or "there is no other mode, or no option for it")
    if "error" in played.answer(played["set_mode"]):
        raise Unseen("the mode could not be set")
    return played


@judge("ACCORD-MODES-001", steps=("v1_more_modes",), editions=V1)
def a_mode_that_is_not_there_is_refused(case: Case) -> None:
    played = seen(case, "v1_more_modes", "ACCORD-MODES-001")
    refusal(played, played["wrong"])


@judge("ACCORD-CONFIG-005", steps=("more_wrong_options",), editions=BOTH)
def options_and_values_that_are_not_there_are_refused(case: Case) -> None:
    played = seen(case, "more_wrong_options", "ACCORD-CONFIG-005")
    refusal(played, played["option"])
    if played.get("value") is not None:
        refusal(played, played["value"])


@judge("ACCORD-CONFIG-006", steps=("meet",), editions=BOTH)
def options_and_their_values_have_ids_of_their_own(case: Case) -> None:
    found = False
    for entry, settings in _settings(case):
        options = [as_dict(option) for option in listed(settings.get("configOptions"))]
        found = found or bool(options)
        _check_unique([option.get("id") for option in options], "options", entry)
        for option in options:
            _check_unique([choice.get("value") for choice in _choices(option)], f"values of {option.get('id')}", entry)
    if not found:
        raise Unseen("it has no options")


@judge("ACCORD-MODES-003", steps=("meet",), editions=V1)
def modes_have_ids_of_their_own(case: Case) -> None:
    found = False
    for entry, settings in _settings(case):
        modes = listed(as_dict(settings.get("modes")).get("availableModes"))
        found = found or bool(modes)
        _check_unique([as_dict(mode).get("id") for mode in modes], "modes", entry)
    if not found:
        raise Unseen("it has no modes")


def _check_unique(ids: list[Any], what: str, entry: Entry) -> None:
    named = [str(id_) for id_ in ids if id_ is not None]
    if len(set(named)) != len(named):
        raise Violation(f"two of the {what} have the same id: {named}", entry)


# --- commands, plans, cost

_NAME = re.compile(r"[^\s/]\S*")


@judge("ACCORD-COMMANDS-001", steps=_TURNS, editions=BOTH)
def commands_can_be_typed(case: Case) -> None:
    found = False
    for _, entry, _, update in told(case, "available_commands_update"):
        names = [as_dict(command).get("name") for command in listed(update.get("availableCommands"))]
        found = found or bool(names)
        for name in names:
            if isinstance(name, str) and not _NAME.fullmatch(name):
                raise Violation(f"`/{name}` cannot be typed as a command", entry)
        _check_unique(names, "commands", entry)
    if not found:
        raise Unseen("it has no commands")


@judge("ACCORD-PLAN-001", steps=_TURNS, editions=BOTH)
def whether_plans_stay_whole(case: Case) -> str:
    last: dict[Any, set[str]] = {}
    dropped = 0
    for record, _, session, update in told(case, "plan", "plan_update"):
        plan = as_dict(update.get("plan")) if update.get("sessionUpdate") == "plan_update" else update
        entries = {str(as_dict(each).get("content")) for each in listed(plan.get("entries"))}
        key = key_of(record.name, session, plan.get("id"))
        dropped += bool(last.get(key, set()) - entries)
        last[key] = entries
    if not last:
        raise Unseen("it made no plan")
    return f"{dropped} updates dropped entries" if dropped else "every update had all entries of the one before"


@judge("ACCORD-USAGE-001", steps=_TURNS, editions=BOTH)
def the_cost_of_a_session_never_falls(case: Case) -> None:
    last: dict[Any, tuple[float, Entry]] = {}
    for record, entry, session, update in told(case, "usage_update"):
        cost = as_dict(update.get("cost"))
        amount, key = cost.get("amount"), key_of(record.name, session, cost.get("currency"))
        if isinstance(amount, int | float):
            if key in last and amount < last[key][0]:
                raise Violation(f"the cost fell from {last[key][0]} to {amount}", last[key][1], entry)
            last[key] = (amount, entry)
    if not last:
        raise Unseen("it told no cost")


@judge("ACCORD-USAGE-002", steps=_TURNS, editions=BOTH)
def a_cost_has_a_currency(case: Case) -> None:
    found = False
    for _, entry, _, update in told(case, "usage_update"):
        currency = as_dict(update.get("cost")).get("currency")
        if isinstance(currency, str):
            found = True
            if not re.fullmatch(r"[A-Z]{3}", currency):
                raise Violation(f"the currency is {currency!r}", entry)
    if not found:
        raise Unseen("it told no cost")


# --- ids of messages


@judge("ACCORD-MESSAGE-001", steps=("more_turn",), editions=BOTH)
def another_turn_has_other_messages(case: Case) -> None:
    played = seen(case, "more_turn")
    split = played.answer_entry(played["prompts"][0]).place
    kinds = ("agent_message_chunk", "agent_message", "agent_thought_chunk", "agent_thought")
    before = {
        update["messageId"]: entry
        for entry, update in played.updates(played["session"], *kinds, before=split)
        if isinstance(update.get("messageId"), str)
    }
    if not before:
        raise Unseen("its messages have no ids")
    for entry, update in played.updates(played["session"], *kinds, since=split):
        id_ = update.get("messageId")
        if isinstance(id_, str) and id_ in before:
            raise Violation("two turns have a message with the same id", before[id_], entry)
