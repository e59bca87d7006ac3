"""A diff on the screen: inline, or side by side where it is wide enough; nothing of it is cut off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import ClassVar, Literal, TypeAlias

from rich.cells import cell_len, chop_cells
from rich.style import Style
from rich.text import Text

from accord.cli.chat.differences import Row
from accord.cli.chat.lines import TAB_SIZE, Lines
from accord.cli.chat.plain import plain

__all__ = ["DiffLayout", "DiffView"]

DiffLayout: TypeAlias = Literal["inline", "side"]

# Two columns of code need this much to be worth it.
SIDE_BY_SIDE_CELLS = 96
NUMBER_CELLS = 4
MARK_CELLS = 3


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

    def __init__(self, rows: Sequence[Row], layout: DiffLayout = "inline", *, max_rows: int | None = None) -> None:
        super().__init__()
        self._rows = rows[:max_rows]
        self.diff_layout: DiffLayout = layout

    def show_layout(self, layout: DiffLayout) -> None:
        """Lay it out in the other way."""
        self.diff_layout = layout
        self._folded = None
        self.refresh(layout=True)

    @property
    def text(self) -> str:
        """All of it, as a patch would say it."""
        marks = {"added": "+", "removed": "-", "same": " ", "gap": "…", "file": ""}
        return "\n".join(f"{marks[row.kind]}{_shown(row.text)}" for row in self._rows)

    def notify_style_update(self) -> None:
        """Another theme has other colours."""
        super().notify_style_update()
        self._folded = None

    def lines_at(self, width: int) -> Sequence[Text]:
        """Inline where that is wanted or where it is too narrow."""
        if self.diff_layout == "side" and width >= SIDE_BY_SIDE_CELLS:
            return list(self._side_by_side(width))
        return list(self._inline())

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"diff--{name}")

    def _inline(self) -> Iterator[Text]:
        styles = {name: self._style(name) for name in ("added", "removed", "file", "gap", "number")}
        for row in self._rows:
            if row.kind in {"file", "gap"}:
                yield _heading(row, styles)
                continue
            mark = {"added": "+", "removed": "-"}.get(row.kind, " ")
            number = row.new if row.new is not None else row.old
            style = styles.get(row.kind, Style.null())
            yield Text.assemble(
                (_number(number), styles["number"]), f" {mark} {_shown(row.text)}", style=style, no_wrap=True
            )

    def _side_by_side(self, width: int) -> Iterator[Text]:
        styles = {name: self._style(name) for name in ("added", "removed", "file", "gap", "number")}
        half = (width - 1) // 2
        removed: list[Row] = []
        added: list[Row] = []
        for row in [*self._rows, Row("gap", "")]:
            if row.kind == "removed" and not added:
                removed.append(row)
                continue
            if row.kind == "added":
                added.append(row)
                continue
            for left, right in zip_longest(removed, added):
                yield from _pair(left, right, half, styles)
            removed, added = ([row], []) if row.kind == "removed" else ([], [])
            if row.kind == "same":
                yield from _pair(row, row, half, styles)
            elif row.kind in {"file", "gap"} and row.text:
                yield _heading(row, styles)


def _heading(row: Row, styles: dict[str, Style]) -> Text:
    text = _shown(row.text) if row.kind == "file" or row.text.startswith("@") else f"     ⋯ {row.text}"
    return Text(text, style=styles[row.kind], no_wrap=True)


def _pair(left: Row | None, right: Row | None, half: int, styles: dict[str, Style]) -> Iterator[Text]:
    """One line of both columns; a side that is too long takes more lines, and the other is empty beside them."""
    room = max(half - NUMBER_CELLS - MARK_CELLS, 1)
    for at, (one, other) in enumerate(zip_longest(_pieces(left, room), _pieces(right, room), fillvalue="")):
        yield Text.assemble(
            *_cell(left, one, "old", first=at == 0, width=half, styles=styles),
            ("│", styles["number"]),
            *_cell(right, other, "new", first=at == 0, width=half, styles=styles),
            no_wrap=True,
        )


def _cell(
    row: Row | None, piece: str, side: Literal["old", "new"], *, first: bool, width: int, styles: dict[str, Style]
) -> list[tuple[str, Style]]:
    if row is None:
        return [(" " * width, Style.null())]
    style = styles.get(row.kind, Style.null())
    number = _number((row.old if side == "old" else row.new) if first else None)
    # The mark, because not every terminal has colours.
    mark = {"added": "+", "removed": "-"}.get(row.kind, " ") if first else " "
    filled = f" {mark} {piece}" + " " * (width - NUMBER_CELLS - MARK_CELLS - cell_len(piece))
    return [(number, style + styles["number"]), (filled, style)]


def _pieces(row: Row | None, width: int) -> list[str]:
    return [] if row is None else chop_cells(_shown(row.text), width) or [""]


def _number(number: int | None) -> str:
    return " " * NUMBER_CELLS if number is None else f"{number:>{NUMBER_CELLS}}"


def _shown(text: str) -> str:
    # A carriage return would be dropped, and with it what the change is about.
    return plain(text.replace("\r", "␍")).expandtabs(TAB_SIZE).replace("\n", "⏎")
