"""A widget of many lines that renders only those in view, and the diff view based on it, inline or side by side.

Long lines are wrapped; nothing is cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import ClassVar, Literal, TypeAlias

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from accord.cli.chat.syntax import Colours, colour, row_colours
from accord.cli.chat.widgets import chopped, styled
from accord.cli.show.diff import DiffRow
from accord.display import EMPTY, SafeText, exact, filled, own, source_line

TAB_SIZE = 4


class Lines(Widget):
    """Lines of text, each with its own styles. Its height is that of all of them: put it into a scrolling container."""

    DEFAULT_CSS = """
    Lines { width: 1fr; height: auto; }
    """

    def __init__(self, lines: Sequence[Text] = ()) -> None:
        super().__init__()
        self._lines: Sequence[Text] = lines
        self._folded: tuple[int, list[tuple[int, int, int]]] | None = None

    def show(self, lines: Sequence[Text]) -> None:
        self._lines = lines
        self._folded = None
        self.refresh(layout=True)

    @property
    def text(self) -> str:
        """All of it, without styles."""
        return "\n".join(line.plain for line in self._lines)

    def lines_at(self, width: int) -> Sequence[Text]:
        """The lines for a width; a subclass may lay them out differently for each width."""
        del width
        return self._lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of rows after wrapping."""
        del container, viewport
        return len(self._fold(width))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        rows = self._fold(width)
        back = self.rich_style
        if y >= len(rows):
            return Strip.blank(width, back)
        index, start, end = rows[y]
        chunk = self._lines_now[index][start:end]
        segments = [
            Segment(segment.text, back + segment.style if isinstance(segment.style, Style) else back)
            for segment in chunk.render(self.app.console)
        ]
        fill = chunk.style if isinstance(chunk.style, Style) else Style.null()
        return Strip(segments).adjust_cell_length(width, back + fill)

    def _fold(self, width: int) -> list[tuple[int, int, int]]:
        width = max(width, 1)
        if self._folded is None or self._folded[0] != width:
            self._lines_now = [_without_tabs(line) for line in self.lines_at(width)]
            rows = []
            for index, line in enumerate(self._lines_now):
                rows += _rows_of(line.plain, index, width)
            self._folded = (width, rows)
        return self._folded[1]

    _lines_now: list[Text] = []  # noqa: RUF012 - replaced, never changed


def _without_tabs(line: Text) -> Text:
    if "\t" in line.plain:
        line = line.copy()
        line.expand_tabs(TAB_SIZE)
    return line


def _rows_of(text: str, index: int, width: int) -> list[tuple[int, int, int]]:
    if cell_len(text) <= width:
        return [(index, 0, len(text))]
    rows, start = [], 0
    for chunk in chop_cells(text, width):
        rows.append((index, start, start + len(chunk)))
        start += len(chunk)
    return rows


DiffLayout: TypeAlias = Literal["inline", "side"]

# Two columns of code need this much to be worth it.
SIDE_BY_SIDE_CELLS = 96
NUMBER_CELLS = 4
MARK_CELLS = 3
MARKS = {"added": own("+"), "removed": own("-")}
BLANK = own(" ")


class DiffView(Lines):
    """The rows of a diff."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"diff--added", "diff--removed", "diff--file", "diff--gap", "diff--number"}
    DEFAULT_CSS = """
    DiffView {
        .diff--added { background: $success 20%; color: $text; }
        .diff--removed { background: $error 20%; color: $text; }
        .diff--file { color: $text; text-style: bold; }
        .diff--gap { color: $text-muted; }
        .diff--number { color: $text-muted; }
    }
    """

    def __init__(self, rows: Sequence[DiffRow], layout: DiffLayout = "inline", *, max_rows: int | None = None) -> None:
        super().__init__()
        self._rows = rows[:max_rows]
        self._coloured: list[Colours] = []
        self.diff_layout: DiffLayout = layout

    def show_layout(self, layout: DiffLayout) -> None:
        self.diff_layout = layout
        self._folded = None
        self.refresh(layout=True)

    @property
    def text(self) -> str:
        """The whole diff as text, in the form of a patch."""
        marks = {"added": "+", "removed": "-", "same": " ", "gap": "…", "file": ""}
        return "\n".join(f"{marks[row.kind]}{_shown(row)}" for row in self._rows)

    def notify_style_update(self) -> None:
        """Another theme has other colours."""
        super().notify_style_update()
        self._folded, self._coloured = None, []

    def lines_at(self, width: int) -> Sequence[Text]:
        """Inline where that is chosen or where the width is too small."""
        if not self._coloured:
            shown = [_shown(row) for row in self._rows]
            self._coloured = row_colours(self._rows, shown, dark=self.app.current_theme.dark)
        if self.diff_layout == "side" and width >= SIDE_BY_SIDE_CELLS:
            return list(self._side_by_side(width))
        return list(self._inline())

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"diff--{name}")

    def _inline(self) -> Iterator[Text]:
        styles = {name: self._style(name) for name in ("added", "removed", "file", "gap", "number")}
        for row, colours in zip(self._rows, self._coloured, strict=True):
            if row.kind in {"file", "gap"}:
                yield _heading(row, styles)
                continue
            mark = MARKS.get(row.kind, BLANK)
            number = row.new if row.new is not None else row.old
            style = styles.get(row.kind, Style.null())
            line = styled((_number(number), styles["number"]), (filled(" {} {}", mark, _shown(row)), ""), style=style)
            yield colour(line, colours, at=NUMBER_CELLS + MARK_CELLS)

    def _side_by_side(self, width: int) -> Iterator[Text]:
        styles = {name: self._style(name) for name in ("added", "removed", "file", "gap", "number")}
        half = (width - 1) // 2
        removed: list[_Coloured] = []
        added: list[_Coloured] = []
        for row, colours in zip([*self._rows, DiffRow("gap", "")], [*self._coloured, []], strict=True):
            if row.kind == "removed" and not added:
                removed.append((row, colours))
                continue
            if row.kind == "added":
                added.append((row, colours))
                continue
            for left, right in zip_longest(removed, added):
                yield from _pair(left, right, half, styles)
            removed, added = ([(row, colours)], []) if row.kind == "removed" else ([], [])
            if row.kind == "same":
                yield from _pair((row, colours), (row, colours), half, styles)
            elif row.kind in {"file", "gap"} and row.text:
                yield _heading(row, styles)


def _heading(row: DiffRow, styles: dict[str, Style]) -> Text:
    is_whole = row.kind == "file" or row.text.startswith("@")
    return styled((_shown(row) if is_whole else filled("     ⋯ {}", row.text), ""), style=styles[row.kind])


_Coloured: TypeAlias = tuple[DiffRow, Colours]


def _pair(old: _Coloured | None, new: _Coloured | None, half: int, styles: dict[str, Style]) -> Iterator[Text]:
    """One row of both columns; a side that is too long is wrapped, and the other is empty beside it."""
    cells = max(half - NUMBER_CELLS - MARK_CELLS, 1)
    (left, left_colours), (right, right_colours) = old or (None, []), new or (None, [])
    begun, ended = 0, 0
    for at, (one, other) in enumerate(zip_longest(_chunks(left, cells), _chunks(right, cells), fillvalue=EMPTY)):
        before = _cell(left, one, "old", first=at == 0, width=half, styles=styles)
        line = styled(
            *before,
            (own("│"), styles["number"]),
            *_cell(right, other, "new", first=at == 0, width=half, styles=styles),
        )
        place = NUMBER_CELLS + MARK_CELLS
        colour(line, left_colours, at=place, start=begun, length=len(one))
        place += sum(len(text) for text, _ in before) + 1
        yield colour(line, right_colours, at=place, start=ended, length=len(other))
        begun, ended = begun + len(one), ended + len(other)


def _cell(
    row: DiffRow | None,
    chunk: SafeText,
    side: Literal["old", "new"],
    *,
    first: bool,
    width: int,
    styles: dict[str, Style],
) -> list[tuple[SafeText, Style]]:
    if row is None:
        return [(filled("{:{}}", EMPTY, width), Style.null())]
    style = styles.get(row.kind, Style.null())
    number = _number((row.old if side == "old" else row.new) if first else None)
    # The mark, because not every terminal has colours.
    mark = MARKS.get(row.kind, BLANK) if first else BLANK
    cells = max(width - NUMBER_CELLS - MARK_CELLS - cell_len(chunk), 0)
    text = filled(" {} {}{:{}}", mark, chunk, EMPTY, cells)
    return [(number, style + styles["number"]), (text, style)]


def _chunks(row: DiffRow | None, width: int) -> list[SafeText]:
    return [] if row is None else chopped(_shown(row), width) or [EMPTY]


def _number(number: int | None) -> SafeText:
    return filled("{:>{}}", EMPTY if number is None else number, NUMBER_CELLS)


def _shown(row: DiffRow) -> SafeText:
    return exact(row.text) if row.kind == "file" else source_line(row.text.expandtabs(TAB_SIZE))
