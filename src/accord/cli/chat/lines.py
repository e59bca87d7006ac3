"""Many lines of text as one widget that renders only those in view; long lines go on below, nothing is cut off."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

__all__ = ["Lines"]

TAB_SIZE = 4


class Lines(Widget):
    """Lines of text, each with its own styles. Its height is that of all of them: put it where one can scroll."""

    DEFAULT_CSS = """
    Lines { width: 1fr; height: auto; }
    """

    def __init__(self, lines: Sequence[Text] = (), *, classes: str | None = None, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(classes=classes, id=id)
        self._lines: Sequence[Text] = lines
        self._folded: tuple[int, list[tuple[int, int, int]]] | None = None

    def show(self, lines: Sequence[Text]) -> None:
        """Show other lines."""
        self._lines = lines
        self._folded = None
        self.refresh(layout=True)

    @property
    def text(self) -> str:
        """All of it, without styles."""
        return "\n".join(line.plain for line in self._lines)

    def lines_at(self, width: int) -> Sequence[Text]:
        """The lines for a width: the same for every one, unless a subclass lays them out."""
        del width
        return self._lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the lines take when the long ones go on below."""
        del container, viewport
        return len(self._fold(width))

    def render_line(self, y: int) -> Strip:
        """One row."""
        width = self.size.width
        rows = self._fold(width)
        back = self.rich_style
        if y >= len(rows):
            return Strip.blank(width, back)
        index, start, end = rows[y]
        piece = self._lines_now[index][start:end]
        segments = [
            Segment(segment.text, back + segment.style if isinstance(segment.style, Style) else back)
            for segment in piece.render(self.app.console)
        ]
        fill = piece.style if isinstance(piece.style, Style) else Style.null()
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
    for piece in chop_cells(text, width):
        rows.append((index, start, start + len(piece)))
        start += len(piece)
    return rows
