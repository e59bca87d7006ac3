"""The permission dialog: the agent's options, and everything that it reported about the call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from accord.cli.chat.dialogs.frame import ARMING_SECONDS, QuestionDialog
from accord.cli.chat.lines import DiffLayout, DiffView, Lines
from accord.cli.chat.widgets import MUTED, StaticText, label, option_of, styled
from accord.cli.show.answer import (
    WideChoice,
    contradiction_text,
    option_name,
    wide_choices,
)
from accord.cli.show.diff import rows_of_diff
from accord.cli.show.question import (
    is_clipped,
    question_lines,
    sentence_of,
    whole_lines,
)
from accord.client.question import PermissionQuestion, WiderAnswer
from accord.display import SafeText, filled, own
from accord.session.option import PermissionKind, PermissionOption
from accord.session.tool import Diff

MAX_TEXT_CHARACTERS = 100_000
_LETTERS: dict[str, PermissionKind] = {"y": "allow_once", "a": "allow_always", "n": "reject_once", "x": "reject_always"}


class PermissionDialog(QuestionDialog[PermissionOption | WiderAnswer]):
    """A permission request; its result is an option, alone or with a wider scope to remember, or None."""

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
        super().__init__(arming_seconds)
        self._question = question
        self._layout: DiffLayout = layout
        self._options = [each for each in question.options if each.can_be_given(question.options)]
        self._wide = wide_choices(question)

    def compose(self) -> ComposeResult:
        question = self._question
        with Vertical(classes="dialog--box") as box:
            box.border_title = "permission"
            yield StaticText(label((sentence_of(question), "bold")), classes="dialog--title")
            with VerticalScroll(classes="permission--subject", can_focus=False):
                yield from self._subject()
            with Vertical(id="answers"):
                answers = [_answer(at, option) for at, option in enumerate(self._options)]
                answers += [_wide_answer(len(answers) + at, choice) for at, choice in enumerate(self._wide)]
                yield OptionList(*answers, markup=False, compact=True)
                yield StaticText(self._hint(), classes="dialog--hint")

    def _hint(self) -> SafeText:
        letters = " ".join(letter for letter, kind in _LETTERS.items() if self._question.option(kind) is not None)
        return filled("1-9 {} Enter answer · Esc rejects · PgUp PgDn scroll", letters)

    def on_mount(self) -> None:
        """The answers are disabled until the dialog is armed, which the base class does after this."""
        answers = self.query_one(OptionList)
        answers.highlighted = 0
        answers.disabled = True

    def _arm(self) -> None:
        super()._arm()
        answers = self.query_one(OptionList)
        answers.disabled = False
        answers.focus()

    # --- the subject

    def _subject(self) -> Iterator[Widget]:
        question = self._question
        yield Lines([styled(*line) for line in question_lines(question, diffs=False)])
        left_out = len(question.options) - len(self._options)
        if left_out:
            yield StaticText(label((contradiction_text(left_out), "$text-warning")))
        for item in [] if question.tool is None else question.tool.content:
            if isinstance(item, Diff):
                yield DiffView(rows_of_diff(item, question.session.cwd), self._layout)
        if is_clipped(question):
            # A user who allows something must be able to see all of it.
            lines = whole_lines(question, diffs=False, max_characters=MAX_TEXT_CHARACTERS)
            yield StaticText(label((own("all of it:"), MUTED)))
            yield Lines([styled(*line) for line in lines])

    # --- answers

    def action_choose(self, index: int) -> None:
        if self._is_armed:
            self._take(index)

    def action_choose_kind(self, kind: PermissionKind) -> None:
        """Choose the first answer of a kind, by its letter."""
        option = self._question.option(kind)
        if self._is_armed and option is not None:
            self.dismiss(option)

    def action_leave(self) -> None:
        """Escape chooses the narrowest refusal."""
        if self._is_armed:
            self.dismiss(self._question.reject())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self._is_armed:
            self._take(event.option_index)

    def _take(self, index: int) -> None:
        answers: list[PermissionOption | WiderAnswer] = [*self._options, *(choice.answer for choice in self._wide)]
        if index < len(answers):
            self.dismiss(answers[index])

    # --- scrolling and layout

    def action_page(self, pages: int) -> None:
        """Scroll the subject; the answers stay in view."""
        subject = self.query_one(".permission--subject")
        subject.scroll_relative(y=pages * max(subject.size.height - 1, 1), animate=False)

    def action_lay_out(self) -> None:
        """Diffs inline or side by side."""
        self._layout = "inline" if self._layout == "side" else "side"
        for view in self.query(DiffView):
            view.show_layout(self._layout)


def _answer(at: int, option: PermissionOption) -> Option:
    letter = next((letter for letter, kind in _LETTERS.items() if kind == option.kind), " ")
    mark = {"reject": "✗", "allow": "✓", "unknown": "·"}[option.consent]
    name = filled("{} {}", mark, option_name(option))
    return option_of(
        label((filled("{} ", at + 1), "bold"), (filled("{}  ", own(" ") if letter == " " else letter), ""), (name, ""))
    )


def _wide_answer(at: int, choice: WideChoice) -> Option:
    name = filled("✓ always: {}", choice.name)
    return option_of(label((filled("{} ", at + 1), "bold"), (own("   "), ""), (name, "")))
