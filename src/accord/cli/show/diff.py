"""What a tool does to files, as lines: how many come and go, and which."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import NamedTuple

from accord.cli.show.line import Line, Span, line_of
from accord.display import SafeText, exact, filled, joined, own, source_line, trimmed
from accord.session.tool import Diff, FileChange

__all__ = ["Hunk", "changed", "counted", "diff_lines", "hunks_of"]

INDENT = own("    ")
MINUS = own("\N{MINUS SIGN}")
# Comparing costs with the square of this in the worst case.
MAX_COMPARED_LINES = 3000


class Hunk(NamedTuple):
    """Lines that go and lines that come in their place; `line` is where, counted from 1 in the old file."""

    line: int
    old: list[str]
    new: list[str]


def hunks_of(change: FileChange) -> list[Hunk]:
    """Where a file changes."""
    old, new = _file_lines(change.old), _file_lines(change.new)
    start, old_end, new_end = _different(old, new)
    before, after = old[start:old_end], new[start:new_end]
    if not before and not after:
        return []
    if not before or not after or len(before) + len(after) > MAX_COMPARED_LINES:
        return [Hunk(start + 1, before, after)]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Hunk(start + i1 + 1, before[i1:i2], after[j1:j2])
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _file_lines(text: str | None) -> list[str]:
    """The lines of a file as every program counts them: what else Python takes for an end of line is part of one."""
    lines = (text or "").split("\n")
    return lines[:-1] if not lines[-1] else lines


def _different(old: list[str], new: list[str]) -> tuple[int, int, int]:
    """The part in which two texts differ: where it begins in both, and where it ends in each."""
    start, shortest = 0, min(len(old), len(new))
    while start < shortest and old[start] == new[start]:
        start += 1
    same = 0
    while same < shortest - start and old[-1 - same] == new[-1 - same]:
        same += 1
    return start, len(old) - same, len(new) - same


def counted(diff: Diff) -> tuple[int, int]:
    """How many lines come and go."""
    plus = minus = 0
    if any(change.old is not None or change.new is not None for change in diff.changes):
        for change in diff.changes:
            for hunk in hunks_of(change):
                plus, minus = plus + len(hunk.new), minus + len(hunk.old)
        return plus, minus
    for line in _file_lines(diff.patch):
        plus += line.startswith("+") and not line.startswith("+++")
        minus += line.startswith("-") and not line.startswith("---")
    return plus, minus


def changed(diff: Diff) -> SafeText:
    """How many lines come and go, and what else happens to files."""
    plus, minus = counted(diff)
    kinds = {change.operation for change in diff.changes} - {"modify"}
    if any(change.old is None and change.new is not None for change in diff.changes) and not kinds:
        kinds = {"new file"}
    counts = filled("+{} {}{}", plus, MINUS, minus)
    return joined([counts, *map(exact, sorted(kinds))], own(" "))


def diff_lines(diff: Diff, limit: int | None = None) -> list[Line]:
    """The lines that go and come; with a `limit` no more than so many, and how many more there are."""
    lines = list(_lines(diff, whole=limit is None))
    if limit is None or len(lines) <= limit:
        return lines
    rest = Span(filled("{}… {} more lines", INDENT, len(lines) - limit), "dim")
    return [*lines[:limit], [rest]]


def _lines(diff: Diff, *, whole: bool) -> Iterator[Line]:
    told = [change for change in diff.changes if change.old is not None or change.new is not None]
    several = len(diff.changes) > 1
    for change in told:
        hunks = hunks_of(change)
        if several:
            yield line_of(INDENT, Span(exact(change.path), "bold"))
        for hunk in hunks:
            if len(hunks) > 1 or whole:
                yield line_of(Span(filled("{}@ line {}", INDENT, hunk.line), "dim"))
            yield from _signed(own("- "), hunk.old, "red")
            yield from _signed(own("+ "), hunk.new, "green")
    if not told and diff.patch:
        styles = {"+": "green", "-": "red", "@": "dim"}
        for line in _file_lines(diff.patch):
            yield line_of(INDENT, Span(source_line(line), styles.get(line[:1], "")))


def _signed(sign: SafeText, lines: list[str], style: str) -> Iterator[Line]:
    for line in lines:
        yield line_of(INDENT, Span(trimmed(joined([sign, source_line(line)])), style))
