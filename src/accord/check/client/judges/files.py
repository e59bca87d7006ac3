"""Files of the client (v1)."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Played, Violation
from accord.check.client.parts.files import TEXT
from accord.check.judge import judge

__all__: list[str] = []

LINES = TEXT.splitlines()


def _content(played: Played, id_: Any) -> str:
    result = played.result(id_)
    content = result.get("content") if isinstance(result, dict) else None
    if not isinstance(content, str):
        raise Violation("the answer has no text", played.request_entry(id_), played.answer_entry(id_))
    return content


def _expected(line: int | None, limit: int | None) -> str:
    start = max((line or 1) - 1, 0)
    return "\n".join(LINES[start:] if limit is None else LINES[start : start + limit])


def _check_ranges(played: Played, note: str) -> None:
    for params, id_ in played[note]:
        content = _content(played, id_)
        # Whether the last line of a part has its end is nobody's rule.
        if content.removesuffix("\n") != _expected(params.get("line"), params.get("limit")):
            told = ", ".join(f"{key} {value}" for key, value in params.items())
            raise Violation(f"other lines than those of {told}", played.request_entry(id_), played.answer_entry(id_))


@judge("ACCORD-CLIENT-FS-001", steps=("read_whole",), editions=("v1",))
def a_file_is_read_whole(case: Case) -> None:
    played = case.step("read_whole")
    if _content(played, played["id"]) != TEXT:
        asked = played.request_entry(played["id"])
        raise Violation("the text is another than the file's", asked, played.answer_entry(played["id"]))


@judge("ACCORD-CLIENT-FS-002", steps=("read_ranges",), editions=("v1",))
def line_and_limit_choose_lines(case: Case) -> None:
    _check_ranges(case.step("read_ranges"), "ranges")


@judge("ACCORD-CLIENT-FS-003", steps=("read_ranges",), editions=("v1",))
def null_is_the_same_as_nothing(case: Case) -> None:
    _check_ranges(case.step("read_ranges"), "nulls")


@judge("ACCORD-CLIENT-FS-004", steps=("read_ranges",), editions=("v1",))
def line_zero_is_the_start(case: Case) -> None:
    _check_ranges(case.step("read_ranges"), "zeros")


@judge("ACCORD-CLIENT-FS-009", steps=("read_ranges",), editions=("v1",))
def odd_ranges_are_recorded(case: Case) -> str:
    played = case.step("read_ranges")
    names = ("limit 0", "beyond the end")
    return "; ".join(f"{name}: {_what(played, id_)}" for name, (_, id_) in zip(names, played["odd"], strict=True))


@judge("ACCORD-CLIENT-FS-005", steps=("read_missing",), editions=("v1",))
def a_missing_file_is_recorded(case: Case) -> str:
    played = case.step("read_missing")
    return _what(played, played["id"])


def _what(played: Played, id_: Any) -> str:
    answer = played.answer(id_)
    if "error" in answer:
        return f"error {played.error(id_).get('code')}"
    content = _content(played, id_)
    return "the whole text" if content == TEXT else "an empty text" if not content else "some text"


@judge("ACCORD-CLIENT-FS-006", steps=("write",), editions=("v1",))
def writing_makes_a_file(case: Case) -> None:
    played = case.step("write")
    _succeeded(played, "first")
    if played["made"] != TEXT:
        raise Violation("the file was not made, or with another text", played.request_entry(played["first"]))


@judge("ACCORD-CLIENT-FS-012", steps=("write",), editions=("v1",))
def writing_replaces_the_text(case: Case) -> None:
    played = case.step("write")
    _succeeded(played, "second")
    if played["replaced"] != "short":
        raise Violation("the file has another text than the one written last", played.request_entry(played["second"]))


def _succeeded(played: Played, note: str) -> None:
    if not isinstance(played.result(played[note]), dict | None):
        asked = played.request_entry(played[note])
        raise Violation("the result is no object", asked, played.answer_entry(played[note]))


@judge("ACCORD-CLIENT-FS-007", steps=("read_outside",), editions=("v1",))
def nothing_outside_is_read(case: Case) -> None:
    played = case.step("read_outside")
    played.error(played["id"])


@judge("ACCORD-CLIENT-FS-008", steps=("write_outside",), editions=("v1",))
def nothing_outside_is_written(case: Case) -> None:
    played = case.step("write_outside")
    played.error(played["id"])
    if played["done"]:
        raise Violation("it was refused, and done", played.request_entry(played["id"]))


@judge("ACCORD-CLIENT-FS-011", steps=("read_relative",), editions=("v1",))
def a_relative_path_is_refused(case: Case) -> None:
    played = case.step("read_relative")
    played.error(played["id"])


@judge("ACCORD-CLIENT-FS-010", steps=("read_for_nobody",), editions=("v1",))
def nothing_is_read_for_a_session_of_nobody(case: Case) -> None:
    played = case.step("read_for_nobody")
    played.error(played["id"])
