"""The grammar of a shell line around its words: lists, pipelines, subshells, redirections, here-documents.

One pass over the text reports each simple command, assignment and write to a sink. Keywords (`if`, `for`, `case`, …)
are not understood, but the commands between them are reported. Where `sh`, `dash` and `bash` read a text differently
(`&>`, `12>`, `((…))`, a line continuation inside a token), the scanner reports that it did not understand.

The meaning of a command (`sudo`, `sh -c`, `cd`) belongs to `shell_wrappers` and `shell_line`.
"""

import re
from dataclasses import dataclass, field

from accord.session.shell_word import MAX_NESTING, SEPARATOR, WORD_ENDS, Sink, Word, WordScanner

__all__ = ["Scanner"]

_OPERATORS = frozenset(
    ["&>>", ";;&", "<<<", "<<-", "&>", ">>", ">|", ">&", "<>", "<&", "<<", "&&", "||", "|&", ";;", ";&", *";&|\n()<>"]
)
_NO_TARGET = WORD_ENDS - {"<", ">"}
_CASE_ENDS = frozenset([";;", ";&", ";;&"])
_KEYWORDS_BEFORE_COMMAND = frozenset(["if", "then", "else", "elif", "while", "until", "do"])
_KEYWORDS_AFTER_COMMAND = frozenset(["fi", "done", "esac"])
_KEYWORDS_BEFORE_WORDS = frozenset(["for", "select", "case", "function", "coproc", "[["])
_KEYWORDS = _KEYWORDS_BEFORE_COMMAND | _KEYWORDS_AFTER_COMMAND | _KEYWORDS_BEFORE_WORDS | {"!", "{", "}"}
_FILE_TESTS = frozenset(["-e", "-f", "-d", "-L", "-r", "-w", "-x", "-s", "-n", "-z"])
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_FILE_DESCRIPTOR = re.compile(r"[0-9]+-?|-")


@dataclass(slots=True)
class _Command:
    """The simple command that is being read."""

    words: list[Word] = field(default_factory=list)
    redirects: list[str] = field(default_factory=list)
    assigned: bool = False
    keyword: str | None = None
    """A keyword such as `for`: the words behind it are no simple command."""
    closed: bool = False
    """A subshell or group ended here: only redirections may follow."""

    @property
    def at_start(self) -> bool:
        """Whether a keyword is recognised here."""
        return not (self.words or self.redirects or self.assigned or self.keyword)


def _holds_no_command(keyword: str, words: tuple[str, ...]) -> bool:
    """Whether the words behind a keyword are data; other tests in `[[` evaluate text as arithmetic."""
    match (keyword, *words):
        case ("[[", test, _, "]]"):
            return test in _FILE_TESTS
        case ("[[", _, "=" | "==" | "!=", _, "]]"):
            return True
        case ("for" | "select", *_):
            return "do" not in words
        case _:
            return False


@dataclass(slots=True)
class _List:
    """A list of commands up to its closing parenthesis or the end of the text."""

    command: _Command = field(default_factory=_Command)
    groups: int = 0


class Scanner(WordScanner):
    """Scans one text: `scan` is called once."""

    def __init__(self, text: str, sink: Sink, depth: int) -> None:
        super().__init__(text, sink, depth)
        self._here_documents: list[tuple[Word, bool]] = []

    def scan(self) -> None:
        self._list(closed=False)

    def scan_here_document(self) -> None:
        """Report the commands of the substitutions in the body of a here-document."""
        self._quoted(Word(), "")

    # --- lists and commands

    def _list(self, *, closed: bool) -> None:
        if self._enter():
            current, waiting = _List(), len(self._here_documents)
            ended = self._list_items(current, closed=closed)
            self._finish(current)
            # Shells differ in where a here-document has its body that begins inside a substitution and ends outside.
            if ended != closed or current.groups or len(self._here_documents) != waiting:
                self._sink.opaque()
        self._depth -= 1

    def _list_items(self, current: _List, *, closed: bool) -> bool:
        """Whether the closing parenthesis was found."""
        waiting = bool(self._here_documents)
        while self._skip_blanks():
            char = self._text[self._at]
            if char == ")" and closed:
                self._at += 1
                return True
            if char == "\n" and waiting:
                self._sink.opaque()
            if char not in WORD_ENDS or self._text.startswith(("<(", ">("), self._at):
                self._take_word(current)
            else:
                self._operator(current)
        return False

    def _skip_blanks(self) -> bool:
        """Skip blanks, comments and line continuations; whether something follows."""
        text = self._text
        while self._at < len(text):
            if text[self._at] in " \t":
                self._at += 1
            elif text.startswith("\\\n", self._at):
                # Behind an operator it joins what looks like two tokens: `>\<newline>>`.
                if self._here_documents or (self._at and text[self._at - 1] not in " \t\n"):
                    self._sink.opaque()
                self._at += 2
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                end = len(text) if end < 0 else end
                if SEPARATOR.search(text, self._at, end):
                    self._sink.opaque()
                self._at = end
            else:
                return True
        return False

    def _operator(self, current: _List) -> None:
        text, at = self._text, self._at
        operator = next(each for size in (3, 2, 1) if (each := text[at : at + size]) in _OPERATORS)
        self._at += len(operator)
        if operator in ("(", ")"):
            self._parenthesis(current, operator)
        elif operator in ("&>", "&>>"):
            # bash redirects both outputs; dash runs in the background, and what follows is another command.
            self._finish(current)
            self._redirect(current.command, ">")
            current.command.closed = True
        elif "<" in operator or ">" in operator:
            self._redirect(current.command, operator)
        else:
            if operator in _CASE_ENDS:
                self._sink.unclear()
            self._finish(current)
            if operator == "\n":
                self._here_document_bodies()

    def _parenthesis(self, current: _List, operator: str) -> None:
        """A subshell where a command may begin; elsewhere a function, an array, a pattern of `case` or an error."""
        subshell = operator == "(" and current.command.at_start and not current.command.closed
        if operator == ")" or self._text.startswith("(", self._at):
            self._sink.opaque()  # `((1 << 2))` is arithmetic and has no here-document
        elif not subshell:
            self._sink.unclear()
        self._finish(current)
        if operator == "(":
            self._list(closed=True)
        current.command.closed = subshell

    def _finish(self, current: _List) -> None:
        command, current.command = current.command, _Command()
        words = tuple(word.text for word in command.words)
        uncertain = frozenset(index for index, word in enumerate(command.words) if word.uncertain)
        if command.keyword is not None:
            if not _holds_no_command(command.keyword, words):
                self._sink.opaque()
                self._sink.any_suffix(("", *words), frozenset(index + 1 for index in uncertain), self._depth)
        elif words:
            self._sink.command(words, uncertain, tuple(command.redirects), self._depth)

    def _take_word(self, current: _List) -> None:
        word = self._word()
        if word.raw.isascii() and word.raw.isdigit() and self._text.startswith(("<", ">"), self._at):
            if len(word.raw) == 1:
                return  # the number of the descriptor that is redirected
            self._sink.unclear()
            word.uncertain = True  # a descriptor for bash, a word for dash
        if current.command.at_start and word.raw in _KEYWORDS:
            self._keyword(current, word.raw)
            return
        if current.command.closed:
            self._sink.opaque()
        self._append(current.command, word)

    def _append(self, command: _Command, word: Word) -> None:
        assignment = None if command.words or command.keyword else _ASSIGNMENT.match(word.raw)
        if assignment is None:
            command.words.append(word)
            return
        command.assigned = True
        self._sink.assign(assignment[1])
        if assignment[2]:
            self._sink.unclear()  # `A+=b` is a program for dash

    def _keyword(self, current: _List, keyword: str) -> None:
        if keyword == "!":
            return
        current.command = _Command()
        if keyword == "{":
            current.groups += 1
        elif keyword == "}":
            current.groups -= 1
            current.command.closed = True
        else:
            self._sink.unclear()
            current.command.closed = keyword in _KEYWORDS_AFTER_COMMAND
            current.command.keyword = keyword if keyword in _KEYWORDS_BEFORE_WORDS else None
        if not 0 <= current.groups <= MAX_NESTING - self._depth:
            self._sink.opaque()

    # --- redirections

    def _word(self) -> Word:
        word = super()._word()
        if self._here_documents and "\n" in word.raw:
            self._sink.opaque()  # shells differ in whether the body begins at this line break
        return word

    def _redirect(self, command: _Command, operator: str) -> None:
        if not self._skip_blanks() or self._text[self._at] in _NO_TARGET:
            self._sink.unclear()
            return
        word = self._word()
        if not word.raw or (word.uncertain and operator not in ("<", "<<<")):
            self._sink.unclear()
        if operator.startswith("<"):
            self._sink.give_input()
        if operator in ("<<", "<<-"):
            self._here_document(word, strip_tabs=operator == "<<-")
        elif operator in ("<&", ">&") and _FILE_DESCRIPTOR.fullmatch(word.raw):
            return
        elif operator == "<&":
            self._sink.unclear()
        elif operator not in ("<", "<<<"):
            command.redirects.append(word.text)
            self._sink.write(word.text)

    def _here_document(self, delimiter: Word, *, strip_tabs: bool) -> None:
        if delimiter.uncertain or not delimiter.raw:
            self._sink.opaque()
        self._here_documents.append((delimiter, strip_tabs))

    def _here_document_bodies(self) -> None:
        waiting, self._here_documents = self._here_documents, []
        for delimiter, strip_tabs in waiting:
            body = self._here_document_body(delimiter.text, strip_tabs=strip_tabs)
            if body is None:
                self._sink.opaque()
                return
            if delimiter.raw == delimiter.text:
                if "\\\n" in body:
                    self._sink.opaque()  # a continuation may hide the delimiter
                Scanner(body, self._sink, self._depth).scan_here_document()

    def _here_document_body(self, delimiter: str, *, strip_tabs: bool) -> str | None:
        start = self._at
        while self._at < len(self._text):
            line_start, end = self._at, self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            line = self._text[line_start:end]
            self._at = end + 1
            if (line.lstrip("\t") if strip_tabs else line) == delimiter:
                return self._text[start:line_start]
        return None
