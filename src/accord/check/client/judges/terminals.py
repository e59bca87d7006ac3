"""Terminals of the client (v1)."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.client.parts.terminals import LIMIT_BYTES, WORDS
from accord.check.judge import judge

__all__: list[str] = []

EXIT_CODE = 3


def _result(played: Played, note: str) -> dict[str, Any]:
    result = played.result(played[note])
    if not isinstance(result, dict):
        raise _violation("the result is no object", played, note)
    return result


def _violation(message: str, played: Played, note: str) -> Violation:
    return Violation(message, played.request_entry(played[note]), played.answer_entry(played[note]))


def _output(played: Played, note: str) -> str:
    output = _result(played, note).get("output")
    if not isinstance(output, str):
        raise _violation("the answer has no output", played, note)
    return output


@judge("ACCORD-CLIENT-TERM-001", steps=("command", "killed"), editions=("v1",))
def a_terminal_is_made_at_once(case: Case) -> None:
    for name in ("command", "killed"):
        case.step(name)


@judge("ACCORD-CLIENT-TERM-002", steps=("killed",), editions=("v1",))
def what_runs_has_no_exit_status(case: Case) -> None:
    played = case.step("killed")
    _output(played, "before")
    if _result(played, "before").get("exitStatus") is not None:
        raise _violation("a command that runs has an exit status", played, "before")


@judge("ACCORD-CLIENT-TERM-003", steps=("command",), editions=("v1",))
def arguments_variables_and_place_are_given(case: Case) -> None:
    played = case.step("command")
    if _output(played, "output").replace("\r\n", "\n") != played["said"]:
        raise Violation(
            f"the output should be {played['said']!r}", played.request_entry(played["create"]), _line(played, "output")
        )


def _line(played: Played, note: str) -> Any:
    return played.answer_entry(played[note])


@judge("ACCORD-CLIENT-TERM-004", steps=("command",), editions=("v1",))
def who_waits_is_told_how_it_ended(case: Case) -> None:
    played = case.step("command")
    for note in ("wait", "again"):
        if _result(played, note).get("exitCode") != EXIT_CODE or _result(played, note).get("signal") is not None:
            raise _violation("it ended with the code 3 and no signal", played, note)


@judge("ACCORD-CLIENT-TERM-012", steps=("command",), editions=("v1",))
def what_has_ended_has_an_exit_status(case: Case) -> None:
    played = case.step("command")
    status = _result(played, "output").get("exitStatus")
    if not isinstance(status, dict) or status.get("exitCode") != EXIT_CODE:
        raise _violation("the output does not say that it ended with the code 3", played, "output")


@judge("ACCORD-CLIENT-TERM-005", steps=("limited",), editions=("v1",))
def output_is_kept_up_to_its_limit(case: Case) -> None:
    played = case.step("limited")
    output = _output(played, "output").replace("�", "")
    if len(output.encode()) > LIMIT_BYTES:
        raise _violation(f"more than {LIMIT_BYTES} bytes are kept", played, "output")
    if not output or not WORDS.endswith(output):
        raise _violation("what is kept is not the end of the output", played, "output")


@judge("ACCORD-CLIENT-TERM-006", steps=("limited",), editions=("v1",))
def output_is_cut_between_characters(case: Case) -> None:
    played = case.step("limited")
    output = _output(played, "output")
    if any(character not in WORDS for character in output):
        raise _violation("the output begins in the middle of a character", played, "output")


@judge("ACCORD-CLIENT-TERM-007", steps=("limited", "command"), editions=("v1",))
def what_was_cut_is_called_truncated(case: Case) -> None:
    for name, expected in (("limited", True), ("command", False)):
        played = case.step(name)
        if _result(played, "output").get("truncated") is not expected:
            raise _violation(f"`truncated` is not {expected}", played, "output")


@judge("ACCORD-CLIENT-TERM-008", steps=("killed",), editions=("v1",))
def what_is_killed_can_still_be_asked(case: Case) -> None:
    played = case.step("killed")
    for note in ("kill", "wait"):
        played.result(played[note])
    _output(played, "after")


@judge("ACCORD-CLIENT-TERM-009", steps=("killed",), editions=("v1",))
def what_is_killed_has_a_signal_and_no_code(case: Case) -> None:
    played = case.step("killed")
    if "result" not in played.answer(played["wait"]):
        raise Unseen("how it ended was not told")
    result = _result(played, "wait")
    if result.get("exitCode") is not None or not isinstance(result.get("signal"), str):
        raise _violation("it ended by a signal, with no exit code", played, "wait")


@judge("ACCORD-CLIENT-TERM-010", steps=("released",), editions=("v1",))
def what_is_released_is_no_more(case: Case) -> None:
    played = case.step("released")
    played.result(played["release"])
    for id_ in played["after"]:
        played.error(id_)


@judge("ACCORD-CLIENT-TERM-013", steps=("released",), editions=("v1",))
def what_is_released_has_ended(case: Case) -> None:
    played = case.step("released")
    if played["alive"]:
        raise _violation("the command goes on", played, "release")


@judge("ACCORD-CLIENT-TERM-011", steps=("released",), editions=("v1",))
def who_waits_for_what_is_released_is_answered(case: Case) -> None:
    played = case.step("released")
    played.answer(played["wait"])


@judge("ACCORD-CLIENT-TERM-014", steps=("left_running",), editions=("v1",))
def no_command_outlives_its_client(case: Case) -> None:
    played = case.step("left_running")
    if played.get("ended_by") not in {"itself", "closed stdin"}:
        raise Unseen("the client did not end by itself")
    if played.get("alive"):
        raise Violation("a command still ran when its client had ended")
