"""Unusual lines, large messages, wrong requests, errors, and the end of the process."""

from __future__ import annotations

import json
import re
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, messages_in
from accord.check.judge import judge
from accord.check.judges.v1_more_sight import BOTH, Turn, as_dict, listed, refusal, seen, turns_in
from accord.check.steps.more_lines import BIG_ID
from accord.check.steps.more_turns import LARGE_BYTES

__all__: list[str] = []

AUTH_REQUIRED, INVALID_PARAMS = -32000, -32602
_LINES = ("more_lines",)


def _said(case: Case, name: str) -> tuple[Played, Entry, list[tuple[Entry, dict[str, Any]]]]:
    """A line that was sent, and the messages that came before the next one, without the sign of life."""
    played = seen(case, "more_lines")
    if name not in played["reactions"]:
        message = f"the agent was gone before: it did not survive a line with {played['died_of']}"
        raise Unseen(message)
    since, until = played["reactions"][name]
    part = played.entries[since:until]
    signs = [each.get("id") for entry in part[1:] if entry.sent and isinstance(each := entry.message, dict)]
    said = [(entry, each) for entry, each in messages_in(part) if each.get("id") not in signs or "method" in each]
    return played, played.entries[since], said


def _answered(case: Case, name: str, id_: Any) -> None:
    played, line, said = _said(case, name)
    if not any("method" not in each and each.get("id") == id_ for _, each in said):
        died = " and the agent said nothing more" if played["died_of"] == name else ""
        raise Violation(f"it was not answered{died}", line, *[entry for entry, _ in said[:1]])


@judge("ACCORD-WIRE-001", steps=_LINES, editions=BOTH)
def a_line_may_end_with_a_carriage_return(case: Case) -> None:
    _answered(case, "CRLF", 900_101)


@judge("ACCORD-WIRE-002", steps=_LINES, editions=BOTH)
def white_space_around_a_message_means_nothing(case: Case) -> None:
    _answered(case, "spaces", 900_102)


@judge("ACCORD-WIRE-003", steps=_LINES, editions=BOTH)
def params_may_be_left_out(case: Case) -> None:
    _answered(case, "no params", 900_103)


@judge("ACCORD-WIRE-004", steps=_LINES, editions=BOTH)
def params_may_be_null(case: Case) -> None:
    _answered(case, "null params", 900_104)


@judge("ACCORD-WIRE-005", steps=_LINES, editions=BOTH)
def a_large_id_comes_back_digit_by_digit(case: Case) -> None:
    _answered(case, "a large id", BIG_ID)


def _silent(case: Case, name: str) -> None:
    played, line, _ = _said(case, name)
    if played["died_of"] == name:
        raise Violation("the agent said nothing more after it", line)


@judge("ACCORD-WIRE-006", steps=_LINES, editions=BOTH)
def an_unknown_notification_is_survived(case: Case) -> None:
    _silent(case, "an unknown notification")


@judge("ACCORD-WIRE-007", steps=_LINES, editions=BOTH)
def an_answer_to_nothing_is_dropped(case: Case) -> None:
    for name in ("an answer to nothing", "an error to nothing"):
        _silent(case, name)
        _, line, said = _said(case, name)
        if said:
            raise Violation("an answer was answered", line, said[0][0])


def _reaction(case: Case, name: str) -> str:
    """What came of a line about which nothing is written, in words."""
    played, _, said = _said(case, name)
    if played["died_of"] == name:
        return "the agent said nothing more after it"
    if not said:
        return "nothing was said to it"
    error = as_dict(said[0][1].get("error"))
    return f"it was answered with the error {error.get('code')}" if error else "it was answered with a result"


@judge("ACCORD-WIRE-008", steps=_LINES, editions=BOTH)
def what_comes_of_a_blank_line(case: Case) -> str:
    return _reaction(case, "blank")


@judge("ACCORD-WIRE-009", steps=_LINES, editions=BOTH)
def what_comes_of_a_line_that_is_no_utf_8(case: Case) -> str:
    return _reaction(case, "no UTF-8")


@judge("ACCORD-WIRE-010", steps=_LINES, editions=BOTH)
def what_comes_of_strange_ids(case: Case) -> str:
    return f"null: {_reaction(case, 'a null id')}; a fraction: {_reaction(case, 'a fraction as id')}"


@judge("ACCORD-WIRE-011", steps=_LINES, editions=("v1",))
def what_comes_of_an_array(case: Case) -> str:
    return _reaction(case, "an array")


@judge("ACCORD-INIT-001", steps=("more_before_handshake",), editions=BOTH)
def what_comes_of_a_session_before_the_handshake(case: Case) -> str:
    return _outcome(case, "early")


@judge("ACCORD-INIT-002", steps=("more_before_handshake",), editions=BOTH)
def what_comes_of_a_handshake_without_a_number(case: Case) -> str:
    return _outcome(case, "wrong")


def _outcome(case: Case, name: str) -> str:
    played = seen(case, "more_before_handshake")
    answers = played.answers(played[name])
    if not answers:
        return "it was not answered"
    error = as_dict(answers[0][1].get("error"))
    return f"it was refused with {error.get('code')}" if error else "it was accepted"


# --- large


@judge("ACCORD-SIZE-001", steps=("more_large_request",), editions=BOTH)
def a_large_request_is_answered(case: Case) -> None:
    seen(case, "more_large_request", "ACCORD-SIZE-001")


@judge("ACCORD-SIZE-002", steps=("more_large_prompt",), editions=BOTH)
def a_large_prompt_is_a_prompt(case: Case) -> None:
    played = seen(case, "more_large_prompt", "ACCORD-SIZE-002")
    if "error" in played.answer(played["prompt"]):
        small = [turn for turn in turns_in(case) if len(turn.asked.raw) < LARGE_BYTES and _is_usual(turn)]
        if any("error" in turn.answer for turn in small):
            raise Unseen("small prompts like it are refused as well")
        raise Violation("it was answered with an error", played.answer_entry(played["prompt"]))


def _is_usual(turn: Turn) -> bool:
    """Whether a prompt is made of text, for a session that is there; it may have metadata."""
    message = as_dict(turn.asked.message)
    blocks = listed(as_dict(message.get("params")).get("prompt"))
    is_text = bool(blocks) and all(as_dict(block).get("type") == "text" for block in blocks)
    given = [as_dict(each.get("result")).get("sessionId") for _, each in messages_in(turn.record.entries)]
    return is_text and turn.session in given


# --- wrong requests


@judge("ACCORD-VALID-001", steps=("more_wrong_sessions",), editions=BOTH)
def a_session_needs_a_folder(case: Case) -> None:
    played = seen(case, "more_wrong_sessions", "ACCORD-VALID-001")
    refusal(played, played["no_cwd"], INVALID_PARAMS)


@judge("ACCORD-VALID-002", steps=("more_wrong_sessions",), editions=BOTH)
def a_relative_folder_is_refused(case: Case) -> None:
    played = seen(case, "more_wrong_sessions", "ACCORD-VALID-002")
    refusal(played, played["relative"])


@judge("ACCORD-VALID-003", steps=("more_wrong_sessions",), editions=BOTH)
def what_comes_of_a_session_without_a_list_of_servers(case: Case) -> str:
    played = seen(case, "more_wrong_sessions")
    answer = played.answer(played["no_servers"])
    return "it was accepted" if "result" in answer else f"it was refused with {as_dict(answer['error']).get('code')}"


@judge("ACCORD-AUTH-001", steps=("more_wrong_sessions",), editions=BOTH)
def a_login_that_nobody_offers_is_refused(case: Case) -> None:
    played = seen(case, "more_wrong_sessions", "ACCORD-AUTH-001")
    refusal(played, played["login"])


@judge("ACCORD-AUTH-003", steps=("logging_in",), editions=BOTH)
def who_logs_out_has_to_log_in_again(case: Case) -> None:
    played = seen(case, "logging_in")
    if played.get("logout") is None:
        raise Unseen("give --allow-logout")
    if "error" in played.answer(played["logout"]):
        raise Unseen("logging out failed")
    refusal(played, played["after"], AUTH_REQUIRED)


@judge("ACCORD-VALID-004", steps=("more_wrong_params",), editions=BOTH)
def params_that_do_not_fit_are_invalid_params(case: Case) -> None:
    played = seen(case, "more_wrong_params", "ACCORD-VALID-004")
    for name, id_ in played["asked"].items():
        answer = played.answer(id_)
        code = as_dict(answer.get("error")).get("code")
        if code != INVALID_PARAMS:
            got = f"the error {code}" if "error" in answer else "a result"
            raise Violation(f"{name} got {got}", played.request_entry(id_), played.answer_entry(id_))


@judge("ACCORD-VALID-005", steps=("more_wrong_params",), editions=BOTH)
def a_session_that_is_not_there_gets_no_turn(case: Case) -> None:
    played = seen(case, "more_wrong_params", "ACCORD-VALID-005")
    refusal(played, played["unknown"])


# --- errors

_INSIDES = re.compile(
    r"Traceback \(most recent|File \"[^\"]+\", line \d|\.(?:py|js|ts|rs|go):\d+|\n\s+at \S|node_modules/|site-packages/"
    r"|panicked at|goroutine \d+ \["
)


@judge("ACCORD-ERROR-001", steps=("meet", "more_wrong_params", "more_wrong_sessions"), editions=BOTH)
def errors_do_not_show_the_insides(case: Case) -> None:
    for _, entry, message in case.messages():
        error = message.get("error")
        if isinstance(error, dict):
            found = _INSIDES.search(json.dumps(error, ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"'))
            if found:
                raise Violation(f"an error shows the program's insides: {found.group().strip()!r}", entry)


# --- the end


@judge("ACCORD-EXIT-001", steps=("more_exit_while_busy",), editions=BOTH)
def it_ends_with_stdin_also_while_it_works(case: Case) -> None:
    played = seen(case, "more_exit_while_busy")
    if played.answers(played["prompt"]):
        raise Unseen("the turn ended before stdin was closed: give --cancel-prompt")
    for record in case.records:
        if record.entries is not played.entries and record.ended_by.startswith("SIG"):
            raise Unseen("it does not end either when it has nothing to do")
    record = next(record for record in case.records if record.entries is played.entries)
    if record.ended_by.startswith("SIG"):
        raise Violation(f"it took {record.ended_by} to end it", played.request_entry(played["prompt"]))


@judge("ACCORD-EXIT-002", steps=("more_exit_while_busy",), editions=BOTH)
def with_what_status_it_ends(case: Case) -> str:
    played = seen(case, "more_exit_while_busy")
    record = next(record for record in case.records if record.entries is played.entries)
    return f"status {record.status} after {record.ended_by}"
