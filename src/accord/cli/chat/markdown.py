"""Markdown that grows by chunks: the blocks are the same however the text was cut; paths of files are code."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.content import Content
from textual.css.types import TextAlign
from textual.widgets import Markdown
from textual.widgets._markdown import (
    MarkdownBlock,
    MarkdownFence,
    MarkdownParagraph,
    MarkdownTable,
    MarkdownTableContent,
)

from accord.display import EMPTY, SafeText, joined, prose

# A word that may be a path: it has a dot or a slash in it, and nothing of an address.
_WORD = re.compile(r"(?<![\w./@:~-])(?:/|\./)?[\w.-]+(?:/[\w.-]+)*/?(?![\w/@]|:/)")
_TRAILING = ".,;:!?"
MAX_CHARS = 300
_TRACEBACK = "Traceback (most recent call last):"
_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
# Each lookup is a system call; an agent's text must not cause many.
MAX_LOOKS = 500


class KnownPaths:
    """A cache of lookups: a message is parsed again with every chunk."""

    def __init__(self, cwd: str | None) -> None:
        self._cwd = cwd
        self._known: dict[str, bool] = {}

    def __contains__(self, word: str) -> bool:
        if self._cwd is None or len(word) > MAX_CHARS or not ("." in word or "/" in word):
            return False
        if word not in self._known:
            if len(self._known) >= MAX_LOOKS:
                return False
            self._known[word] = self._exists(word)
        return self._known[word]

    def _exists(self, word: str) -> bool:
        """Only inside the folder: a path elsewhere may be on a machine that does not answer."""
        cwd = self._cwd or ""
        path = os.path.normpath(Path(cwd, word))
        is_inside = path.startswith(os.path.join(cwd, ""))  # noqa: PTH118 - a prefix, with its slash
        return is_inside and ".." not in word.split("/") and os.path.lexists(path)

    def mark(self, children: list[Token]) -> list[Token]:
        """The tokens of a line, with paths as inline code; texts of links stay as they are."""
        marked: list[Token] = []
        links = 0
        for token in children:
            links += token.nesting if token.type in {"link_open", "link_close"} else 0
            marked += self._split(token) if token.type == "text" and not links else [token]
        return marked

    def _split(self, token: Token) -> list[Token]:
        text, start = token.content, 0
        tokens: list[Token] = []
        for match in _WORD.finditer(text):
            word = match[0].rstrip(_TRAILING)
            if word not in self:
                continue
            if match.start() > start:
                tokens.append(_text(text[start : match.start()], token.level))
            tokens.append(Token("code_inline", "code", 0, content=word, markup="`", level=token.level))
            start = match.start() + len(word)
        if not tokens:
            return [token]
        return [*tokens, _text(text[start:], token.level)] if start < len(text) else tokens


def _text(content: str, level: int) -> Token:
    return Token("text", "", 0, content=content, level=level)


# --- blocks

# Kinds of block whose widget can be updated in place; every other kind is replaced.
_GROWING = (MarkdownParagraph, MarkdownFence)


@dataclass(slots=True)
class _Group:
    """One block of the top level: its tokens, and the lines by which it is recognised."""

    key: tuple[str, ...]
    tokens: list[Token]
    blocks: list[MarkdownBlock]


class _TableContent(MarkdownTableContent):
    """The cells of a table, each aligned as its column is."""

    def __init__(self, headers: list[Content], rows: list[list[Content]], alignments: list[TextAlign]) -> None:
        super().__init__(headers, rows)
        self._alignments = alignments

    def compose(self) -> ComposeResult:
        for place, cell in enumerate(super().compose()):
            cell.styles.text_align = self._alignments[place % len(self._alignments)]
            yield cell


class _Table(MarkdownTable):
    def compose(self) -> ComposeResult:
        self._headers, self._rows = self._get_headers_and_rows()
        head = self._blocks[0]._blocks[0]._blocks  # noqa: SLF001 - as the base class reads them
        yield _TableContent(self._headers, self._rows, [_alignment(cell._token) for cell in head])  # noqa: SLF001


def _alignment(token: Token) -> TextAlign:
    style = token.attrs.get("style")
    return "right" if style == "text-align:right" else "center" if style == "text-align:center" else "left"


class Prose(Markdown):
    """Markdown of another program. It opens no links; existing paths are shown as code."""

    BLOCKS = {**Markdown.BLOCKS, "table_open": _Table}  # noqa: RUF012 - as the base class declares it

    def __init__(self, source: SafeText = EMPTY, paths: KnownPaths | None = None) -> None:
        self._paths = paths or KnownPaths(None)
        super().__init__(source, open_links=False, parser_factory=self._parser)
        self._groups: list[_Group] = []
        self._references: dict[str, Any] = {}

    def update(self, markdown: SafeText) -> AwaitComplete:  # type: ignore[override]
        self._markdown = markdown
        return AwaitComplete(self._show())

    def append(self, markdown: SafeText) -> AwaitComplete:  # type: ignore[override]
        # Before it is shown: a second append may come while the first one waits.
        self._markdown = joined([prose(self._markdown), markdown])
        return AwaitComplete(self._show())

    async def _show(self) -> None:
        async with self.lock:
            groups, references = _groups(self._markdown, self._parser())
            same = self._same(groups) if references == self._references else 0
            self._references = references
            old, new = self._groups[same:], groups[same:]
            for group in new:
                group.blocks = list(self._parse_markdown(group.tokens))
            with self.app.batch_update():
                if old and new and await _take_over(old[0], new[0]):
                    old, mounted = old[1:], new[1:]
                else:
                    mounted = new
                for group in old:
                    for block in group.blocks:
                        await block.remove()
                await self.mount_all([block for group in mounted for block in group.blocks])
            self._groups = [*self._groups[:same], *new]

    def _parser(self) -> MarkdownIt:
        return _parser(self._paths)

    def _same(self, groups: list[_Group]) -> int:
        count = 0
        for before, now in zip(self._groups, groups, strict=False):
            if before.key != now.key:
                break
            count += 1
        return count


def _groups(source: str, parser: MarkdownIt) -> tuple[list[_Group], dict[str, Any]]:
    """The blocks of the top level in order; and the definitions of links, which change blocks that name them."""
    environment: dict[str, Any] = {}
    lines = source.split("\n")
    groups: list[_Group] = []
    for token in parser.parse(source, environment):
        if token.level == 0 and token.nesting >= 0:
            first, end = token.map or (0, len(lines))
            groups.append(_Group((token.type, token.tag, *lines[first:end]), [], []))
        groups[-1].tokens.append(token)
    return groups, environment.get("references", {})


async def _take_over(old: _Group, new: _Group) -> bool:
    """Update a shown block in place, without a flicker; returns whether that is possible."""
    if len(old.blocks) != 1 or len(new.blocks) != 1:
        return False
    (shown,), (block,) = old.blocks, new.blocks
    if type(shown) is not type(block) or not isinstance(shown, _GROWING):
        return False
    # For these two kinds Textual's method keeps the widget.
    await shown._update_from_block(block)  # noqa: SLF001 - there is no public way
    shown.source_range = block.source_range
    new.blocks = [shown]
    return True


def _parser(paths: KnownPaths) -> MarkdownIt:
    parser = MarkdownIt("gfm-like")
    # `parser.py` and `README.md` are files, although both endings are domains of the web.
    assert parser.linkify is not None  # noqa: S101 - it comes with that preset
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False})
    parser.block.ruler.before("code", "traceback", _traceback, {"alt": ["paragraph"]})
    parser.core.ruler.push("task_lists", _mark_tasks)
    parser.core.ruler.push("safe_text", _clean)
    parser.core.ruler.push("known_paths", lambda state: _mark_paths(state, paths))
    return parser


def _traceback(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the parser's interface
    """A traceback of Python as code: as a paragraph it would lose its lines and their indentation."""
    if not state.getLines(start, start + 1, state.blkIndent, keepLastLF=False).startswith(_TRACEBACK):
        return False
    if silent:
        return True
    last = start + 1
    while last < end and state.sCount[last] > state.blkIndent and not state.isEmpty(last):
        last += 1
    # The exception itself, which is not indented.
    last = min(last + 1, end) if last < end and not state.isEmpty(last) else last
    token = state.push("fence", "code", 0)
    token.info, token.map = "pytb", [start, last]
    token.content = state.getLines(start, last, state.blkIndent, keepLastLF=True)
    state.line = last
    return True


def _mark_tasks(state: StateCore) -> None:
    """Items of a list that begin with `[ ]` or `[x]` get a box."""
    for item, _, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        first = inline.children[0] if item.type == "list_item_open" and inline.children else None
        if first is not None and first.content[:4] in _BOXES:
            first.content = _BOXES[first.content[:4]] + first.content[4:]


def _mark_paths(state: StateCore, paths: KnownPaths) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.children:
            token.children = paths.mark(token.children)


def _clean(state: StateCore) -> None:
    """An entity such as `&#x202e;` is a character only after the source was parsed."""
    for token in state.tokens:
        _clean_token(token)


def _clean_token(token: Token) -> None:
    token.content = prose(token.content)
    for name, value in token.attrs.items():
        if isinstance(value, str):
            token.attrs[name] = prose(value)
    for child in token.children or ():
        _clean_token(child)
