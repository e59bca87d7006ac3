"""The conversation on the screen: its parts in order, the newest in view, only so many of them laid out at once."""

from __future__ import annotations

from typing import TypeAlias

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from accord.cli.chat.bars import Welcome
from accord.cli.chat.changes import Changes
from accord.cli.chat.lines import DiffLayout
from accord.cli.chat.markdown import KnownPaths
from accord.cli.chat.message import OmittedParts, PassageView, PromptPart, ThoughtPart
from accord.cli.chat.programs import UserCommand
from accord.cli.chat.tool_call import TerminalPart, ToolPart
from accord.cli.chat.widgets import BREAK, MUTED, Fold, FoldTitle, StaticText, label, laid_out
from accord.cli.show.presentation import Note, compaction_state
from accord.display import exact, filled, json_text, own
from accord.session.entry import CompactionEntry, Message, Plan, TerminalEntry, ToolCall, UnknownEntry
from accord.session.transcript import Transcript

# How many parts are laid out, and how many of those that come at once.
MAX_PARTS = 200
PARTS_AT_ONCE = 30

Item: TypeAlias = Message | ToolCall | CompactionEntry | UnknownEntry | Note | TerminalEntry
"""The items of the timeline. Plans are shown elsewhere."""


class NotePart(StaticText):
    """A note on the screen."""

    DEFAULT_CSS = """
    NotePart { width: 1fr; max-width: 100; height: auto; color: $text-muted; padding-left: 1; }
    NotePart.-warning { border-left: thick $warning; color: $text; }
    NotePart.-error { border-left: thick $error; color: $text; }
    """

    def __init__(self, note: Note) -> None:
        lines = [label((note.text, "" if note.level == "info" else "bold"))]
        if note.detail:
            lines.append(label((note.detail, MUTED)))
        if note.advice:
            lines.append(label((note.advice, "italic")))
        super().__init__(BREAK.join(lines), classes=f"-{note.level}")

    async def follow(self, *, rewritten: bool = False) -> None:
        """Do nothing: a note never changes."""


class ShellPart(TerminalPart):
    """A shell command of the user, which is no part of the conversation."""

    DEFAULT_CSS = """
    ShellPart { border-left: thick $accent; }
    """

    def __init__(self, line: UserCommand) -> None:
        super().__init__(line)
        self._line = line

    @property
    def is_over(self) -> bool:
        return self._line.exit is not None

    def heading(self) -> Content:
        """The typed line, and a remark that the agent does not see it."""
        return label(
            (filled("! {}", exact(self._line.command or "", 200)), "bold"), (own("  not sent to the agent"), MUTED)
        )


class AgentMessagePart(PassageView):
    def __init__(self, message: Message, paths: KnownPaths | None = None) -> None:
        super().__init__(message.passage, paths)
        self._message = message

    async def follow_message(self, *, rewritten: bool) -> None:
        await self.follow(self._message.passage, rewritten=rewritten)


class CompactionPart(Fold):
    """A compaction of the context."""

    def __init__(self, compaction: CompactionEntry) -> None:
        super().__init__(folded=True)
        self._compaction = compaction
        self._view = PassageView(compaction.passage)

    async def follow(self, *, rewritten: bool = False) -> None:
        del rewritten
        compaction = self._compaction
        self.set_title(laid_out(compaction_state(compaction.status, compaction.error)))
        if not self.folded:
            await self.fill()

    async def fill(self) -> None:
        if not self._view.is_attached:
            await self.body.mount(self._view)
        await self._view.follow(self._compaction.passage)


class UnknownPart(Fold):
    """An update of an unknown kind, as raw JSON."""

    def __init__(self, unnamed: UnknownEntry) -> None:
        super().__init__(folded=True)
        self._update = unnamed.update

    async def follow(self, *, rewritten: bool = False) -> None:
        del rewritten
        payload = json_text(self._update.payload, limit=200)
        self.set_title(label((filled("? {}  ", exact(self._update.tag, 40)), "$text-warning"), (payload, MUTED)))

    async def fill(self) -> None:
        await self.body.remove_children()
        await self.body.mount(StaticText(label((json_text(self._update.payload, 2, 20_000), MUTED))))


class Timeline(VerticalScroll, can_focus=True):
    """All parts. The end stays in view unless the user scrolls away from it."""

    DEFAULT_CSS = """
    Timeline { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    Timeline > * { margin-bottom: 1; }
    Timeline > Fold.-folded { margin-bottom: 0; }
    Timeline > AgentMessagePart, Timeline > PromptPart, Timeline > NotePart, Timeline > ShellPart {
        margin-top: 1;
    }
    Timeline > OmittedParts { margin-bottom: 0; }
    Timeline .-refused { opacity: 50%; }
    """

    def __init__(self, cwd: str) -> None:
        super().__init__()
        self.cwd = cwd
        self.welcome = Welcome()
        self._paths = KnownPaths(cwd)
        self._transcript = Transcript()
        self._omitted = OmittedParts()
        self._items: list[Item] = []
        self._first = 0
        """The index of the first item that is laid out."""
        self._parts: dict[int, Widget] = {}
        self._shell_parts: list[ShellPart] = []
        """Shell commands of the user that still run."""
        self.diff_layout: DiffLayout = "inline"

    def on_mount(self) -> None:
        self.mount(self.welcome, self._omitted)
        self.anchor()

    async def begin(self, transcript: Transcript) -> None:
        await self.remove_children()
        self._transcript, self._items, self._first, self._parts, self._shell_parts = transcript, [], 0, {}, []
        self._omitted = OmittedParts()
        # A new widget each time: a removed one cannot be mounted again.
        self.welcome, greeting = Welcome(), self.welcome.greeting
        await self.mount(self.welcome, self._omitted)
        self.welcome.follow(greeting)
        self._paths = KnownPaths(self.cwd)
        self.anchor()

    @property
    def is_empty(self) -> bool:
        """Whether there is no message yet; notes do not count."""
        return all(isinstance(item, Note) for item in self._items)

    @property
    def parts(self) -> list[Widget]:
        """The widgets that are laid out, in order."""
        return [self._parts[id(item)] for item in self._items[self._first :] if id(item) in self._parts]

    async def follow(self, changes: Changes) -> None:
        """Lay out new items, and update changed ones."""
        rewritten = {id(message) for message in changes.rewritten}
        items: list[Item] = [entry for entry in changes.new if not isinstance(entry, Plan)]
        if len(items) > PARTS_AT_ONCE:
            await self._skip(items[:-PARTS_AT_ONCE])
        for item in items[-PARTS_AT_ONCE:]:
            await self.add(item)
        for shell_part in self._shell_parts:
            shell_part.follow()
        self._shell_parts = [each for each in self._shell_parts if each.is_attached and not each.is_over]
        new = {id(entry) for entry in changes.new}
        for entry in changes.changed:
            part = self._parts.get(id(entry))
            if part is not None and id(entry) not in new:
                await _follow(part, rewritten=id(entry) in rewritten)

    async def add(self, item: Item) -> None:
        """One more at the end."""
        self._items.append(item)
        self.welcome.display = self.is_empty
        part = self._make(item)
        self._parts[id(item)] = part
        await self.mount(part)
        await _follow(part)
        if isinstance(part, ShellPart):
            self._shell_parts.append(part)
        if len(self._items) - self._first > MAX_PARTS:
            await self._drop(self._first + PARTS_AT_ONCE)

    async def _skip(self, items: list[Item]) -> None:
        """Leave out items that would be out of view at once, where many arrive together."""
        self._items += items
        self.welcome.display = self.is_empty
        await self._drop(len(self._items))

    async def _drop(self, last: int) -> None:
        for item in self._items[self._first : last]:
            part = self._parts.pop(id(item), None)
            if part is not None:
                await part.remove()
        self._first = last
        self._omitted.stand_for(self._first, own("parts of the conversation"))

    async def on_fold_title_toggled(self, message: FoldTitle.Toggled) -> None:
        """Lay out some of the omitted items."""
        message.stop()
        last, self._first = self._first, max(0, self._first - PARTS_AT_ONCE)
        after: Widget = self._omitted
        for item in self._items[self._first : last]:
            part = self._make(item)
            self._parts[id(item)] = part
            await self.mount(part, after=after)
            await _follow(part)
            after = part
        self._omitted.stand_for(self._first, own("parts of the conversation"))

    def mark_refused(self) -> None:
        """Mark the items that a refusal removed from the agent's context."""
        for item in self._items[self._first :]:
            part = self._parts.get(id(item))
            if part is not None and not isinstance(item, Note | TerminalEntry):
                part.set_class(item.refused, "-refused")

    def lay_out(self, layout: DiffLayout) -> None:
        """Switch the layout of diffs."""
        self.diff_layout = layout
        for part in self.query(ToolPart):
            part.lay_out(layout)

    async def fold_all(self, *, folded: bool) -> None:
        """Fold or unfold all items."""
        for fold in self.query(Fold):
            await fold.fold(folded=folded, by_user=True)

    def _message_part(self, message: Message) -> Widget:
        match message.speaker:
            case "user":
                return PromptPart(message)
            case "thought":
                return ThoughtPart(message)
            case _:
                return AgentMessagePart(message, self._paths)

    def _make(self, item: Item) -> Widget:
        match item:
            case Message():
                return self._message_part(item)
            case CompactionEntry():
                return CompactionPart(item)
            case UnknownEntry():
                return UnknownPart(item)
            case Note():
                return NotePart(item)
            case UserCommand():
                return ShellPart(item)
            case TerminalEntry():
                return TerminalPart(item)
            case ToolCall():
                return ToolPart(item, self._transcript, self.diff_layout, self.cwd)


async def _follow(part: Widget, *, rewritten: bool = False) -> None:
    if isinstance(part, AgentMessagePart):
        await part.follow_message(rewritten=rewritten)
    elif isinstance(part, TerminalPart):
        part.follow()
    elif isinstance(part, PromptPart | ThoughtPart | CompactionPart | UnknownPart | NotePart | ToolPart):
        await part.follow(rewritten=rewritten)
