"""The colours of code in diffs: by the file's name, on the right characters, beside the colours of the diff."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from rich.style import Style
from rich.text import Text
from textual.app import App

from accord.cli.chat.lines import DiffView
from accord.cli.chat.syntax import MAX_CHARACTERS, colour, row_colours
from accord.cli.show.diff import DiffRow, rows_of_diff
from accord.display import source_line
from accord.session.tool import Diff, FileChange

OLD = 'def f():\n    return "old"\n'
NEW = 'def f():\n    """Long\n    text."""\n    return "new"  # done\n'


def rows_of(path: str) -> list[DiffRow]:
    return rows_of_diff(Diff([FileChange(path, OLD, NEW)]))


def coloured(rows: list[DiffRow]) -> dict[str, list[str]]:
    """The parts of each row that have a colour."""
    shown = [source_line(row.text) for row in rows]
    found = row_colours(rows, shown, dark=True)
    return {text: [text[start:end] for start, end, _ in each] for text, each in zip(shown, found, strict=True)}


def test_both_sides_are_coloured_by_the_language_of_the_file() -> None:
    parts = coloured(rows_of("src/a.py"))
    assert {"def", "f"} <= set(parts["def f():"])
    assert "return" in parts['    return "old"']
    assert "# done" in parts['    return "new"  # done']
    # Known only from the line before.
    assert any("text." in part for part in parts['    text."""'])


@pytest.mark.parametrize("path", ["notes", "a.nosuchlanguage"])
def test_a_file_of_no_known_language_has_no_colours(path: str) -> None:
    assert not any(coloured(rows_of(path)).values())


def test_a_file_that_was_moved_is_known_by_its_new_name() -> None:
    rows = rows_of_diff(Diff([FileChange("b.py", OLD, NEW, "move", "a.txt")]))
    assert coloured(rows)["def f():"]


def test_a_diff_that_is_too_long_has_no_colours() -> None:
    rows = [DiffRow("file", "a.py"), DiffRow("added", "x = 1;" * MAX_CHARACTERS, None, 1)]
    assert not any(coloured(rows).values())


def test_a_part_of_a_row_is_coloured_where_it_stands() -> None:
    red = Style(color="red")
    line = colour(Text("12345 bcd"), [(0, 2, red), (3, 6, red)], at=6, start=1, length=3)
    assert [(span.start, span.end) for span in line.spans] == [(6, 7), (8, 9)]


@pytest.mark.parametrize("layout", ["inline", "side"])
async def test_the_rows_keep_their_text_and_their_background(layout: Any) -> None:
    app: App[None] = App()
    async with app.run_test(size=(120, 20)):
        plain, coloured_view = (DiffView(rows_of(path), layout) for path in ("notes", "a.py"))
        await app.mount(plain, coloured_view)
        before, after = plain.lines_at(120), coloured_view.lines_at(120)
        assert [line.plain for line in before[1:]] == [line.plain for line in after[1:]]
        assert [line.style for line in before[1:]] == [line.style for line in after[1:]]
        assert sum(len(line.spans) for line in after) > sum(len(line.spans) for line in before)
        for line in after:
            for one, other in pairwise(sorted((span.start, span.end) for span in line.spans if not span.style)):
                assert one[1] <= other[0]
