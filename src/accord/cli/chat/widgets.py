"""The chat's text widgets, which take only safe text and never read markup; styled texts; the fold.

Every other module of the chat makes its labels, lists, questions and notifications with these; a test checks that. A
fold is a part of the conversation with a title line, and a body that is made when it is first unfolded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.cells import chop_cells
from rich.style import Style
from rich.text import Text as RichText
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.widgets import Input, Select, SelectionList, Static
from textual.widgets.option_list import Option
from textual.widgets.selection_list import Selection

from accord.cli.show.line import Line
from accord.cli.show.presentation import block_label
from accord.display import EMPTY, SafeText, colours_kept, filled, joined, own, part_of, prose
from accord.session.content import Block, Text

MUTED = "$foreground-muted"
"""The style of secondary text."""
BREAK = Content("\n")
_THEME = {
    "": "",
    "dim": MUTED,
    "bold": "bold",
    "red": "$text-error",
    "green": "$text-success",
    "yellow": "$text-warning",
    "cyan": "$text-accent",
}


def label(*parts: tuple[SafeText, str]) -> Content:
    """Texts in our styles, never read as markup."""
    return Content.assemble(*(Content.styled(text, style) for text, style in parts))


def laid_out(line: Line) -> Content:
    """A line of the presentation in the theme's colours."""
    return label(*((span.text, _THEME[span.style]) for span in line))


def block_content(block: Block) -> Content:
    """A text block unchanged, any other block as its label."""
    if isinstance(block, Text):
        return label((prose(block.text), ""))
    shown = block_label(block)
    facts = joined(shown.facts, own(" · "))
    return label((filled("{} {}", shown.mark, shown.name), "bold"), (filled("  {}", facts) if facts else EMPTY, MUTED))


def styled(*parts: tuple[SafeText, str | Style], style: str | Style = "") -> RichText:
    return RichText.assemble(*parts, style=style, no_wrap=True)


def chopped(text: SafeText, width: int) -> list[SafeText]:
    """The text in parts of at most this width."""
    chunks, start = [], 0
    for chunk in chop_cells(text, width):
        chunks.append(part_of(text, start, start + len(chunk)))
        start += len(chunk)
    return chunks


def coloured_lines(text: str) -> list[RichText]:
    """The output of a command, line by line, with its colours; of an overwritten line only the last state."""
    return list(RichText.from_ansi(colours_kept(text), no_wrap=True).split("\n", allow_blank=True))


def _content(text: Content | SafeText) -> Content:
    return text if isinstance(text, Content) else label((text, ""))


class StaticText(Static):
    def __init__(
        self,
        text: Content | SafeText = EMPTY,
        *,
        id: str | None = None,  # noqa: A002 - Textual's word
        classes: str | None = None,
    ) -> None:
        super().__init__(_content(text), markup=False, id=id, classes=classes)

    def update(self, text: Content | SafeText = EMPTY, *, layout: bool = True) -> None:  # type: ignore[override]
        super().update(_content(text), layout=layout)


def option_of(text: Content | SafeText, *, disabled: bool = False) -> Option:
    """A line of a list."""
    return Option(_content(text), disabled=disabled)


def choice_of(choices: Sequence[tuple[SafeText, Any]], *, value: Any, allow_blank: bool) -> Select[Any]:
    named = [(_content(name), each) for name, each in choices]
    return Select(named, value=value, allow_blank=allow_blank, compact=True)


def choices_of(choices: Sequence[tuple[SafeText, Any, bool]]) -> SelectionList[Any]:
    """A list with a check mark per item; each item says whether it is selected."""
    return SelectionList(*(Selection(_content(name), each, chosen) for name, each, chosen in choices), compact=True)


def entry_of(text: SafeText = EMPTY, *, placeholder: SafeText = EMPTY) -> Input:
    return Input(text, placeholder=placeholder, compact=True)


def announce(
    app: App[Any],
    text: SafeText,
    *,
    title: SafeText = EMPTY,
    severity: SeverityLevel = "information",
    timeout_seconds: float | None = None,
) -> None:
    """Show a notification in a corner for a while."""
    app.notify(text, title=title, severity=severity, timeout=timeout_seconds, markup=False)


class FoldTitle(StaticText, can_focus=True):
    """The title line of a fold, which is always shown."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "turn_over", "Fold", show=False)]
    DEFAULT_CSS = """
    FoldTitle {
        width: 1fr; height: 1; text-wrap: nowrap; text-overflow: ellipsis;
        &:hover { background: $boost; }
        &:focus { background: $primary 40%; }
    }
    """

    class Toggled(Message):
        """The user folds or unfolds the body."""

    def on_click(self, event: Click) -> None:
        event.stop()
        self.post_message(self.Toggled())

    def action_turn_over(self) -> None:
        self.post_message(self.Toggled())


class Fold(Vertical):
    """Title and body. The user's folding is kept; until then the content decides."""

    DEFAULT_CSS = """
    Fold { height: auto; }
    Fold > .fold--body { height: auto; padding-left: 2; border-left: solid $primary 30%; margin-left: 1; }
    Fold.-folded > .fold--body { display: none; }
    """

    def __init__(self, *, folded: bool) -> None:
        super().__init__(classes="-folded" if folded else None)
        self._title = FoldTitle()
        self._title_content = label()
        self._body = Vertical(classes="fold--body")
        self._touched = False

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._body

    @property
    def body(self) -> Vertical:
        return self._body

    @property
    def folded(self) -> bool:
        """Whether only the title is shown."""
        return self.has_class("-folded")

    @property
    def title_text(self) -> str:
        return self._title_content.plain

    def set_title(self, title: Content) -> None:
        self._title_content = title
        self._title.update(label((own("▸ ") if self.folded else own("▾ "), "")) + title)

    async def fold(self, *, folded: bool, by_user: bool = False) -> None:
        """Hide or show the body, unless the user has chosen."""
        if self._touched and not by_user:
            return
        self._touched = self._touched or by_user
        if folded != self.folded:
            self.set_class(folded, "-folded")
            self.set_title(self._title_content)
            if not folded:
                await self.fill()

    async def fill(self) -> None:
        """Update the body; called only while it is shown."""

    async def on_fold_title_toggled(self, message: FoldTitle.Toggled) -> None:
        message.stop()
        await self.fold(folded=not self.folded, by_user=True)
