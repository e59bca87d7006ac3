"""Modes, options and logins in v1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, Record, messages_in
from accord.check.judge import judge
from accord.check.judges.v1_handshake import offers

__all__ = ["untouched"]

_AUTH_REQUIRED = -32000


def _first_session(case: Case) -> tuple[Played, Entry, dict[str, Any]]:
    """What the answer to the first `session/new` said, and its line."""
    meet = case.step("meet")
    if not meet["new"]:
        raise Unseen("no session was asked for")
    result = meet.result(meet["new"][0])
    return meet, meet.answer_entry(meet["new"][0]), result if isinstance(result, dict) else {}


@judge("ACP-MODES-001", steps=("meet",), editions=("v1",))
def the_current_mode_is_one_that_is_offered(case: Case) -> None:
    _, entry, opened = _first_session(case)
    modes = opened.get("modes")
    if not isinstance(modes, dict):
        raise Violation("modes are no object", entry)
    current = modes.get("currentModeId")
    if current is None or current not in [mode.get("id") for mode in _objects(modes.get("availableModes"))]:
        raise Violation(f"the current mode is {current!r}, which is not offered", entry)


def _objects(said: Any) -> list[dict[str, Any]]:
    return [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []


def untouched(step: Played, what: str) -> str:
    """Why a setting was left alone; "" if it was not."""
    return next((reason for reason in step.get("untouched") or () if reason.startswith(what)), "")


@judge("ACP-MODES-002", steps=("options",), editions=("v1",))
def a_mode_can_be_set(case: Case) -> None:
    step = case.step("options")
    if "set_mode" not in step.notes:
        raise Unseen(untouched(step, "the mode") or "a client that offers everything is offered no modes")
    step.result(step["set_mode"])
    for entry, update in step.updates(step["session"], "current_mode_update"):
        if not isinstance(update.get("currentModeId"), str):
            raise Violation(
                "an update about the mode has no currentModeId", step.request_entry(step["set_mode"]), entry
            )


# --- options


def _values(option: dict[str, Any]) -> list[Any]:
    """What a select can be, in groups or not."""
    choices = _objects(option.get("options"))
    return [choice.get("value") for each in choices for choice in (_objects(each.get("options")) or [each])]


def _fits(option: dict[str, Any]) -> bool:
    current = option.get("currentValue")
    if option.get("type") == "boolean":
        return isinstance(current, bool)
    return option.get("type") != "select" or (isinstance(current, str) and current in _values(option))


@judge("ACP-CONFIG-001", steps=("meet", "options"), editions=("v1",))
def the_values_of_options_fit(case: Case) -> None:
    _, entry, opened = _first_session(case)
    answers = [(entry, opened)]
    able = case.steps.get("options")
    if able is not None and able.failure is None:
        answers.append((able.answer_entry(able["new"]), able.result(able["new"])))
    for line, said in answers:
        for option in _objects(said.get("configOptions")):
            if not _fits(option):
                raise Violation(f"the value of the option {option.get('id')!r} does not fit it", line)


@judge("ACP-CONFIG-002", steps=("options",), editions=("v1",))
def setting_an_option_answers_with_all_of_them(case: Case) -> str:
    step = case.step("options")
    known = [option.get("id") for option in _objects(step.result(step["new"]).get("configOptions"))]
    if not step["changes"] and step["untouched"]:
        raise Unseen(step["untouched"][0])
    for id_, value, request in step["changes"]:
        result = step.result(request)
        told = _objects(result.get("configOptions") if isinstance(result, dict) else None)
        lines = step.request_entry(request), step.answer_entry(request)
        missing = [each for each in known if each not in [option.get("id") for option in told]]
        if missing:
            raise Violation(f"options are missing in the answer: {', '.join(map(repr, missing))}", *lines)
        if not any(option.get("id") == id_ and option.get("currentValue") == value for option in told):
            raise Violation(f"the option {id_!r} does not have the value that was set", *lines)
    return "; ".join([f"{len(step['changes'])} options were set", *step["untouched"]])


@judge("ACP-CONFIG-003", steps=("meet", "turns"), editions=("v1",))
def a_client_that_did_not_ask_for_toggles_gets_none(case: Case) -> None:
    for record in case.records:
        if _wants_toggles(offers(record)):
            continue
        for entry, option in _options(record):
            if option.get("type") == "boolean":
                raise Violation(f"the toggle {option.get('id')!r} is told to a client that did not ask for any", entry)


def _wants_toggles(offered: dict[str, Any]) -> bool:
    said: Any = offered
    for key in ("session", "configOptions", "boolean"):
        said = said.get(key) if isinstance(said, dict) else None
    return said is not None


def _options(record: Record) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every option that an agent tells of, in answers and updates."""
    for entry, message in messages_in(record.entries):
        params = message.get("params")
        for said in (message.get("result"), params.get("update") if isinstance(params, dict) else None):
            options = said.get("configOptions") if isinstance(said, dict) else None
            for option in options if isinstance(options, list) else ():
                if isinstance(option, dict):
                    yield entry, option


# --- logins


@judge("ACP-AUTH-003", steps=("logging_in",), editions=("v1",))
def a_login_lets_sessions_be_made(case: Case) -> None:
    step = case.step("logging_in")
    if "login" not in step.notes:
        raise Unseen("give --auth-method")
    if not any("result" in answer for _, answer in step.answers(step["login"])):
        raise Unseen("the login did not succeed")
    error = step.answer(step["between"]).get("error")
    if isinstance(error, dict) and error.get("code") == _AUTH_REQUIRED:
        login, answer = step.answer_entry(step["login"]), step.answer_entry(step["between"])
        raise Violation("after a login that succeeded a login is asked for", login, answer)


@judge("ACP-AUTH-004", steps=("logging_in",), editions=("v1",))
def logging_out_succeeds(case: Case) -> None:
    step = case.step("logging_in")
    if "logout" not in step.notes:
        raise Unseen("give --allow-logout")
    step.result(step["logout"])
