"""Messages as widgets: the agent's as Markdown that grows page by page, the user's as typed, thoughts folded."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as TextualMessage
from textual.widget import Widget
from textual.widgets import Markdown

from accord.cli.chat.markdown import KnownPaths, Prose
from accord.cli.chat.widgets import BREAK, MUTED, Fold, FoldTitle, StaticText, block_content, label
from accord.cli.show.presentation import THOUGHT
from accord.display import EMPTY, SafeText, filled, joined, own, part_of, prose, prose_line, settled
from accord.session.content import Block, Text
from accord.session.entry import Message, Passage

# Pages of one message that are laid out; of many at once only the last ones, which fill a screen. Enter shows others.
MAX_PAGES = 10
MAX_NEW_PAGES = 2
PAGES_AT_ONCE = 4
MAX_PROMPT_CHARS = 4_000


class OmittedParts(FoldTitle):
    """The placeholder for earlier content that is not laid out; Enter or a click shows it."""

    DEFAULT_CSS = """
    OmittedParts { color: $text-muted; text-style: italic; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.display = False

    def stand_for(self, number: int, what: SafeText) -> None:
        """Show how much is omitted; hidden where nothing is."""
        self.display = number > 0
        self.update(filled("▴ {} earlier {} (Enter shows them)", number, what))


class PassageView(Vertical):
    """Blocks that grow by chunks. Only what is new is laid out."""

    DEFAULT_CSS = """
    PassageView { height: auto; max-width: 100; }
    PassageView Prose { padding: 0; margin: 0; background: transparent; height: auto; }
    PassageView MarkdownBlock:last-of-type { margin-bottom: 0; }
    PassageView MarkdownFence { margin: 0 0 1 0; max-height: 400; }
    PassageView MarkdownH1, PassageView MarkdownH2, PassageView MarkdownH3 {
        content-align: left middle; margin: 0 0 1 0;
    }
    """

    class LinkClicked(TextualMessage):
        """The user clicked a link in an agent's text."""

        def __init__(self, address: str) -> None:
            super().__init__()
            self.address = address

    def __init__(self, passage: Passage, paths: KnownPaths | None = None) -> None:
        super().__init__()
        self._passage = passage
        self._paths = paths
        self._forget()

    def _forget(self) -> None:
        self._omitted = OmittedParts()
        self._pages = Pages()
        self._sources: list[SafeText | Block] = []
        """All pages of text, and the blocks of other kinds between them."""
        self._parts: list[Widget] = []
        """The widgets of the last ones; those before are not laid out."""
        self._grown = EMPTY
        """Text for the last page that is not laid out yet."""
        self._block = 0
        self._shown = 0
        self._begins_page = True

    async def follow(self, passage: Passage, *, rewritten: bool = False) -> None:
        """Show the new content; all of it, if the text was replaced."""
        if rewritten or passage is not self._passage:
            await self.remove_children()
            self._passage = passage
            self._forget()
        if not self._omitted.is_attached:
            await self.mount(self._omitted)
        known = len(self._sources)
        blocks = passage.blocks
        while self._block < len(blocks):
            is_last = self._block == len(blocks) - 1
            self._take(blocks[self._block], is_last=is_last)
            if is_last:
                break
            self._block, self._shown, self._begins_page = self._block + 1, 0, True
        await self._lay_out(known)

    def _take(self, block: Block, *, is_last: bool) -> None:
        if not isinstance(block, Text):
            if not self._shown:
                self._shown = 1
                self._sources.append(block)
            return
        end = settled(block.text) if is_last else len(block.text)
        fragment = prose(block.text[self._shown : end])
        self._shown = end
        for new, text_part in self._pages.feed(fragment):
            last = self._sources[-1] if self._sources else None
            if new or self._begins_page or not isinstance(last, SafeText):
                self._begins_page = False
                self._sources.append(text_part)
            else:
                self._sources[-1] = joined([last, text_part])
                self._grown = joined([self._grown, text_part])

    async def _lay_out(self, known: int) -> None:
        """Extend the last page, and add the new ones: of many only those that stay in view."""
        new = self._sources[known:]
        if not new:
            grown, self._grown = self._grown, EMPTY
            if grown and self._parts:
                await _grow(self._parts[-1], grown)
            return
        self._grown = EMPTY
        if known and self._parts and len(new) <= MAX_NEW_PAGES:
            await self._complete(known - 1)
        elif known:
            for part in self._parts:
                await part.remove()
            self._parts = []
        for source in new[-MAX_NEW_PAGES if known else -MAX_PAGES :]:
            part = self._part(source)
            self._parts.append(part)
            await self.mount(part)
        await self._drop()

    def _part(self, source: SafeText | Block) -> Widget:
        if isinstance(source, SafeText):
            return Prose(source, self._paths)
        return StaticText(block_content(source))

    async def _complete(self, index: int) -> None:
        """Complete the page before the new ones."""
        source, part = self._sources[index], self._parts[-1]
        if isinstance(part, Prose) and isinstance(source, SafeText) and len(part.source) < len(source):
            await part.append(part_of(source, len(part.source)))

    async def _drop(self) -> None:
        while len(self._parts) > MAX_PAGES:
            await self._parts.pop(0).remove()
        self._omitted.stand_for(len(self._sources) - len(self._parts), own("parts of this message"))

    async def on_fold_title_toggled(self, message: FoldTitle.Toggled) -> None:
        """Lay out some of the omitted content."""
        message.stop()
        last = len(self._sources) - len(self._parts)
        back = [self._part(source) for source in self._sources[max(0, last - PAGES_AT_ONCE) : last]]
        self._parts = [*back, *self._parts]
        await self.mount_all(back, after=self._omitted)
        self._omitted.stand_for(len(self._sources) - len(self._parts), own("parts of this message"))

    def on_markdown_link_clicked(self, message: Markdown.LinkClicked) -> None:
        """Pass the link to the app, which decides whether to open it."""
        message.stop()
        self.post_message(self.LinkClicked(message.href))


async def _grow(part: Widget, text_part: SafeText) -> None:
    if isinstance(part, Prose):
        await part.append(text_part)


class PromptPart(Vertical):
    DEFAULT_CSS = """
    PromptPart { height: auto; max-width: 100; border-left: thick $primary; padding-left: 1; background: $boost; }
    PromptPart StaticText { width: 1fr; }
    """

    def __init__(self, message: Message) -> None:
        super().__init__()
        self._message = message
        self._text = StaticText()

    def compose(self) -> list[Widget]:
        """The text, with its attachments below."""
        return [self._text]

    async def follow(self, *, rewritten: bool = False) -> None:
        del rewritten
        lines: list[Content] = []
        for block in self._message.content:
            if isinstance(block, Text):
                text = prose(block.text)
                hidden = len(text) - MAX_PROMPT_CHARS
                if hidden > 0:
                    text = filled("{}\n… {} more characters", part_of(text, 0, MAX_PROMPT_CHARS), hidden)
                lines.append(label((text, "")))
            else:
                lines.append(block_content(block))
        self._text.update(BREAK.join(lines))


class ThoughtPart(Fold):
    """A thought of the agent: one line until it is unfolded."""

    DEFAULT_CSS = """
    ThoughtPart { color: $text-muted; }
    """

    def __init__(self, message: Message) -> None:
        super().__init__(folded=True)
        self._message = message
        self._view = PassageView(message.passage)
        self._rewritten = False

    async def follow(self, *, rewritten: bool = False) -> None:
        """Update the title, and the body if it is shown."""
        self._rewritten = self._rewritten or rewritten
        text = self._message.text
        last = text.rstrip().rsplit("\n", 1)[-1] if len(text) < MAX_PROMPT_CHARS else text[-200:]
        self.set_title(label((filled("{}  ", THOUGHT), f"italic {MUTED}"), (prose_line(last, 200), MUTED)))
        if not self.folded:
            await self.fill()

    async def fill(self) -> None:
        if not self._view.is_attached:
            await self.body.mount(self._view)
        rewritten, self._rewritten = self._rewritten, False
        await self._view.follow(self._message.passage, rewritten=rewritten)


# From the first size on, the next blank line ends a page; at the second size it ends at any place.
SOFT_CHARS = 3_000
HARD_CHARS = 6_000
_FENCES = ("```", "~~~")


class Pages:
    """Cuts a growing text into pages: `feed` returns the pieces of the open page and the start of new ones."""

    def __init__(self) -> None:
        self._chars = 0
        self._line = EMPTY
        self._fence: SafeText | None = None

    def feed(self, text: SafeText) -> list[tuple[bool, SafeText]]:
        """Pieces in order, each with whether it begins a new page. Code that goes on is fenced in both."""
        parts: list[tuple[bool, list[SafeText]]] = [(False, [])]
        for text_part in _fragments(text):
            if self._chars + len(text_part) > HARD_CHARS:
                if self._fence is not None:
                    parts[-1][1].append(filled("\n{}\n", part_of(self._fence, 0, 3)))
                parts.append((True, [] if self._fence is None else [filled("{}\n", self._fence)]))
                self._chars = 0
            parts[-1][1].append(text_part)
            self._chars += len(text_part)
            if self._ends_page(text_part):
                parts.append((True, []))
                self._chars = 0
        # A page begins with its first text; until then the size of the last one shows that it is complete.
        if parts[-1] == (True, []):
            parts.pop()
            self._chars = HARD_CHARS
        return [(new, joined(fragments)) for new, fragments in parts if fragments]

    def _ends_page(self, text_part: SafeText) -> bool:
        self._line = joined([self._line, text_part])
        if not text_part.endswith("\n"):
            self._line = part_of(self._line, -200) if len(self._line) > SOFT_CHARS else self._line
            return False
        line, self._line = prose(self._line.strip()), EMPTY
        if line.startswith(_FENCES):
            if self._fence is None:
                self._fence = line
            elif line.startswith(self._fence[:3]):
                self._fence = None
        return not line and self._fence is None and self._chars >= SOFT_CHARS


def _fragments(text: SafeText) -> list[SafeText]:
    """Lines with their ends; a line that is longer than a page is cut, at a blank where there is one."""
    fragments: list[SafeText] = []
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        while end - start > SOFT_CHARS:
            blank = text.rfind(" ", start, start + SOFT_CHARS) + 1
            cut = blank if blank > start else start + SOFT_CHARS
            fragments.append(part_of(text, start, cut))
            start = cut
        fragments.append(part_of(text, start, end))
        start = end
    return fragments
