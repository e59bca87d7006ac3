"""The scanner of words in a shell line: quotes, escapes, expansions and substitutions.

`WordScanner` reads one word of a text and leaves the position behind it. The syntax around the words (operators,
redirections, here-documents) belongs to `shell_syntax`, which derives from it.

The grammar is the common part of `sh`, `dash` and `bash`. Where they read a text differently, or where an expansion can
run or assign something that is not written in the line, the scanner reports that to its sink.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["MAX_NESTING", "SEPARATOR", "WORD_ENDS", "Sink", "Word", "WordScanner"]

MAX_NESTING = 32

WORD_ENDS = frozenset(" \t\n;&|()<>")
# Line separators for Python and for terminals, but not for a shell: a person sees other lines than the shell reads.
SEPARATOR = re.compile(r"[\r\v\f\x1c-\x1e\x85\u2028\u2029]")

_QUOTE_OR_EXPANSION = frozenset("\\'\"$`")
_ALONE = frozenset(["", " ", "\t", "\n", ";"])
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_BRACED = re.compile(r"\{(?:[A-Za-z_][A-Za-z0-9_]*(?::?[-+?]|(?=\}))|(?:[0-9]+|[@*#?$!-])(?=\}))")
_ARITHMETIC = re.compile(r"\(\([0-9 \t+*/%-]*\)\)")
_QUOTED_RUN = re.compile(r'[^"\\$`]+')
_ESCAPED = re.compile(r"\\([$`\\])")


class Sink(Protocol):
    """The receiver of a scanner's findings."""

    def unclear(self) -> None:
        """Something is not understood; the simple commands were found all the same."""

    def opaque(self) -> None:
        """Something is not understood, and simple commands may be missing."""

    def write(self, path: str) -> None:
        """The target of an output redirection."""

    def assign(self, name: str) -> None:
        """A variable that gets a value, for one command or for all that follow."""

    def give_input(self) -> None:
        """A command gets a file or a text of the line as its input."""

    def command(
        self, words: tuple[str, ...], uncertain: frozenset[int], redirects: tuple[str, ...], depth: int
    ) -> None:
        """A simple command with at least one word."""

    def any_suffix(self, words: tuple[str, ...], uncertain: frozenset[int], depth: int) -> None:
        """Words of which each but the first may begin a simple command."""

    def line(self, text: str, depth: int) -> None:
        """A text that a shell parses by itself, such as that between backticks."""


@dataclass(slots=True)
class Word:
    """A word: its parts after quote removal, and `raw` as it stands in the line."""

    parts: list[str] = field(default_factory=list)
    uncertain: bool = False
    raw: str = ""

    @property
    def text(self) -> str:
        """The word after quote removal; an expansion stands in it as it is written."""
        return "".join(self.parts)


class WordScanner(ABC):
    """Reads words of `text` from `_at` on; each position is read once per level of nesting."""

    def __init__(self, text: str, sink: Sink, depth: int) -> None:
        self._text = text
        self._sink = sink
        self._depth = depth
        self._at = 0

    @abstractmethod
    def _list(self, *, closed: bool) -> None:
        """Read a list of commands, up to and with its closing parenthesis if it is `closed` by one."""

    def _enter(self) -> bool:
        """Go one level deeper; too deep, the rest of the text is given up."""
        self._depth += 1
        if self._depth <= MAX_NESTING:
            return True
        self._sink.opaque()
        self._at = len(self._text)
        return False

    def _word(self) -> Word:
        word, start, text = Word(), self._at, self._text
        while self._at < len(text):
            char = text[self._at]
            if char in _QUOTE_OR_EXPANSION:
                self._quote_or_expansion(word, char)
            elif char not in WORD_ENDS:
                self._bare(word, char, first=self._at == start)
            elif text.startswith(("<(", ">("), self._at):
                if self._at != start:
                    self._sink.opaque()  # `2>(a)`: a descriptor or a word
                self._at += 2
                self._substitution(word, self._at - 2)
            else:
                break
        word.raw = text[start : self._at]
        return word

    def _bare(self, word: Word, char: str, *, first: bool) -> None:
        text, at = self._text, self._at
        follower = text[at + 1 : at + 2]
        if char == "~":
            word.uncertain |= first or text[at - 1] in "=:"
        elif char in "{[":
            # `{}` and the program `[` stand for themselves.
            word.uncertain |= follower != "}" and not (first and follower in _ALONE)
        elif char in "*?":
            word.uncertain = True
        elif SEPARATOR.match(char) or (char > "\x7f" and char.isspace()):
            self._sink.opaque()
        word.parts.append(char)
        self._at += 1

    # --- quotes

    def _quote_or_expansion(self, word: Word, char: str) -> None:
        if char == "\\":
            self._escape(word)
        elif char == "'":
            self._single_quotes(word)
        elif char == '"':
            self._at += 1
            self._quoted(word, '"')
            if self._at >= len(self._text):
                self._sink.opaque()
            self._at += 1
        elif char == "$":
            self._dollar(word, quoted=False)
        else:
            self._backticks(word, quoted=False)

    def _escape(self, word: Word) -> None:
        escaped = self._text[self._at + 1 : self._at + 2]
        if escaped in ("", "\n"):
            # A continuation inside a token joins what looks like two.
            self._sink.opaque()
        else:
            word.parts.append(escaped)
        self._at += 2

    def _single_quotes(self, word: Word) -> None:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            self._sink.opaque()
            end = len(self._text)
        word.parts.append(self._text[self._at + 1 : end])
        self._at = end + 1

    def _quoted(self, word: Word, end: str) -> None:
        """Text as between double quotes, up to `end`; a here-document has no such end."""
        text = self._text
        while self._at < len(text) and text[self._at] != end:
            char, run = text[self._at], _QUOTED_RUN.match(text, self._at)
            if run is not None:
                word.parts.append(run[0])
                self._at = run.end()
            elif char == "$":
                self._dollar(word, quoted=True)
            elif char == "`":
                self._backticks(word, quoted=True)
            else:
                self._quoted_escape(word, end)

    def _quoted_escape(self, word: Word, end: str) -> None:
        char, escaped = self._text[self._at], self._text[self._at + 1 : self._at + 2]
        if char == "\\" and escaped and escaped in "$`\\\n" + end:
            word.parts.append("" if escaped == "\n" else escaped)
            self._at += 2
        else:
            word.parts.append(char)
            self._at += 1

    # --- expansions

    def _dollar(self, word: Word, *, quoted: bool) -> None:
        text, start = self._text, self._at
        simple = _ARITHMETIC.match(text, start + 1) or _PARAMETER.match(text, start + 1)
        self._at += 1
        if simple is not None:
            self._at = simple.end()
            self._expanded(word, start)
        elif text.startswith("(", self._at):
            if text.startswith("((", self._at):
                self._sink.opaque()  # a variable in arithmetic can run commands in bash: `a[$(…)]`
            self._at += 1
            self._substitution(word, start)
        elif text.startswith("{", self._at):
            self._braced_parameter(word, start)
        elif text.startswith(("[", "\\\n"), self._at) or (not quoted and text.startswith(("'", '"'), self._at)):
            # dash takes the dollar of `$[…]` and `$'…'` as it is; without it the word is what bash runs.
            self._sink.opaque()
        else:
            word.parts.append("$")

    def _substitution(self, word: Word, start: int) -> None:
        self._list(closed=True)
        self._expanded(word, start)

    def _expanded(self, word: Word, start: int) -> None:
        word.parts.append(self._text[start : self._at])
        word.uncertain = True

    def _braced_parameter(self, word: Word, start: int) -> None:
        """`${…}`: understood where it names a value and its replacement; other forms assign, compute or run."""
        head = _BRACED.match(self._text, self._at)
        if head is None:
            self._sink.opaque()
        self._at = self._at + 1 if head is None else head.end()
        if self._enter():
            self._replacement()
        self._depth -= 1
        self._expanded(word, start)

    def _replacement(self) -> None:
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char == "$":
                self._dollar(Word(), quoted=True)
            elif char == "`":
                self._backticks(Word(), quoted=True)
            else:
                self._at += 1
            if char == "}":
                return
            if char in "'\"\\(":
                self._sink.opaque()  # shells differ in what a quote means here
        self._sink.opaque()

    def _backticks(self, word: Word, *, quoted: bool) -> None:
        start, text = self._at, self._text
        self._at += 1
        while self._at < len(text) and text[self._at] != "`":
            self._at += 2 if text[self._at] == "\\" else 1
        content = text[start + 1 : self._at]
        # Shells differ in what a backslash, and inside double quotes a quote, means between backticks.
        if self._at >= len(text) or "\\" in content or (quoted and '"' in content):
            self._sink.opaque()
        self._at += 1
        self._sink.line(_ESCAPED.sub(r"\1", content), self._depth)
        self._expanded(word, start)
