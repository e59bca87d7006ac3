"""Files of the client (v1): read whole and in part, missing, written, and outside of where the session works."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from accord.check.client.part import Notes, Turn, part

__all__ = ["RANGES", "TEXT", "ZEROS"]

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


def _file(turn: Turn, name: str, content: str | None = TEXT) -> str:
    path = turn.folder / name
    if content is not None:
        path.write_bytes(content.encode())
    return str(path)


def _content(path: str) -> str | None:
    return Path(path).read_bytes().decode(errors="replace") if Path(path).exists() else None


async def _read(turn: Turn, path: str, rule: str, **params: Any) -> Any:
    id_ = turn.ask("fs/read_text_file", path=path, **params)
    await turn.answer(id_, rule)
    return id_


@part("fs", "readTextFile", editions=("v1",), order=46)
async def read_whole(turn: Turn) -> Notes:
    """A file, whole."""
    return {"id": await _read(turn, _file(turn, "numbers.txt"), "ACCORD-CLIENT-FS-001")}


@part("fs", "readTextFile", editions=("v1",), order=46)
async def read_ranges(turn: Turn) -> Notes:
    """Parts of a file, in every way to name them; each with the id of its request."""
    path = _file(turn, "numbers.txt")
    rules = ("ACCORD-CLIENT-FS-002", "ACCORD-CLIENT-FS-003", "ACCORD-CLIENT-FS-004", "ACCORD-CLIENT-FS-009")
    notes: Notes = {}
    for name, rule, ranges in zip(("ranges", "nulls", "zeros", "odd"), rules, (RANGES, NULLS, ZEROS, ODD), strict=True):
        notes[name] = [(params, await _read(turn, path, rule, **params)) for params in ranges]
    return notes


@part("fs", "readTextFile", editions=("v1",), order=46)
async def read_missing(turn: Turn) -> Notes:
    """A file that is not there."""
    return {"id": await _read(turn, _file(turn, "missing.txt", None), "ACCORD-CLIENT-FS-005")}


@part("fs", "readTextFile", editions=("v1",), order=46)
async def read_relative(turn: Turn) -> Notes:
    """A file whose path says where it is only to who knows where we are."""
    path = Path(_file(turn, "numbers.txt"))
    return {"id": await _read(turn, f"{path.parent.name}/{path.name}", "ACCORD-CLIENT-FS-011")}


@part("fs", "readTextFile", editions=("v1",), order=46)
async def read_for_nobody(turn: Turn) -> Notes:
    """A file, for a session that the client does not have."""
    params = {"sessionId": "session-of-nobody", "path": _file(turn, "numbers.txt")}
    id_ = turn.seat.ask("fs/read_text_file", params)
    await turn.answer(id_, "ACCORD-CLIENT-FS-010")
    return {"id": id_}


@part("fs", "writeTextFile", editions=("v1",), order=47)
async def write(turn: Turn) -> Notes:
    """A new file, then another text for it; with what the disk has after each."""
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


@part("fs", "readTextFile", editions=("v1",), order=48)
async def read_outside(turn: Turn) -> Notes:
    """A file outside of where the session works."""
    folder = _outside()
    try:
        return {"id": await _read(turn, _put(folder), "ACCORD-CLIENT-FS-007")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@part("fs", "writeTextFile", editions=("v1",), order=48)
async def write_outside(turn: Turn) -> Notes:
    """A new file outside of where the session works."""
    folder = _outside()
    try:
        id_ = turn.ask("fs/write_text_file", path=f"{folder}/new.txt", content="new\n")
        await turn.answer(id_, "ACCORD-CLIENT-FS-008")
        return {"id": id_, "done": _content(f"{folder}/new.txt") is not None}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
