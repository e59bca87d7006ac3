"""Analysis of a shell line or an argv: the simple commands that it could run, for permission rules.

A rule that denies matches if any of `commands` could match; a rule that allows needs `understood`, and then each of
`commands` must match it. So every doubt goes to one side: where the line is not understood, nothing allows it.

For users of the rules:

- The shells are `sh`, `dash` and `bash` without aliases. Syntax that they read differently is not understood.
- Not understood: keywords (`if`, `for`, `case`, `[[`, …) and functions, `eval`, `source`, a shell that reads a script
  or its standard input, `ssh`, `su`, `script`, `parallel` and their like, unknown options of a wrapper, a program that
  is named by an expansion, a variable that is not on a short list of harmless ones, `cd` together with a write or a
  program by a relative path, control characters, and a line beyond the limits (`MAX_LINE`, `MAX_COMMANDS`,
  `MAX_NESTING`). Their commands are found all the same, as far as the text shows them.
- A wrapper (`sudo`, `env`, `xargs`, `sh -c`, `find -exec`, …) counts as well as the command that it runs.
- Out of reach, because they bring a language of their own: `python -c`, `find -delete`, `awk`, `make`, `git -c
  alias…`, `docker run`, `npx`, an editor, and every script and program that runs others. A rule that allows such a
  program allows what it runs. A program is known by its name only: a copy of `rm` under another name is not `rm`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from accord.session.shell_syntax import Scanner
from accord.session.shell_word import MAX_NESTING
from accord.session.shell_wrappers import Inner, any_suffix, name_set, program_name, unwrap

__all__ = [
    "ANY_COMMAND",
    "MAX_COMMANDS",
    "MAX_LINE",
    "MAX_NESTING",
    "ShellLine",
    "SimpleCommand",
    "environment_is_harmless",
    "parse_argv",
    "parse_shell_line",
    "program_names",
    "settings_are_harmless",
]

MAX_LINE = 64 * 1024
MAX_COMMANDS = 1000
# Words and characters looked at, with all lines inside lines: more than any honest line of the greatest size needs.
_MAX_STEPS = 4 * MAX_LINE

_HARMLESS = name_set(
    "LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI COLUMNS LINES NODE_ENV "
    "PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUTF8 DEBIAN_FRONTEND RUST_BACKTRACE "
    "SOURCE_DATE_EPOCH "
    # Claude and Kimi set these for each command.
    "CLAUDECODE GIT_TERMINAL_PROMPT"
)
_USUAL_SHELL = re.compile(r"/(?:usr/(?:local/)?)?bin/(?:a|ba|da|fi|k|z)?sh")
_LOCALE = re.compile(r"LC_[A-Z]+")
# Line separators are left out: inside quotes they are characters like others, and the scanner knows the quotes.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_CHANGES_DIRECTORY = frozenset(["cd", "chdir", "pushd", "popd"])


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One simple command: its argv after quote removal, the program as it is written.

    A word whose index is in `uncertain` may expand to something else than its text, also to no word or to several.
    `redirects` are the targets of its own output redirections.
    """

    words: tuple[str, ...]
    uncertain: frozenset[int] = frozenset()
    redirects: tuple[str, ...] = ()


ANY_COMMAND = SimpleCommand(("",), frozenset([0]))
"""The placeholder in `commands` for commands that the text does not show: every rule that denies could match it."""


@dataclass(frozen=True, slots=True)
class ShellLine:
    """A line taken apart; where it is not `understood`, `commands` holds what could be found.

    `commands` has each simple command once: outer and inner ones, wrappers and the commands they run. `writes` are the
    targets of output redirections as they are written; where the line is not understood, they may be other paths.
    `has_more_than_words` is True where the line gives a command an input or a variable: two such lines with the same
    commands may do different things.
    """

    commands: tuple[SimpleCommand, ...]
    understood: bool
    writes: tuple[str, ...] = ()
    has_more_than_words: bool = False


def parse_shell_line(line: str) -> ShellLine:
    """Take apart a line as it is handed to `sh -c`. Never raises; time is linear in the line."""
    findings = _Findings()
    if _CONTROL.search(line):
        findings.unclear()
    findings.line(line, 0)
    return findings.result()


def parse_argv(argv: Sequence[str]) -> ShellLine:
    """Take apart an argv that is run without a shell: one simple command, and what wrappers in it run."""
    findings = _Findings()
    if any(_CONTROL.search(word) for word in argv):
        findings.unclear()
    if sum(len(word) + 1 for word in argv) > MAX_LINE:
        findings.opaque()
    elif argv:
        findings.command(tuple(argv), frozenset(), (), 0)
    return findings.result()


def program_names(command: SimpleCommand) -> tuple[str, ...]:
    """The names by which a rule may mean the program: as it is written, and without its directory."""
    written = command.words[0]
    return tuple(dict.fromkeys((written, written.rsplit("/", 1)[-1])))


def environment_is_harmless(names: Iterable[str]) -> bool:
    """Whether no variable of these names changes which program runs or what it loads: only a short list is known."""
    return all(name in _HARMLESS or _LOCALE.fullmatch(name) for name in names)


def settings_are_harmless(settings: Iterable[tuple[str, str]]) -> bool:
    """Whether no variable changes which program runs, by its value too: Kimi sets `SHELL` to the shell that it uses."""
    return environment_is_harmless(
        name for name, value in settings if not (name == "SHELL" and _USUAL_SHELL.fullmatch(value))
    )


class _Findings:
    """The sink that collects the reports of scanners and wrappers, within the limits."""

    def __init__(self) -> None:
        self.steps = 0
        self._understood = True
        self._commands: dict[SimpleCommand, None] = {}
        self._lines: set[str] = set()
        self._writes: dict[str, None] = {}
        self._has_more_than_words = False

    def unclear(self) -> None:
        self._understood = False

    def opaque(self) -> None:
        self._understood = False
        self._commands[ANY_COMMAND] = None

    def write(self, path: str) -> None:
        self._writes[path] = None

    def assign(self, name: str) -> None:
        self._has_more_than_words = True
        self._understood &= environment_is_harmless([name])

    def give_input(self) -> None:
        self._has_more_than_words = True

    def command(
        self, words: tuple[str, ...], uncertain: frozenset[int], redirects: tuple[str, ...], depth: int
    ) -> None:
        found = SimpleCommand(words, uncertain, redirects)
        if not self._may_go_on(len(words), depth) or found in self._commands:
            return
        self._commands[found] = None
        if 0 in uncertain or not words[0]:
            self.unclear()
        self._go_inside(unwrap(words, uncertain), depth + 1)

    def any_suffix(self, words: tuple[str, ...], uncertain: frozenset[int], depth: int) -> None:
        self._go_inside(any_suffix(words, uncertain), depth)

    def line(self, text: str, depth: int) -> None:
        if self._may_go_on(len(text), depth) and text not in self._lines:
            self._lines.add(text)
            Scanner(text, self, depth).scan()

    def result(self) -> ShellLine:
        understood = self._understood and bool(self._commands) and not self._moves_a_relative_path()
        return ShellLine(tuple(self._commands), understood, tuple(self._writes), self._has_more_than_words)

    def _may_go_on(self, steps: int, depth: int) -> bool:
        self.steps += steps + 1
        if (
            steps <= MAX_LINE
            and self.steps <= _MAX_STEPS
            and depth <= MAX_NESTING
            and len(self._commands) < MAX_COMMANDS
        ):
            return True
        self.opaque()
        return False

    def _go_inside(self, inner: Inner, depth: int) -> None:
        if inner.anything:
            self.opaque()
        self._understood &= inner.understood and environment_is_harmless(inner.names)
        for words, uncertain in inner.commands:
            self.command(words, uncertain, (), depth)
        for line in inner.lines:
            self.line(line, depth)

    def _moves_a_relative_path(self) -> bool:
        """Whether the line changes the directory and then names a program or a written file relative to it."""
        programs = [command.words[0] for command in self._commands]
        if _CHANGES_DIRECTORY.isdisjoint(program_name(program) for program in programs):
            return False
        return not all(path.startswith("/") for path in [*self._writes, *(each for each in programs if "/" in each)])
