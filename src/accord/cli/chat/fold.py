"""A part of the conversation that folds: a title line, and a body that is made when it is first unfolded."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message

from accord.cli.chat.widgets import StaticText, label
from accord.display import own

__all__ = ["Fold", "FoldTitle"]


class FoldTitle(StaticText, can_focus=True):
    """The line that is always there."""

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
        """Somebody wants the body shown or hidden."""

    def on_click(self, event: Click) -> None:
        """A click is an Enter."""
        event.stop()
        self.post_message(self.Toggled())

    def action_turn_over(self) -> None:
        self.post_message(self.Toggled())


class Fold(Vertical):
    """Title and body. What the user folds or unfolds stays so; before that it is decided by what is in it."""

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
        """The line above, the rest below."""
        yield self._title
        yield self._body

    @property
    def body(self) -> Vertical:
        return self._body

    @property
    def folded(self) -> bool:
        """Whether only the title is seen."""
        return self.has_class("-folded")

    @property
    def title_text(self) -> str:
        return self._title_content.plain

    def set_title(self, title: Content) -> None:
        self._title_content = title
        self._title.update(label((own("▸ ") if self.folded else own("▾ "), "")) + title)

    async def fold(self, *, folded: bool, by_user: bool = False) -> None:
        """Hide or show the body; what a user has decided is decided."""
        if self._touched and not by_user:
            return
        self._touched = self._touched or by_user
        if folded != self.folded:
            self.set_class(folded, "-folded")
            self.set_title(self._title_content)
            if not folded:
                await self.fill()

    async def fill(self) -> None:
        """Bring the body up to date; called only while it is seen."""

    async def on_fold_title_toggled(self, message: FoldTitle.Toggled) -> None:
        message.stop()
        await self.fold(folded=not self.folded, by_user=True)
