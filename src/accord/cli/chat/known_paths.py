"""Recognition of paths in an agent's text: those of existing files in the session's folder are shown as code."""

from __future__ import annotations

import os
import re
from pathlib import Path

from markdown_it.token import Token

# A word that may be a path: it has a dot or a slash in it, and nothing of an address.
_WORD = re.compile(r"(?<![\w./@:~-])(?:/|\./)?[\w.-]+(?:/[\w.-]+)*/?(?![\w/@]|:/)")
_TRAILING = ".,;:!?"
MAX_CHARS = 300
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
