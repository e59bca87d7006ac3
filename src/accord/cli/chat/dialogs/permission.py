"""May the agent do this? The agent's own answers, and all that it says about what it wants to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text as RichText
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from accord.cli.chat.blocks import block_label
from accord.cli.chat.dialogs.frame import Dialog
from accord.cli.chat.diff_view import DiffLayout, DiffView
from accord.cli.chat.differences import rows_of_diff
from accord.cli.chat.lines import Lines
from accord.cli.chat.plain import MUTED, label, styled, styled_lines
from accord.cli.chat.widgets import Words, option_of
from accord.cli.show.asked import facts_of
from accord.client.question import PermissionQuestion
from accord.display import SafeText, exact, filled, json_text, own, prose
from accord.session.content import Text
from accord.session.entry import ToolCall
from accord.session.option import PermissionOption
from accord.session.tool import Diff, Shown

__all__ = ["PermissionDialog"]

# Who is typing when the question comes must not answer it by that.
ARMING_SECONDS = 0.5
_LETTERS = {"y": "allow_once", "a": "allow_always", "n": "reject_once", "x": "reject_always"}


class PermissionDialog(Dialog[str]):
    """Gives the id of an option, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"choose({number - 1})", show=False) for number in range(1, 10)),
        *(Binding(letter, f"choose_kind('{kind}')", show=False) for letter, kind in _LETTERS.items()),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("ctrl+t", "lay_out", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    PermissionDialog > .dialog--box { border: round $warning; max-width: 160; }
    PermissionDialog .permission--subject { height: auto; max-height: 1fr; margin: 1 0; }
    PermissionDialog OptionList { height: auto; max-height: 8; }
    PermissionDialog #answers { dock: bottom; height: auto; }
    """

    def __init__(
        self, question: PermissionQuestion, layout: DiffLayout, arming_seconds: float = ARMING_SECONDS
    ) -> None:
        super().__init__()
        self._question = question
        self._layout: DiffLayout = layout
        self._arming_seconds = arming_seconds
        self._is_armed = False

    def compose(self) -> ComposeResult:
        """The question, what it is about, the answers."""
        question = self._question
        with Vertical(classes="dialog--box") as box:
            box.border_title = "permission"
            yield Words(
                label((own("the agent asks: "), MUTED), (exact(question.title, 400), "bold")), classes="dialog--title"
            )
            with VerticalScroll(classes="permission--subject", can_focus=False):
                yield from self._subject()
            with Vertical(id="answers"):
                yield OptionList(
                    *(_answer(at, option) for at, option in enumerate(question.options)), markup=False, compact=True
                )
                yield Words(self._hint(), classes="dialog--hint")

    def _hint(self) -> SafeText:
        letters = " ".join(letter for letter, kind in _LETTERS.items() if self._question.option(kind) is not None)
        return filled("1-9 {} Enter answer · Esc rejects · PgUp PgDn scroll", letters)

    def on_mount(self) -> None:
        """Take no key that was meant for the prompt."""
        answers = self.query_one(OptionList)
        answers.highlighted = 0
        if self._arming_seconds > 0:
            answers.disabled = True
            self.set_timer(self._arming_seconds, self._arm)
        else:
            self._arm()

    def _arm(self) -> None:
        self._is_armed = True
        answers = self.query_one(OptionList)
        answers.disabled = False
        answers.focus()

    @property
    def is_armed(self) -> bool:
        """Whether it takes answers."""
        return self._is_armed

    # --- what it is about

    def _subject(self) -> Iterator[Widget]:
        question, tool = self._question, self._question.tool
        if question.description:
            yield Words(prose(question.description))
        facts = facts_of(question, with_files=True)
        if facts:
            yield Lines([styled((filled("{:<6} ", fact.word), "dim"), (fact.text, "bold")) for fact in facts])
        if tool is not None:
            yield from _tool_views(tool, self._layout, question.session.cwd)

    # --- answering

    def action_choose(self, index: int) -> None:
        """By number."""
        if self._is_armed and index < len(self._question.options):
            self.dismiss(self._question.options[index].id)

    def action_choose_kind(self, kind: str) -> None:
        """By letter: the first answer of a kind."""
        option = self._question.option(kind)
        if self._is_armed and option is not None:
            self.dismiss(option.id)

    def action_leave(self) -> None:
        """Escape is the least that says no."""
        if self._is_armed:
            option = self._question.reject()
            self.dismiss(None if option is None else option.id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """By Enter or by a click."""
        if self._is_armed:
            self.dismiss(self._question.options[event.option_index].id)

    # --- looking

    def action_page(self, pages: int) -> None:
        """Read on, the answers stay where they are."""
        subject = self.query_one(".permission--subject")
        subject.scroll_relative(y=pages * max(subject.size.height - 1, 1), animate=False)

    def action_lay_out(self) -> None:
        """Diffs inline or side by side."""
        self._layout = "inline" if self._layout == "side" else "side"
        for view in self.query(DiffView):
            view.show_layout(self._layout)


def _answer(at: int, option: PermissionOption) -> Option:
    letter = next((letter for letter, kind in _LETTERS.items() if kind == option.kind), " ")
    mark = "✗" if option.kind.startswith("reject") else "✓" if option.kind.startswith("allow") else "·"
    name = filled("{} {}", mark, exact(option.name, 100))
    return option_of(
        label((filled("{} ", at + 1), "bold"), (filled("{}  ", own(" ") if letter == " " else letter), ""), (name, ""))
    )


def _tool_views(tool: ToolCall, layout: DiffLayout, cwd: str) -> Iterator[Widget]:
    """All that is known of it, whole: who allows something must be able to see it."""
    has_diff = any(isinstance(item, Diff) for item in tool.content)
    for item in tool.content:
        if isinstance(item, Diff):
            yield DiffView(rows_of_diff(item, cwd), layout)
        elif isinstance(item, Shown):
            block = item.block
            yield Lines(styled_lines(prose(block.text))) if isinstance(block, Text) else Words(block_label(block))
    if tool.raw_input is not None and not has_diff:
        yield Lines(_raw(tool.raw_input))


def _raw(value: object) -> list[RichText]:
    """The input of a tool."""
    return styled_lines(json_text(value, 2, 100_000), "dim")
