"""Ways to log in, logins and logouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.agent.conversation import LOGIN, LOGOUT, AgentConversation, step
from accord.check.agent.exchange import ask_all, ask_and_wait
from accord.check.agent.queries import (
    RecordedRequest,
    as_dict,
    check_texts,
    completed,
    handshakes,
    is_extension,
    judge_refusals,
    listed,
    meeting,
    offered,
    our_requests,
    refusal,
)
from accord.check.engine.evidence import (
    AUTH_REQUIRED,
    NO_METHOD,
    Entry,
    Evidence,
    Inconclusive,
    Record,
    Violation,
    is_answer,
    messages_in,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge
from accord.check.rule import JUNE, V1, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-AUTH-001", "AA-", "authentication", "A login that is not offered is refused"),
    RuleRow("ACCORD-AUTH-002", "M--", "authentication",
        says="A login at a terminal has a list of args and a map of environment variables"),
    RuleRow("ACCORD-AUTH-003", "CC-", "authentication", "After a logout a session needs a login again", gate="logout"),
    RuleRow("ACCORD-AUTH-201", "--C", "#LoginAuthRequest", gate="initialize.authMethods",
        says="An agent with logins serves `auth/login`: an unknown method is refused, the request is not unknown"),
    RuleRow("ACP-AUTH-001", "AA-", ("authentication", "initialization", ""), "No two ways to log in have the same id"),
    RuleRow("ACP-AUTH-002", "M--", "authentication", "A client that cannot log in by a terminal is not offered that"),
    RuleRow("ACP-AUTH-003", "CC-", ("authentication", "initialization", ""), gate="initialize.authMethods",
        says="After a login that succeeded sessions can be made"),
    RuleRow("ACP-AUTH-004", "CC-", ("authentication", "initialization", ""), "Logging out succeeds", gate="logout"),
    RuleRow("ACP-AUTH-005", "AA-", ("authentication", "initialization", ""),
        says="An agent without a way to log in never asks for a login"),
    RuleRow("ACP-AUTH-201", "--A", "authentication", "No two ways to log in have the same id"),
    RuleRow("ACP-AUTH-202", "--M", "authentication", "A client that cannot log in by a terminal is not offered that"),
    RuleRow("ACP-AUTH-203", "--C", "authentication", "Logging out succeeds", gate="initialize.authMethods"),
    RuleRow("ACP-AUTH-204", "--C", "authentication", gate="initialize.authMethods",
        says="Logging in succeeds, and sessions can be made after it"),
    RuleRow("ACP-AUTH-205", "--A", "authentication", "An agent without a way to log in never asks for a login"),
    RuleRow("ACP-AUTH-206", "--M", "#AuthMethod",
        says="A way to log in is of a known type, or of one that starts with an underscore"),
    RuleRow("ACP-AUTH-207", "--M", "#AuthMethodTerminal",
        says="The arguments and the environment of a terminal login are well formed, and no variable occurs twice"),
    RuleRow("ACCORD-JUNE-AUTH-001", "-M-", "#AuthMethod", "Every way to log in has a type, an id and a name"),
)
# fmt: on


_METHODS = "initialize.authMethods"
NO_METHODS = "there is no way to log in"


@step("again", gate={"v1": _METHODS, "v2_june": _METHODS, "v2": _METHODS}, order=99)
async def logging_in(agent: AgentConversation) -> Notes:
    """`login` and a session `between` only with a method to log in by; `logout` and a session `after` only if allowed.

    A logout may take the login from every process of the agent, so no other may run by then.
    """
    notes: Notes = {}
    new = {"cwd": agent.cwd, "mcpServers": []}
    if agent.options.auth_method:
        notes["login"] = await ask_and_wait(agent, LOGIN[agent.edition], {"methodId": agent.options.auth_method})
        notes["between"] = await ask_and_wait(agent, "session/new", new)
    if agent.options.allow_logout:
        notes["logout"] = await ask_and_wait(agent, LOGOUT[agent.edition], {})
        notes["after"] = await ask_and_wait(agent, "session/new", new)
    return notes


@step("bare", editions=V2, gate={"v2": "initialize.authMethods"})
async def v2_unknown_login(agent: AgentConversation) -> Notes:
    """A login by a method that was never offered."""
    return await ask_all(agent, login=("auth/login", {"methodId": "accord-check-no-such-method"}))


def handshake_results(evidence: Evidence) -> Iterator[tuple[Record, Entry, dict[str, Any]]]:
    for record in evidence.records:
        for _, message in messages_in(record.entries, sent=True):
            if message.get("method") == "initialize":
                for entry, answer in messages_in(record.entries):
                    if is_answer(answer, message.get("id")) and isinstance(answer.get("result"), dict):
                        yield record, entry, answer["result"]


def _methods(result: dict[str, Any]) -> list[dict[str, Any]]:
    methods = result.get("authMethods")
    return [method for method in methods if isinstance(method, dict)] if isinstance(methods, list) else []


@judge("ACP-AUTH-001", steps=("meet", "meet_able"), editions=V1)
def ways_to_log_in_have_ids_of_their_own(evidence: Evidence) -> None:
    for _, entry, result in handshake_results(evidence):
        ids = [repr(method.get("id")) for method in _methods(result)]
        if len(set(ids)) != len(ids):
            raise Violation("two ways to log in have the same id", entry)


@judge("ACP-AUTH-002", steps=("meet",))
def a_terminal_login_is_offered_only_to_who_can(evidence: Evidence) -> None:
    for record, entry, result in handshake_results(evidence):
        auth = offered(record).get("auth")
        if isinstance(auth, dict) and auth.get("terminal"):
            continue
        if any(method.get("type") == "terminal" for method in _methods(result)):
            raise Violation("a terminal login is offered to a client that cannot do that", entry)


@judge("ACP-AUTH-005", steps=("meet", "turns", "strange_requests"), editions=V1)
def without_a_way_to_log_in_no_login_is_asked_for(evidence: Evidence) -> None:
    _, result = meeting(evidence)
    skip_if(_methods(result), "there are ways to log in")
    for _, entry, answer in evidence.messages():
        error = answer.get("error")
        if isinstance(error, dict) and error.get("code") == AUTH_REQUIRED:
            raise Violation("a login is asked for, and there is no way to log in", entry)


@judge("ACCORD-AUTH-002", steps=("allowed_work",))
def a_login_at_a_terminal_says_how_to_run_it(evidence: Evidence) -> None:
    found = False
    for _, entry, message in evidence.messages():
        for method in listed(as_dict(message.get("result")).get("authMethods")):
            if as_dict(method).get("type") == "terminal":
                found = True
                _check_terminal_login(method, entry)
    skip_unless(found, "no login at a terminal is offered")


def _check_terminal_login(method: dict[str, Any], entry: Entry) -> None:
    args, env = method.get("args", []), method.get("env", {})
    if args is not None and not (isinstance(args, list) and all(isinstance(arg, str) for arg in args)):
        raise Violation(f"the args {args!r} are no list of texts", entry)
    if env is not None and not (isinstance(env, dict) and all(isinstance(value, str) for value in env.values())):
        raise Violation(f"the env {env!r} is no map of texts", entry)


@judge("ACCORD-AUTH-003", steps=("logging_in",))
def who_logs_out_has_to_log_in_again(evidence: Evidence) -> None:
    run = completed(evidence, "logging_in")
    if run.get("logout") is None:
        raise Inconclusive("give --allow-logout")
    skip_if("error" in run.answer(run["logout"]), "logging out failed")
    refusal(run, run["after"], AUTH_REQUIRED)


@judge("ACP-AUTH-003", steps=("logging_in",), editions=V1)
def a_login_lets_sessions_be_made(evidence: Evidence) -> None:
    run = evidence.step("logging_in")
    skip_if("login" not in run.notes, "give --auth-method")
    skip_unless(any("result" in answer for _, answer in run.answers(run["login"])), "the login did not succeed")
    error = run.answer(run["between"]).get("error")
    if isinstance(error, dict) and error.get("code") == AUTH_REQUIRED:
        login, answer = run.answer_entry(run["login"]), run.answer_entry(run["between"])
        raise Violation("after a login that succeeded a login is asked for", login, answer)


@judge("ACP-AUTH-004", steps=("logging_in",), editions=V1)
def logging_out_succeeds(evidence: Evidence) -> None:
    run = evidence.step("logging_in")
    skip_if("logout" not in run.notes, "give --allow-logout")
    run.result(run["logout"])


@judge("ACCORD-JUNE-AUTH-001", steps=("meet",))
def ways_to_log_in_have_a_type(evidence: Evidence) -> None:
    meet = evidence.begun("meet")
    for entry, answer in meet.answers(meet.get("initialize")):
        methods = listed(as_dict(answer.get("result")).get("authMethods"))
        skip_unless(methods, "there is no way to log in")
        for method in methods:
            check_texts(as_dict(method), ("type", "id", "name"), "a way to log in", entry)


def _methods_in_v2(evidence: Evidence) -> Iterator[tuple[RecordedRequest, dict[str, Any]]]:
    """Every advertised login method, with its handshake."""
    found = False
    for asked in handshakes(evidence):
        methods = (asked.result or {}).get("authMethods")
        for method in methods if isinstance(methods, list) else ():
            if isinstance(method, dict):
                found = True
                yield asked, method
    skip_unless(found, NO_METHODS)


@judge("ACP-AUTH-201", steps=("meet", "meet_able"), editions=V2, name="ways_to_log_in_have_ids_of_their_own")
@judge("ACP-AUTH-001", steps=("meet",), editions=JUNE, name="ways_to_log_in_have_ids_of_their_own")
def ways_to_log_in_have_ids_of_their_own_in_v2(evidence: Evidence) -> None:
    key = "methodId" if evidence.edition == "v2" else "id"
    known = set()
    for asked, method in _methods_in_v2(evidence):
        where = (asked.entry.place, id(asked.record.entries), str(method.get(key)))
        if where in known:
            raise Violation(f"two ways to log in are {method.get(key)!r}", asked.answer_entry)
        known.add(where)


def _can_by_terminal(asked: RecordedRequest) -> bool:
    auth = asked.params.get("capabilities", {}).get("auth")
    return isinstance(auth, dict) and auth.get("terminal") is not None


@judge("ACP-AUTH-202", steps=("meet",), name="a_terminal_login_is_offered_only_to_who_can")
def a_terminal_login_is_offered_only_to_who_can_in_v2(evidence: Evidence) -> None:
    for asked, method in _methods_in_v2(evidence):
        if method.get("type") == "terminal" and not _can_by_terminal(asked):
            raise asked.violation("a client that cannot log in by a terminal is offered that")


@judge("ACP-AUTH-206", steps=("meet", "meet_able"))
def a_way_to_log_in_is_of_a_known_type(evidence: Evidence) -> None:
    for asked, method in _methods_in_v2(evidence):
        type_ = method.get("type")
        if type_ not in {"agent", "terminal"} and not is_extension(type_):
            raise Violation(f"a way to log in is of the type {type_!r}", asked.answer_entry)


@judge("ACP-AUTH-207", steps=("meet", "meet_able"))
def a_terminal_login_is_well_formed(evidence: Evidence) -> None:
    judged = 0
    for asked, method in _methods_in_v2(evidence):
        if method.get("type") != "terminal":
            continue
        judged += 1
        wrong = _wrong_arguments(method.get("args")) or _wrong_environment(method.get("env"))
        if wrong:
            raise Violation(f"a terminal login has {wrong}", asked.answer_entry)
    skip_unless(judged, "there is no login by a terminal")


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


@judge("ACP-AUTH-203", steps=("logging_in",), editions=V2, name="logging_out_succeeds")
@judge("ACP-AUTH-004", steps=("logging_in",), editions=JUNE, name="logging_out_succeeds")
def logging_out_succeeds_in_v2(evidence: Evidence) -> None:
    skip_unless(evidence.options.allow_logout, "it is not allowed without --allow-logout")
    run = evidence.step("logging_in")
    if not isinstance(run.answer(run["logout"]).get("result"), dict):
        raise run.violation("logging out did not succeed", run["logout"])


@judge("ACP-AUTH-204", steps=("logging_in",))
def logging_in_succeeds(evidence: Evidence) -> None:
    skip_unless(evidence.options.auth_method, "it needs --auth-method")
    run = evidence.step("logging_in")
    if not isinstance(run.answer(run["login"]).get("result"), dict):
        raise run.violation("logging in did not succeed", run["login"])


@judge("ACP-AUTH-204", steps=("logging_in",), editions=V2, name="a_login_lets_sessions_be_made")
@judge("ACP-AUTH-003", steps=("logging_in",), editions=JUNE, name="a_login_lets_sessions_be_made")
def a_login_lets_sessions_be_made_in_v2(evidence: Evidence) -> None:
    skip_unless(evidence.options.auth_method, "it needs --auth-method")
    run = evidence.step("logging_in")
    if not isinstance(run.answer(run["login"]).get("result"), dict):
        raise Inconclusive("logging in did not succeed")
    error = run.answer(run["between"]).get("error")
    if isinstance(error, dict) and error.get("code") == AUTH_REQUIRED:
        entries = run.answer_entry(run["login"]), run.answer_entry(run["between"])
        raise Violation("a login is required behind one that succeeded", *entries)


@judge("ACCORD-AUTH-201", steps=("v2_unknown_login",))
def logins_are_served(evidence: Evidence) -> None:
    run = evidence.step("v2_unknown_login")
    if run.error(run["login"]).get("code") == NO_METHOD:
        raise run.violation("auth/login is unknown", run["login"])


@judge("ACP-AUTH-205", steps=("meet",), editions=V2, name="without_a_way_to_log_in_no_login_is_asked_for")
@judge("ACP-AUTH-005", steps=("meet",), editions=JUNE, name="without_a_way_to_log_in_no_login_is_asked_for")
def without_a_way_to_log_in_no_login_is_asked_for_in_v2(evidence: Evidence) -> None:
    first = handshakes(evidence)[0]
    skip_if((first.result or {}).get("authMethods"), "there is a way to log in")
    for each in our_requests(evidence, "session/new"):
        error = each.answer.get("error")
        if isinstance(error, dict) and error.get("code") == AUTH_REQUIRED:
            raise Violation("a login is required, and there is none", first.answer_entry, each.answer_entry)


judge_refusals(("ACCORD-AUTH-001", "a_login_that_nobody_offers_is_refused", "invalid_sessions", "login"))
