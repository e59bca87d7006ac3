"""What a tool does to files, as lines: how many come and go, and which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from accord.cli.show.differences import change_rows, counts
from accord.cli.show.line import Line, Span, line_of
from accord.display import SafeText, exact, filled, joined, own, source_line, trimmed
from accord.session.tool import Diff, FileChange

__all__ = ["Hunk", "changed", "diff_lines", "hunks_of"]

INDENT = own("    ")
MINUS = own("\N{MINUS SIGN}")


class Hunk(NamedTuple):
    """Lines that go and lines that come in their place; `line` is where, counted from 1 in the old file."""

    line: int
    old: list[str]
    new: list[str]


def hunks_of(change: FileChange) -> list[Hunk]:
    """Where a file changes."""
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


def changed(diff: Diff) -> SafeText:
    """How many lines come and go, and what else happens to files."""
    plus, minus = counts(diff)
    kinds = {change.operation for change in diff.changes} - {"modify"}
    if any(change.old is None and change.new is not None for change in diff.changes) and not kinds:
        kinds = {"new file"}
    lines = filled("+{} {}{}", plus, MINUS, minus)
    return joined([lines, *map(exact, sorted(kinds))], own(" "))


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
        for line in diff.patch.removesuffix("\n").split("\n"):
            yield line_of(INDENT, Span(source_line(line), styles.get(line[:1], "")))


def _signed(sign: SafeText, lines: list[str], style: str) -> Iterator[Line]:
    for line in lines:
        yield line_of(INDENT, Span(trimmed(joined([sign, source_line(line)])), style))
