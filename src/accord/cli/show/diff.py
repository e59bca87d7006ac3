"""Diffs for the screen: rows with line numbers for a wide view, hunks and counts for lines of text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, NamedTuple, TypeAlias

from accord.cli.show.line import Line, Span, hidden_after, line_of
from accord.display import SafeText, exact, filled, joined, own, source_line, trimmed
from accord.session.git_patch import is_shown_by
from accord.session.tool import Diff, FileChange

RowKind: TypeAlias = Literal["file", "same", "removed", "added", "gap"]

CONTEXT_LINES = 3
# Above this, comparing line by line takes too long; the middle is then shown as replaced.
MAX_COMPARED = 4_000
UNENDED = "  (no newline at the end)"


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line: its number before and after, where it has one."""

    kind: RowKind
    text: str
    old: int | None = None
    new: int | None = None


def rows_of_diff(diff: Diff, cwd: str = "") -> list[DiffRow]:
    """All changes of a diff; the patch where texts do not show everything. Files below `cwd` are named from there."""
    rows: list[DiffRow] = []
    shows_patch = _shows_patch(diff)
    for change in diff.changes:
        rows.append(DiffRow("file", file_title(change, cwd)))
        rows += [] if shows_patch else change_rows(change.old, change.new)
    if shows_patch:
        rows += patch_rows(diff.patch or "")
    return rows


def _shows_patch(diff: Diff) -> bool:
    """Whether the agent's patch is shown instead of texts: there are none, or the patch says more than they do."""
    if not diff.patch:
        return False
    has_texts = any(change.old is not None or change.new is not None for change in diff.changes)
    return not has_texts or diff.patch_format != "git_patch" or not is_shown_by(diff.patch, diff.changes)


def file_title(change: FileChange, cwd: str = "") -> str:
    """The title of a changed file: the operation and its path."""
    operation = change.operation
    if operation == "modify" and change.old is None and change.new is not None:
        operation = "add"
    path = place_of(change.path, cwd)
    if change.old_path:
        path = f"{place_of(change.old_path, cwd)} → {path}"
    facts = [*([] if operation == "modify" else [operation]), *unusual_type(change)]
    return f"{path} ({', '.join(facts)})" if facts else path


def unusual_type(change: FileChange) -> list[str]:
    """The type of a file that is none of the usual ones: of a link, the text is where it leads."""
    return [] if change.file_type in {None, "text", "binary"} else [str(change.file_type)]


def counts(diff: Diff) -> tuple[int, int]:
    """How many lines were added and removed."""
    rows = rows_of_diff(diff)
    return sum(row.kind == "added" for row in rows), sum(row.kind == "removed" for row in rows)


def change_rows(old: str | None, new: str | None) -> list[DiffRow]:
    """The rows of one file."""
    before, after = _lines(old), _lines(new)
    if old and new and old.endswith("\n") != new.endswith("\n"):
        # Whether the last line is ended is a change too.
        (before if new.endswith("\n") else after)[-1] += UNENDED
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    middle_before, middle_after = before[start : len(before) - end], after[start : len(after) - end]
    if not middle_before and not middle_after:
        return []
    around = _Around(before, after, start, end)
    return [*around.above(), *_middle(middle_before, middle_after, start), *around.below()]


@dataclass(frozen=True, slots=True)
class _Around:
    """The equal lines above and below all changes."""

    before: list[str]
    after: list[str]
    start: int
    end: int

    def above(self) -> list[DiffRow]:
        first = max(0, self.start - CONTEXT_LINES)
        rows = [DiffRow("same", self.before[at], at + 1, at + 1) for at in range(first, self.start)]
        return [*_gap(self.before[:first], 0, 0), *rows]

    def below(self) -> list[DiffRow]:
        old, new = len(self.before) - self.end, len(self.after) - self.end
        shown = min(self.end, CONTEXT_LINES)
        rows = [DiffRow("same", self.before[old + at], old + at + 1, new + at + 1) for at in range(shown)]
        return [*rows, *_gap(self.before[old + shown :], old + shown, new + shown)]


def _gap(lines: list[str], old: int, new: int) -> list[DiffRow]:
    """The remark for omitted equal lines; a single line is shown, because the remark takes as much space."""
    if len(lines) > 1:
        return [DiffRow("gap", f"{len(lines)} lines")]
    return [DiffRow("same", line, old + at + 1, new + at + 1) for at, line in enumerate(lines)]


def _middle(before: list[str], after: list[str], offset: int) -> list[DiffRow]:
    if len(before) + len(after) > MAX_COMPARED:
        return _replaced(before, after, 0, 0, offset)
    rows: list[DiffRow] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, old, old_end, new, new_end in matcher.get_opcodes():
        if tag == "equal":
            rows += _kept(before[old:old_end], old, new, offset)
        else:
            rows += _replaced(before[old:old_end], after[new:new_end], old, new, offset)
    return rows


def _kept(lines: list[str], old: int, new: int, offset: int) -> list[DiffRow]:
    """Equal lines between two changes: all of them if they are few."""
    rows = [DiffRow("same", text, offset + old + at + 1, offset + new + at + 1) for at, text in enumerate(lines)]
    hidden = len(rows) - 2 * CONTEXT_LINES
    if hidden <= 1:
        return rows
    return [*rows[:CONTEXT_LINES], DiffRow("gap", f"{hidden} lines"), *rows[-CONTEXT_LINES:]]


def _replaced(before: list[str], after: list[str], old: int, new: int, offset: int) -> list[DiffRow]:
    removed = [DiffRow("removed", text, offset + old + at + 1, None) for at, text in enumerate(before)]
    added = [DiffRow("added", text, None, offset + new + at + 1) for at, text in enumerate(after)]
    return [*removed, *added]


def patch_rows(patch: str) -> list[DiffRow]:
    """The lines of a patch, unchanged."""
    kinds: dict[str, RowKind] = {"+": "added", "-": "removed", "@": "gap", " ": "same"}
    rows = []
    for line in patch.split("\n"):
        is_header = line.startswith(("+++", "---", "diff "))
        kind: RowKind = "file" if is_header else kinds.get(line[:1], "same")
        rows.append(DiffRow(kind, line[1:] if kind in {"added", "removed", "same"} else line))
    return rows


def _lines(text: str | None) -> list[str]:
    if not text:
        return []
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _common(one: list[str], other: list[str]) -> int:
    number = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        number += 1
    return number


INDENT = own("    ")


class Hunk(NamedTuple):
    """Removed lines and the added lines in their place; `line` is the position in the old file, from 1."""

    line: int
    old: list[str]
    new: list[str]


def hunks_of(change: FileChange) -> list[Hunk]:
    hunks: list[Hunk] = []
    at, is_open = 0, False
    for row in change_rows(change.old, change.new):
        if row.kind in {"removed", "added"}:
            if not is_open:
                hunks.append(Hunk(row.old or at + 1, [], []))
            is_open = True
            (hunks[-1].old if row.kind == "removed" else hunks[-1].new).append(row.text)
        else:
            is_open = False
        at = row.old or at
    return hunks


def diff_lines(diff: Diff, limit: int | None = None) -> list[Line]:
    """The removed and added lines; with a `limit` no more than so many, and the number of the rest."""
    lines = list(_lines_of_diff(diff, whole=limit is None))
    if limit is None or len(lines) <= limit:
        return lines
    rest = Span(filled("{}{}", INDENT, hidden_after(len(lines) - limit)), "dim")
    return [*lines[:limit], [rest]]


def _lines_of_diff(diff: Diff, *, whole: bool) -> Iterator[Line]:
    shows_patch = _shows_patch(diff)
    with_texts = [change for change in diff.changes if change.old is not None or change.new is not None]
    several = len(diff.changes) > 1
    for change in [] if shows_patch else with_texts:
        hunks = hunks_of(change)
        if several:
            yield line_of(INDENT, Span(exact(change.path), "bold"))
        for hunk in hunks:
            if len(hunks) > 1 or whole:
                yield line_of(Span(filled("{}@ line {}", INDENT, hunk.line), "dim"))
            yield from _signed(own("- "), hunk.old, "red")
            yield from _signed(own("+ "), hunk.new, "green")
    if shows_patch and diff.patch:
        styles = {"+": "green", "-": "red", "@": "dim"}
        for line in diff.patch.removesuffix("\n").split("\n"):
            yield line_of(INDENT, Span(source_line(line), styles.get(line[:1], "")))


def _signed(sign: SafeText, lines: list[str], style: str) -> Iterator[Line]:
    for line in lines:
        yield line_of(INDENT, Span(trimmed(joined([sign, source_line(line)])), style))


def place_of(path: str, cwd: str) -> str:
    """The path relative to the directory, if it is below that; otherwise unchanged."""
    place = PurePath(path)
    if cwd and place.is_absolute() and place.is_relative_to(cwd):
        return str(place.relative_to(cwd)) or "."
    return path
