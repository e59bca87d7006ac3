"""Lines on stdout and stderr, and the end of the process: the same in every edition, but for what one line may hold."""

from __future__ import annotations

import json

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry
from accord.check.judge import judge

__all__: list[str] = []


@judge("ACP-TRANSPORT-001", steps=("meet", "turns"), editions=("v1",))
def every_line_is_one_message(case: Case) -> None:
    for record, entry in case.heard():
        problem = _problem(entry)
        if problem:
            raise Violation(f"a line on stdout {problem} (process {record.name!r})", entry)
    for record in case.records:
        # Whoever was killed could not finish a line.
        if record.unended.strip() and record.ended_by in {"itself", "closed stdin"}:
            said = record.unended[:60].decode(errors="replace")
            raise Violation(f"the last line on stdout has no end: {said!r} (process {record.name!r})")


def _problem(entry: Entry) -> str:
    message = entry.message
    if message is None:
        # Bytes that are no UTF-8 break another rule.
        try:
            message = json.loads(entry.raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return "is no JSON"
    if not isinstance(message, dict):
        return "is JSON but no object"
    if message.get("jsonrpc") != "2.0":
        return 'does not say jsonrpc "2.0"'
    return "" if "method" in message or "id" in message else "has neither a method nor an id"


@judge("ACP-TRANSPORT-002", steps=("meet", "turns", "keep"))
def everything_on_stdout_is_utf_8(case: Case) -> None:
    for _, entry in case.heard():
        try:
            entry.raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Violation(f"byte {error.start} of a line is no UTF-8", entry) from None


@judge("ACP-ERROR-001", steps=("strange_requests", "unknown_session"))
def the_message_of_an_error_is_one_line(case: Case) -> None:
    seen = False
    for _, entry, message in case.messages():
        error = message.get("error")
        said = error.get("message") if isinstance(error, dict) else None
        if isinstance(said, str):
            seen = True
            if not said.strip() or len(said.splitlines()) != 1:
                raise Violation("the message of an error is empty or has several lines", entry)
    if not seen:
        raise Unseen("there was no error")


@judge("ACP-SHUTDOWN-001", steps=("meet",))
def the_process_ends_when_its_stdin_is_closed(case: Case) -> str | None:
    record = next((record for record in case.records if record.name.endswith("meet")), None)
    if record is None or record.ended_by == "itself":
        raise Unseen("the process had ended before")
    if record.ended_by != "closed stdin":
        seconds = case.options.grace_seconds
        raise Violation(
            f"it was still there {seconds:g} s after its stdin was closed, and was ended by {record.ended_by}"
        )
    return None if record.status == 0 else f"its exit status is {record.status}"


@judge("ACP-STDERR-001", steps=("meet", "turns"))
def what_is_said_on_stderr(case: Case) -> str:
    said = [len(record.stderr) for record in case.records if record.stderr]
    if not said:
        return "nothing"
    return f"{sum(said)} bytes, by {len(said)} of {len(case.records)} processes"
