"""The widget of a tool call: its state in a line, and below it its content: text, diffs, terminals, raw values."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from accord.cli.chat.lines import DiffLayout, DiffView, Lines
from accord.cli.chat.markdown import Prose
from accord.cli.chat.widgets import (
    MUTED,
    Fold,
    FoldTitle,
    StaticText,
    block_content,
    coloured_lines,
    label,
    laid_out,
)
from accord.cli.show.diff import DiffRow, rows_of_diff
from accord.cli.show.line import Line, Span, hidden_after, hidden_before
from accord.cli.show.presentation import (
    changed,
    diff_name,
    opens,
    raw_values,
    terminal_ending,
    terminal_name,
    tool_head,
)
from accord.display import SafeText, clip, filled, joined, json_text, own, prose
from accord.protocol.model import Unknown
from accord.session.content import Text
from accord.session.entry import TerminalEntry, ToolCall
from accord.session.tool import Diff, Shown, TerminalView, ToolContent
from accord.session.transcript import Transcript

DIFF_ROWS = 40
TITLE_CHARACTERS = 200
TERMINAL_ROWS = 12
TAIL_CHARS = 16_000
MARKDOWN_CHARS = 8_000
TEXT_ROWS = 40
UNKNOWN_CHARACTERS = 4_000


class WantsWhole(Message):
    """The user requests the whole of a content that is shown in part."""

    def __init__(self, title: SafeText, view: Widget) -> None:
        super().__init__()
        self.title = title
        self.view = view


class OmittedLines(FoldTitle):
    """The number of lines that are not shown; Enter or a click opens all of them."""

    DEFAULT_CSS = """
    OmittedLines { color: $text-muted; text-style: italic; }
    """


_NOTHING = own("(nothing to show)")
_NOTHING_OF_FAILED = own("(nothing to show; F2 shows the agent's stderr, which may have the reason)")


def _with_hint(hidden: SafeText) -> SafeText:
    return filled("{} (Enter shows all)", hidden)


class DiffPart(Vertical):
    """The first rows of one diff; a key opens the rest."""

    DEFAULT_CSS = """
    DiffPart { height: auto; }
    """

    def __init__(self, diff: Diff, layout: DiffLayout, cwd: str) -> None:
        super().__init__()
        self._rows: list[DiffRow] = rows_of_diff(diff, cwd)
        self._view = DiffView(self._rows, layout, max_rows=DIFF_ROWS)
        self._heading = diff_name(diff, cwd)

    def compose(self) -> Sequence[Widget]:
        """The diff, and a line for omitted rows."""
        hidden = len(self._rows) - DIFF_ROWS
        return [self._view] if hidden <= 0 else [self._view, OmittedLines(_with_hint(hidden_after(hidden)))]

    def on_fold_title_toggled(self, message: FoldTitle.Toggled) -> None:
        message.stop()
        self.post_message(WantsWhole(self._heading, DiffView(self._rows, self._view.diff_layout)))


class TerminalPart(Vertical):
    """A command's terminal: the end of its output, in its colours."""

    DEFAULT_CSS = """
    TerminalPart { height: auto; background: $panel; padding: 0 1; }
    TerminalPart StaticText { width: 1fr; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, terminal: TerminalEntry) -> None:
        super().__init__()
        self._terminal = terminal
        self._head = StaticText()
        self._omitted = OmittedLines()
        self._lines = Lines()
        self._foot = StaticText()
        self._state: tuple[object, ...] = ()

    def compose(self) -> Sequence[Widget]:
        """The command, its output, its exit."""
        return [self._head, self._omitted, self._lines, self._foot]

    @property
    def text(self) -> str:
        """The part of the output that is shown."""
        return self._lines.text

    def heading(self) -> Content:
        return label((filled("$ {}", terminal_name(self._terminal)), "bold"))

    def follow(self) -> None:
        terminal = self._terminal
        state = (len(terminal.output), terminal.exit, terminal.command)
        if state == self._state:
            return
        self._state = state
        self._head.update(self.heading())
        ending = terminal_ending(terminal)
        self._foot.display = ending is not None
        self._foot.update(laid_out([] if ending is None else [ending]))
        text = terminal.text
        # In a pseudo-terminal lines end with CR LF.
        lines = coloured_lines(text[-TAIL_CHARS:].rstrip("\r\n"))
        shown = lines[-TERMINAL_ROWS:]
        hidden = text.rstrip("\r\n").count("\n") + 1 - len(shown)
        self._omitted.display = hidden > 0
        self._omitted.update(_with_hint(hidden_before(hidden)))
        self._lines.show(shown if text else [])

    def on_fold_title_toggled(self, message: FoldTitle.Toggled) -> None:
        message.stop()
        self.post_message(WantsWhole(terminal_name(self._terminal), Lines(coloured_lines(self._terminal.text))))


class TextPart(Vertical):
    """Text among the results of a tool: Markdown while it is short, else its end."""

    DEFAULT_CSS = """
    TextPart { height: auto; }
    TextPart Prose { padding: 0; margin: 0; background: transparent; height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[str] = []
        self._markdown: Prose | None = None
        self._omitted = OmittedLines()
        self._lines = Lines()

    def append(self, text: str) -> None:
        self._texts.append(text)

    async def follow(self) -> None:
        text = "".join(self._texts)
        self._texts = [text]
        if len(text) <= MARKDOWN_CHARS:
            if self._markdown is None:
                self._markdown = Prose()
                await self.mount(self._markdown)
            await self._markdown.update(prose(text))
            return
        if not self._lines.is_attached:
            await self.remove_children()
            await self.mount(self._omitted, self._lines)
        lines = coloured_lines(text[-TAIL_CHARS:])[-TEXT_ROWS:]
        hidden = text.count("\n") + 1 - len(lines)
        self._omitted.update(_with_hint(hidden_before(hidden)))
        self._lines.show(lines)

    def on_fold_title_toggled(self, message: FoldTitle.Toggled) -> None:
        message.stop()
        self.post_message(WantsWhole(own("output"), Lines(coloured_lines("".join(self._texts)))))


def tool_title(tool: ToolCall, cwd: str, counts: Line) -> Content:
    """State, kind, subject, and the line counts of its diffs."""
    head = tool_head(tool, cwd, counts)
    line = [head.mark, Span(filled(" {:<8}", head.kind), "dim"), Span(clip(head.about, TITLE_CHARACTERS))]
    if head.counts:
        line += [Span(own("  ")), *head.counts]
    if not head.is_plain:
        line += [Span(own("  ")), head.outcome]
    return laid_out(line)


class ToolPart(Fold):
    """One tool call. It is unfolded while it has something to show: a diff, a command, a failure."""

    def __init__(self, tool: ToolCall, transcript: Transcript, layout: DiffLayout, cwd: str) -> None:
        super().__init__(folded=True)
        self._tool = tool
        self._transcript = transcript
        self._cwd = cwd
        self._layout: DiffLayout = layout
        self._content: list[ToolContent] | None = None
        self._shown = 0
        self._text: TextPart | None = None
        self._terminals: list[TerminalPart] = []
        self._waiting: list[str] = []
        self._raw = StaticText()
        self._counted: tuple[list[ToolContent] | None, int] = (None, 0)
        self._changed: Line = []

    async def follow(self, *, rewritten: bool = False) -> None:
        del rewritten
        tool = self._tool
        if self._counted[0] is not tool.content or self._counted[1] != len(tool.content):
            self._counted = (tool.content, len(tool.content))
            self._changed = changed(item for item in tool.content if isinstance(item, Diff))
        self.set_title(tool_title(tool, self._cwd, self._changed))
        await self.fold(folded=not opens(tool))
        if not self.folded:
            await self.fill()

    def lay_out(self, layout: DiffLayout) -> None:
        """Switch the layout of diffs, also of later ones."""
        self._layout = layout
        for view in self.query(DiffView):
            view.show_layout(layout)

    async def fill(self) -> None:
        """Lay out the content that is new."""
        tool = self._tool
        if tool.content is not self._content:
            await self.body.remove_children()
            self._content, self._shown, self._text, self._terminals, self._waiting = tool.content, 0, None, [], []
            self._raw = StaticText()
        while self._shown < len(tool.content):
            await self._add(tool.content[self._shown])
            self._shown += 1
        if self._text is not None:
            await self._text.follow()
        await self._follow_terminals()
        await self._follow_raw()

    async def _add(self, item: ToolContent) -> None:
        if isinstance(item, Shown) and isinstance(item.block, Text):
            if self._text is None:
                self._text = TextPart()
                await self.body.mount(self._text)
            self._text.append(item.block.text)
            return
        if self._text is not None:
            await self._text.follow()
            self._text = None
        match item:
            case Shown():
                await self.body.mount(StaticText(block_content(item.block)))
            case Diff():
                await self.body.mount(DiffPart(item, self._layout, self._cwd))
            case TerminalView():
                self._waiting.append(item.terminal_id)
            case Unknown():
                await self.body.mount(StaticText(label((json_text(item.payload, 2, UNKNOWN_CHARACTERS), MUTED))))

    async def _follow_terminals(self) -> None:
        for terminal_id in list(self._waiting):
            terminal = self._transcript.terminals.get(terminal_id)
            if terminal is not None:
                self._waiting.remove(terminal_id)
                part = TerminalPart(terminal)
                self._terminals.append(part)
                await self.body.mount(part)
        for part in self._terminals:
            part.follow()

    async def _follow_raw(self) -> None:
        """The raw values, where the agent shows nothing else."""
        tool = self._tool
        if tool.content:
            if self._raw.is_attached:
                await self._raw.remove()
            return
        if not self._raw.is_attached:
            await self.body.mount(self._raw)
        shown = raw_values(tool, self._cwd, indent=2) or [_NOTHING_OF_FAILED if tool.status == "failed" else _NOTHING]
        self._raw.update(label((joined(shown, own("\n")), MUTED)))
