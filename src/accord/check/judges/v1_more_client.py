"""What an agent of v1 asks of its client: files, terminals, forms; only what is offered, and put back afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry, Record, is_answer, messages_in
from accord.check.judge import judge
from accord.check.judges.v1_more_sight import (
    V1,
    as_dict,
    asked,
    heeds_cancel,
    is_absolute,
    listed,
    offered,
    reached_by,
    seen,
    told,
)

__all__: list[str] = []

_WORK = ("more_work",)
_PARTS = ("v1_more_reads_only", "v1_more_writes_only")


# --- only what is offered


def _only_if_offered(case: Case, method: str, *path: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    """A request that an agent makes only of a client that offers it; `path` is what it needs."""
    for step in _PARTS:
        seen(case, step)
    found = [(record, entry) for record, entry, params in asked(case, method) if holds(params)]
    unoffered = [(record, entry) for record, entry in found if not reached_by(offered(record), *path)]
    if any(not offered(record) for record, _ in unoffered):
        raise Unseen("it is asked of clients that offer nothing as well")
    for record, entry in unoffered:
        raise Violation(f"the client does not offer {'.'.join(path)}", _handshake(record), entry)


def _handshake(record: Record) -> Entry | None:
    for entry, message in messages_in(record.entries, sent=True):
        if message.get("method") == "initialize":
            return entry
    return None


def _any(_params: dict[str, Any]) -> bool:
    return True


@judge("ACCORD-FILES-001", steps=_PARTS, editions=V1)
def who_may_write_may_not_read(case: Case) -> None:
    _only_if_offered(case, "fs/read_text_file", "fs", "readTextFile", holds=_any)


@judge("ACCORD-FILES-002", steps=_PARTS, editions=V1)
def who_may_read_may_not_write(case: Case) -> None:
    _only_if_offered(case, "fs/write_text_file", "fs", "writeTextFile", holds=_any)


@judge("ACCORD-ELICIT-001", steps=_PARTS, editions=V1)
def forms_are_shown_by_clients_that_have_forms(case: Case) -> None:
    holds = lambda params: params.get("mode") == "form"  # noqa: E731
    _only_if_offered(case, "elicitation/create", "elicitation", "form", holds=holds)


@judge("ACCORD-ELICIT-002", steps=_PARTS, editions=V1)
def pages_are_opened_by_clients_that_open_pages(case: Case) -> None:
    holds = lambda params: params.get("mode") == "url"  # noqa: E731
    _only_if_offered(case, "elicitation/create", "elicitation", "url", holds=holds)


@judge("ACCORD-OFFER-001", steps=_PARTS, editions=V1)
def a_client_that_offers_a_part_gets_its_turn(case: Case) -> None:
    for step in _PARTS:
        played = seen(case, step, "ACCORD-OFFER-001")
        if "error" in played.answer(played["prompt"]):
            if any("error" in case.steps[name].answer(case.steps[name]["prompt"]) for name in _worked(case)):
                raise Unseen("turns fail for clients that offer everything as well")
            raise Violation("the prompt failed", played.entries[0], played.answer_entry(played["prompt"]))


def _worked(case: Case) -> list[str]:
    return [name for name in _WORK if name in case.steps and case.steps[name].failure is None]


@judge("ACCORD-NOTICE-001", steps=("more_turn",), editions=V1)
def notices_go_to_clients_that_know_them(case: Case) -> None:
    _told_if_offered(case, "notices", "notice")


@judge("ACCORD-COMPACT-001", steps=("more_turn",), editions=V1)
def compactions_are_told_to_clients_that_know_them(case: Case) -> None:
    _told_if_offered(case, "compaction", "compaction_update", "compaction_summary_chunk")


def _told_if_offered(case: Case, name: str, *kinds: str) -> None:
    seen(case, "more_turn")
    for record, entry, _, _ in told(case, *kinds):
        if not reached_by(offered(record), "session", name):
            raise Violation(f"the client does not offer session.{name}", _handshake(record), entry)


# --- whom and what it is about


@judge("ACCORD-SESSION-001", steps=_WORK, editions=V1)
def requests_name_a_session_of_this_connection(case: Case) -> None:
    found = False
    # Once for each process: an agent may ask a million times.
    known: dict[int, set[str]] = {}
    for record, entry, params in asked(case, "fs/", "terminal/", "session/request_permission"):
        found = True
        if id(record) not in known:
            known[id(record)] = _sessions(record)
        if str(params.get("sessionId")) not in known[id(record)]:
            raise Violation(f"nobody opened the session {params.get('sessionId')!r}", entry)
    if not found:
        raise Unseen("it asked the client for nothing")


def _sessions(record: Record) -> set[str]:
    """The ids that were given or asked for in a process."""
    given = [as_dict(message.get("result")).get("sessionId") for _, message in messages_in(record.entries)]
    used = [as_dict(each.get("params")).get("sessionId") for _, each in messages_in(record.entries, sent=True)]
    return {id_ for id_ in [*given, *used] if isinstance(id_, str)}


@judge("ACCORD-FILES-003", steps=_WORK, editions=V1)
def files_are_named_by_absolute_paths(case: Case) -> None:
    found = list(asked(case, "fs/"))
    for _, entry, params in found:
        if not is_absolute(params.get("path")):
            raise Violation(f"the path {params['path']!r} is relative", entry)
    if not found:
        raise Unseen("it used no files of the client")


@judge("ACCORD-ELICIT-003", steps=_WORK, editions=V1)
def an_elicitation_has_one_scope(case: Case) -> None:
    for record, entry, params in _elicitations(case):
        scopes = [key for key in ("sessionId", "requestId") if params.get(key) is not None]
        if len(scopes) != 1:
            raise Violation(f"it is scoped by {' and '.join(scopes) or 'nothing'}", entry)
        if scopes == ["requestId"] and not _is_pending(record, entry, params["requestId"]):
            raise Violation("it is scoped by a request that is not being worked on", entry)


def _elicitations(case: Case) -> list[Any]:
    found = list(asked(case, "elicitation/create"))
    if not found:
        raise Unseen("it elicited nothing")
    return found


def _is_pending(record: Record, question: Entry, id_: Any) -> bool:
    before = record.entries[: question.place]
    is_asked = any(each.get("id") == id_ and "method" in each for _, each in messages_in(before, sent=True))
    return is_asked and not any(is_answer(each, id_) for _, each in messages_in(before))


@judge("ACCORD-ELICIT-004", steps=_WORK, editions=V1)
def forms_are_flat(case: Case) -> None:
    for _, entry, params in _elicitations(case):
        for name, field in as_dict(as_dict(params.get("requestedSchema")).get("properties")).items():
            if as_dict(field).get("type") == "object" or "properties" in as_dict(field):
                raise Violation(f"the field {name!r} is an object of its own", entry)


@judge("ACCORD-AUTH-002", steps=_WORK, editions=V1)
def a_login_at_a_terminal_says_how_to_run_it(case: Case) -> None:
    found = False
    for _, entry, message in case.messages():
        for method in listed(as_dict(message.get("result")).get("authMethods")):
            if as_dict(method).get("type") == "terminal":
                found = True
                _check_terminal_login(method, entry)
    if not found:
        raise Unseen("no login at a terminal is offered")


def _check_terminal_login(method: dict[str, Any], entry: Entry) -> None:
    args, env = method.get("args", []), method.get("env", {})
    if args is not None and not (isinstance(args, list) and all(isinstance(arg, str) for arg in args)):
        raise Violation(f"the args {args!r} are no list of texts", entry)
    if env is not None and not (isinstance(env, dict) and all(isinstance(value, str) for value in env.values())):
        raise Violation(f"the env {env!r} is no map of texts", entry)


# --- terminals


@judge("ACCORD-TERMINAL-001", steps=_WORK, editions=V1)
def commands_run_in_absolute_folders(case: Case) -> None:
    found = list(asked(case, "terminal/create"))
    for _, entry, params in found:
        if not is_absolute(params.get("cwd")):
            raise Violation(f"the cwd {params['cwd']!r} is relative", entry)
    if not found:
        raise Unseen("it used no terminal of the client")


def _terminals_of(entries: list[Entry], session: Any) -> dict[str, tuple[Entry, Entry | None]]:
    """The terminals that were made for a session: where each was given, and where it was released."""
    made: dict[str, Entry] = {}
    found: dict[str, tuple[Entry, Entry | None]] = {}
    for entry in entries:
        message = as_dict(entry.message)
        params = as_dict(message.get("params"))
        if not entry.sent and params.get("sessionId") == session:
            if message.get("method") == "terminal/create":
                made[str(message.get("id"))] = entry
            id_ = str(params.get("terminalId"))
            if message.get("method") == "terminal/release" and id_ in found:
                found[id_] = (found[id_][0], entry)
        given = as_dict(message.get("result")).get("terminalId")
        if entry.sent and str(message.get("id")) in made and isinstance(given, str):
            found[given] = (entry, None)
    return found


def _released(case: Case, step: str, rule: str) -> None:
    played = seen(case, step, rule)
    terminals = _terminals_of(played.entries, played["session"])
    if not terminals:
        raise Unseen("it used no terminal of the client")
    for id_, (given, released) in terminals.items():
        if released is None:
            raise Violation(f"the terminal {id_!r} was never released", given, played.answer_entry(played["prompt"]))


@judge("ACCORD-TERMINAL-002", steps=_WORK, editions=V1)
def every_terminal_is_released(case: Case) -> None:
    _released(case, "more_work", "ACCORD-TERMINAL-002")


@judge("ACCORD-TERMINAL-006", steps=("v1_more_cancel_in_terminal",), editions=V1)
def a_terminal_is_released_also_when_its_turn_is_cancelled(case: Case) -> None:
    if seen(case, "v1_more_cancel_in_terminal")["asked"] is None:
        raise Unseen("it used no terminal of the client")
    _released(case, "v1_more_cancel_in_terminal", "ACCORD-TERMINAL-006")


@judge("ACCORD-TERMINAL-005", steps=("v1_more_cancel_in_terminal",), editions=V1)
def a_turn_that_waits_for_a_command_can_be_cancelled(case: Case) -> None:
    played = seen(case, "v1_more_cancel_in_terminal", "ACCORD-TERMINAL-005")
    if played["asked"] is None:
        raise Unseen("it used no terminal of the client")
    if not heeds_cancel(case, played["session"]):
        raise Unseen("no cancellation is heeded")
    if as_dict(played.answer(played["prompt"]).get("result")).get("stopReason") != "cancelled":
        entry = played.answer_entry(played["prompt"])
        raise Violation("the prompt was not answered with `cancelled`", played.entries[played["asked"]], entry)


@judge("ACCORD-TERMINAL-003", steps=_WORK, editions=V1)
def a_released_terminal_is_left_alone(case: Case) -> None:
    played = seen(case, "more_work")
    terminals = _terminals_of(played.entries, played["session"])
    if not terminals:
        raise Unseen("it used no terminal of the client")
    for entry, message in played.calls():
        params = as_dict(message.get("params"))
        if str(message["method"]).startswith("terminal/") and params.get("sessionId") == played["session"]:
            _check_use(entry, message, terminals)


def _check_use(entry: Entry, message: dict[str, Any], terminals: dict[str, tuple[Entry, Entry | None]]) -> None:
    id_ = str(message["params"].get("terminalId"))
    if message["method"] == "terminal/create":
        return
    if id_ not in terminals:
        raise Violation(f"nobody gave it the terminal {id_!r}", entry)
    released = terminals[id_][1]
    if released is not None and entry.place > released.place:
        raise Violation(f"it uses the terminal {id_!r} after it was released", released, entry)


@judge("ACCORD-TERMINAL-004", steps=_WORK, editions=V1)
def a_terminal_is_shown_before_it_is_released(case: Case) -> None:
    played = seen(case, "more_work")
    terminals = _terminals_of(played.entries, played["session"])
    shown = [
        (entry, str(content.get("terminalId")))
        for entry, update in played.updates(played["session"], "tool_call", "tool_call_update")
        for content in listed(update.get("content"))
        if as_dict(content).get("type") == "terminal"
    ]
    if not shown:
        raise Unseen("it showed no terminal")
    for place, (entry, id_) in enumerate(shown):
        if id_ not in terminals:
            raise Violation(f"it shows the terminal {id_!r}, which it was never given", entry)
        released = terminals[id_][1]
        is_first = all(before != id_ for _, before in shown[:place])
        if is_first and released is not None and released.place < entry.place:
            raise Violation(f"it shows the terminal {id_!r} for the first time when it is gone", released, entry)
