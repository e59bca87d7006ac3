"""Files of the client (v1)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from accord.check.client.conversation import ClientConversation, step
from accord.check.engine.evidence import Evidence, StepResult, Violation
from accord.check.engine.judging import Notes, judge, judge_rows, request_fails
from accord.check.rule import V1, RuleRow, client_rules

# fmt: off
RULES = client_rules(
    RuleRow("ACCORD-CLIENT-FS-001", "C--", "file-system", "A file is read whole and as it is", gate="fs.readTextFile"),
    RuleRow("ACCORD-CLIENT-FS-002", "C--", "file-system", gate="fs.readTextFile",
        says="`line` (from 1) and `limit` choose lines, together and each alone"),
    RuleRow("ACCORD-CLIENT-FS-003", "C--", "file-system", gate="fs.readTextFile",
        says="A `line` or `limit` of null is the same as none"),
    RuleRow("ACCORD-CLIENT-FS-004", "A--", "file-system", gate="fs.readTextFile",
        says="Line 0, which the schema allows, is the start"),
    RuleRow("ACCORD-CLIENT-FS-005", "I--", "file-system", gate="fs.readTextFile",
        says="What reading a missing file gives is recorded"),
    RuleRow("ACCORD-CLIENT-FS-006", "C--", "file-system", gate="fs.writeTextFile",
        says="Writing makes the file where there is none"),
    RuleRow("ACCORD-CLIENT-FS-007", "A--", "file-system", gate="fs.readTextFile",
        says="A file outside of the session's directories is not read"),
    RuleRow("ACCORD-CLIENT-FS-008", "A--", "file-system", gate="fs.writeTextFile",
        says="A file outside of the session's directories is not written"),
    RuleRow("ACCORD-CLIENT-FS-009", "I--", "file-system", gate="fs.readTextFile",
        says="What no lines, and lines beyond the end, give is recorded"),
    RuleRow("ACCORD-CLIENT-FS-010", "A--", "file-system", gate="fs.readTextFile",
        says="Nothing is read for a session that the client does not have"),
    RuleRow("ACCORD-CLIENT-FS-011", "A--", "file-system", "A relative path is refused", gate="fs.readTextFile"),
    RuleRow("ACCORD-CLIENT-FS-012", "C--", "file-system", gate="fs.writeTextFile",
        says="Writing replaces the whole text of a file"),
)
# fmt: on


TEXT = "eins\nzwei ö\ndrei 👋\nvier\n"

RANGES: tuple[dict[str, Any], ...] = (
    {"line": 2},
    {"limit": 2},
    {"line": 2, "limit": 1},
    {"line": 1, "limit": 4},
    {"line": 3, "limit": 100},
    {"line": 4, "limit": None},
)

NULLS: tuple[dict[str, Any], ...] = ({"line": None, "limit": None}, {"line": None, "limit": 2})
ZEROS: tuple[dict[str, Any], ...] = ({"line": 0}, {"line": 0, "limit": 2})
ODD: tuple[dict[str, Any], ...] = ({"limit": 0}, {"line": 100})
LINES = TEXT.splitlines()


def _file(turn: ClientConversation, name: str, content: str | None = TEXT) -> str:
    path = turn.folder / name
    if content is not None:
        path.write_bytes(content.encode())
    return str(path)


def _content(path: str) -> str | None:
    return Path(path).read_bytes().decode(errors="replace") if Path(path).exists() else None


async def _read(turn: ClientConversation, path: str, rule: str, **params: Any) -> Any:
    id_ = turn.ask("fs/read_text_file", path=path, **params)
    await turn.answer(id_, rule)
    return id_


@step("fs", "readTextFile", editions=V1, order=46)
async def read_whole(turn: ClientConversation) -> Notes:
    return {"id": await _read(turn, _file(turn, "numbers.txt"), "ACCORD-CLIENT-FS-001")}


@step("fs", "readTextFile", editions=V1, order=46)
async def read_ranges(turn: ClientConversation) -> Notes:
    """Parts of a file, in every way to name them; each with the id of its request."""
    path = _file(turn, "numbers.txt")
    rules = ("ACCORD-CLIENT-FS-002", "ACCORD-CLIENT-FS-003", "ACCORD-CLIENT-FS-004", "ACCORD-CLIENT-FS-009")
    notes: Notes = {}
    for name, rule, ranges in zip(("ranges", "nulls", "zeros", "odd"), rules, (RANGES, NULLS, ZEROS, ODD), strict=True):
        notes[name] = [(params, await _read(turn, path, rule, **params)) for params in ranges]
    return notes


@step("fs", "readTextFile", editions=V1, order=46)
async def read_missing(turn: ClientConversation) -> Notes:
    return {"id": await _read(turn, _file(turn, "missing.txt", None), "ACCORD-CLIENT-FS-005")}


@step("fs", "readTextFile", editions=V1, order=46)
async def read_relative(turn: ClientConversation) -> Notes:
    """A file by a relative path."""
    path = Path(_file(turn, "numbers.txt"))
    return {"id": await _read(turn, f"{path.parent.name}/{path.name}", "ACCORD-CLIENT-FS-011")}


@step("fs", "readTextFile", editions=V1, order=46)
async def read_for_nobody(turn: ClientConversation) -> Notes:
    """A file, for a session that the client does not have."""
    params = {"sessionId": "session-of-nobody", "path": _file(turn, "numbers.txt")}
    return await turn.ask_and_wait("fs/read_text_file", params, "ACCORD-CLIENT-FS-010")


@step("fs", "writeTextFile", editions=V1, order=47)
async def write(turn: ClientConversation) -> Notes:
    """Writes a new file, then replaces its text; notes the content on disk after each."""
    path = _file(turn, "written.txt", None)
    first = turn.ask("fs/write_text_file", path=path, content=TEXT)
    await turn.answer(first, "ACCORD-CLIENT-FS-006")
    made = _content(path)
    second = turn.ask("fs/write_text_file", path=path, content="short")
    await turn.answer(second, "ACCORD-CLIENT-FS-012")
    return {"first": first, "made": made, "second": second, "replaced": _content(path)}


def _outside() -> str:
    return tempfile.mkdtemp(prefix="accord-outside-")


def _put(folder: str) -> str:
    path = Path(folder) / "secret.txt"
    path.write_text("secret\n", encoding="utf-8")
    return str(path)


@step("fs", "readTextFile", editions=V1, order=48)
async def read_outside(turn: ClientConversation) -> Notes:
    folder = _outside()
    try:
        return {"id": await _read(turn, _put(folder), "ACCORD-CLIENT-FS-007")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@step("fs", "writeTextFile", editions=V1, order=48)
async def write_outside(turn: ClientConversation) -> Notes:
    folder = _outside()
    try:
        id_ = turn.ask("fs/write_text_file", path=f"{folder}/new.txt", content="new\n")
        await turn.answer(id_, "ACCORD-CLIENT-FS-008")
        return {"id": id_, "done": _content(f"{folder}/new.txt") is not None}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _content_of(run: StepResult, id_: Any) -> str:
    result = run.result(id_)
    content = result.get("content") if isinstance(result, dict) else None
    if not isinstance(content, str):
        raise run.violation("the answer has no text", id_)
    return content


def _expected(line: int | None, limit: int | None) -> str:
    start = max((line or 1) - 1, 0)
    return "\n".join(LINES[start:] if limit is None else LINES[start : start + limit])


def _check_ranges(evidence: Evidence, step: str, note: str) -> None:
    run = evidence.step(step)
    for params, id_ in run[note]:
        content = _content_of(run, id_)
        # No rule says whether the last line of a part ends with a newline.
        if content.removesuffix("\n") != _expected(params.get("line"), params.get("limit")):
            wanted = ", ".join(f"{key} {value}" for key, value in params.items())
            raise run.violation(f"other lines than those of {wanted}", id_)


@judge("ACCORD-CLIENT-FS-001", steps=("read_whole",))
def a_file_is_read_whole(evidence: Evidence) -> None:
    run = evidence.step("read_whole")
    if _content_of(run, run["id"]) != TEXT:
        raise run.violation("the text is another than the file's", run["id"])


@judge("ACCORD-CLIENT-FS-009", steps=("read_ranges",))
def odd_ranges_are_recorded(evidence: Evidence) -> str:
    run = evidence.step("read_ranges")
    names = ("limit 0", "beyond the end")
    return "; ".join(f"{name}: {_what(run, id_)}" for name, (_, id_) in zip(names, run["odd"], strict=True))


@judge("ACCORD-CLIENT-FS-005", steps=("read_missing",))
def a_missing_file_is_recorded(evidence: Evidence) -> str:
    run = evidence.step("read_missing")
    return _what(run, run["id"])


def _what(run: StepResult, id_: Any) -> str:
    answer = run.answer(id_)
    if "error" in answer:
        return f"error {run.error(id_).get('code')}"
    content = _content_of(run, id_)
    return "the whole text" if content == TEXT else "an empty text" if not content else "some text"


@judge("ACCORD-CLIENT-FS-006", steps=("write",))
def writing_makes_a_file(evidence: Evidence) -> None:
    run = evidence.step("write")
    _succeeded(run, "first")
    if run["made"] != TEXT:
        raise Violation("the file was not made, or with another text", run.request_entry(run["first"]))


@judge("ACCORD-CLIENT-FS-012", steps=("write",))
def writing_replaces_the_text(evidence: Evidence) -> None:
    run = evidence.step("write")
    _succeeded(run, "second")
    if run["replaced"] != "short":
        raise Violation("the file has another text than the one written last", run.request_entry(run["second"]))


def _succeeded(run: StepResult, note: str) -> None:
    if not isinstance(run.result(run[note]), dict | None):
        raise run.violation("the result is no object", run[note])


@judge("ACCORD-CLIENT-FS-008", steps=("write_outside",))
def nothing_outside_is_written(evidence: Evidence) -> None:
    run = evidence.step("write_outside")
    run.error(run["id"])
    if run["done"]:
        raise Violation("it was refused, and done", run.request_entry(run["id"]))


judge_rows(
    _check_ranges,
    ("ACCORD-CLIENT-FS-002", "line_and_limit_choose_lines", "read_ranges", "ranges"),
    ("ACCORD-CLIENT-FS-003", "null_is_the_same_as_nothing", "read_ranges", "nulls"),
    ("ACCORD-CLIENT-FS-004", "line_zero_is_the_start", "read_ranges", "zeros"),
)
judge_rows(
    request_fails,
    ("ACCORD-CLIENT-FS-007", "nothing_outside_is_read", "read_outside", "id"),
    ("ACCORD-CLIENT-FS-011", "a_relative_path_is_refused", "read_relative", "id"),
    ("ACCORD-CLIENT-FS-010", "nothing_is_read_for_a_session_of_nobody", "read_for_nobody", "id"),
)
