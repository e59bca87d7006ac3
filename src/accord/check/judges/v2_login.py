"""Ways to log in, in v2 and in June."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.judge import judge
from accord.check.judges.v2_sight import JUNE, V2, Asked, handshakes, is_extension

__all__: list[str] = []

AUTH_REQUIRED = -32000
NO_METHODS = "there is no way to log in"


def _methods(case: Case) -> Iterator[tuple[Asked, dict[str, Any]]]:
    """Every way to log in that was told to somebody, with the handshake.

    Raises:
        Unseen: There was none.
    """
    found = False
    for asked in handshakes(case):
        methods = (asked.result or {}).get("authMethods")
        for method in methods if isinstance(methods, list) else ():
            if isinstance(method, dict):
                found = True
                yield asked, method
    if not found:
        raise Unseen(NO_METHODS)


@judge("ACP-AUTH-201", steps=("meet", "meet_able"), editions=V2)
@judge("ACP-AUTH-001", steps=("meet",), editions=JUNE)
def ways_to_log_in_have_ids_of_their_own(case: Case) -> None:
    key = "methodId" if case.edition == "v2" else "id"
    seen = set()
    for asked, method in _methods(case):
        where = (asked.entry.place, id(asked.record.entries), str(method.get(key)))
        if where in seen:
            raise Violation(f"two ways to log in are {method.get(key)!r}", asked.answer_entry)
        seen.add(where)


def _can_by_terminal(asked: Asked) -> bool:
    auth = asked.params.get("capabilities", {}).get("auth")
    return isinstance(auth, dict) and auth.get("terminal") is not None


@judge("ACP-AUTH-202", steps=("meet",), editions=V2)
def a_terminal_login_is_offered_only_to_who_can(case: Case) -> None:
    for asked, method in _methods(case):
        if method.get("type") == "terminal" and not _can_by_terminal(asked):
            raise Violation(
                "a client that cannot log in by a terminal is offered that", asked.entry, asked.answer_entry
            )


@judge("ACP-AUTH-206", steps=("meet", "meet_able"), editions=V2)
def a_way_to_log_in_is_of_a_known_type(case: Case) -> None:
    for asked, method in _methods(case):
        type_ = method.get("type")
        if type_ not in {"agent", "terminal"} and not is_extension(type_):
            raise Violation(f"a way to log in is of the type {type_!r}", asked.answer_entry)


@judge("ACP-AUTH-207", steps=("meet", "meet_able"), editions=V2)
def a_terminal_login_is_well_formed(case: Case) -> None:
    judged = 0
    for asked, method in _methods(case):
        if method.get("type") != "terminal":
            continue
        judged += 1
        wrong = _wrong_arguments(method.get("args")) or _wrong_environment(method.get("env"))
        if wrong:
            raise Violation(f"a terminal login has {wrong}", asked.answer_entry)
    if not judged:
        raise Unseen("there is no login by a terminal")


def _wrong_arguments(args: Any) -> str:
    if args is None or (isinstance(args, list) and all(isinstance(each, str) for each in args)):
        return ""
    return "arguments that are no list of texts"


def _wrong_environment(env: Any) -> str:
    if env is None:
        return ""
    if not isinstance(env, list):
        return "an environment that is no list"
    names = [each.get("name") for each in env if isinstance(each, dict) and isinstance(each.get("value"), str)]
    if len(names) < len(env) or not all(isinstance(name, str) and name for name in names):
        return "a variable without a name or a value"
    return "a variable twice" if len(set(names)) < len(names) else ""


# --- doing it


@judge("ACP-AUTH-203", steps=("logging_in",), editions=V2)
@judge("ACP-AUTH-004", steps=("logging_in",), editions=JUNE)
def logging_out_succeeds(case: Case) -> None:
    if not case.options.allow_logout:
        raise Unseen("nobody said that it may be tried: give --allow-logout")
    played = case.step("logging_in")
    if not isinstance(played.answer(played["logout"]).get("result"), dict):
        entries = played.request_entry(played["logout"]), played.answer_entry(played["logout"])
        raise Violation("logging out did not succeed", *entries)


@judge("ACP-AUTH-204", steps=("logging_in",), editions=V2)
def logging_in_succeeds(case: Case) -> None:
    if not case.options.auth_method:
        raise Unseen("nobody said how: give --auth-method")
    played = case.step("logging_in")
    if not isinstance(played.answer(played["login"]).get("result"), dict):
        entries = played.request_entry(played["login"]), played.answer_entry(played["login"])
        raise Violation("logging in did not succeed", *entries)


@judge("ACP-AUTH-204", steps=("logging_in",), editions=V2)
@judge("ACP-AUTH-003", steps=("logging_in",), editions=JUNE)
def a_login_lets_sessions_be_made(case: Case) -> None:
    if not case.options.auth_method:
        raise Unseen("nobody said how: give --auth-method")
    played = case.step("logging_in")
    if not isinstance(played.answer(played["login"]).get("result"), dict):
        raise Unseen("logging in did not succeed")
    error = played.answer(played["between"]).get("error")
    if isinstance(error, dict) and error.get("code") == AUTH_REQUIRED:
        entries = played.answer_entry(played["login"]), played.answer_entry(played["between"])
        raise Violation("a login is required behind one that succeeded", *entries)
