"""Permission rules: what may be done without asking, what must be asked, what is refused; the first match wins.

A rule is written `effect kind:pattern`. The kind is that of the tool call (`read`, `edit`, `execute`, ...) or `all`.
The pattern is a path glob for kinds that touch files, and a command pattern for `execute`: `edit:src/**`,
`execute:git *`.

Path globs are matched against the path relative to the session's roots, and against the whole path if the pattern is
absolute: `*` and `?` stay inside one name, `**` spans folders. A command pattern is matched word by word against the
command's words: `*` at the end stands for any further words, inside a word for any characters in it. A rule with a
pattern matches only if there is something to match, and a call that touches several files only if all of them match.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from shlex import split
from typing import Literal, TypeAlias

__all__ = ["Effect", "Rule", "RuleError", "Subject", "decide", "parse_rule"]

Effect: TypeAlias = Literal["allow", "ask", "deny"]
EFFECTS: tuple[Effect, ...] = ("allow", "ask", "deny")
KINDS = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other", "all"}
)
# A line that a shell would take apart: its first word says nothing about the rest.
_SHELL = re.compile(r"[;&|<>`\n]|\$\(")


class RuleError(ValueError):
    """A rule that cannot be understood; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `pattern` None matches every call of the kind, an `exact` one the very command and nothing else."""

    effect: Effect
    kind: str = "all"
    pattern: str | None = None
    exact: bool = False

    def __str__(self) -> str:
        return f"{self.effect} {self.kind}" if self.pattern is None else f"{self.effect} {self.kind}:{self.pattern}"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a rule is asked about: a tool call's kind, the files it touches, the command it runs; and the roots."""

    kind: str = "other"
    paths: tuple[str, ...] = ()
    command: str | None = None
    roots: tuple[str, ...] = ()


def parse_rule(text: str, effect: Effect | None = None) -> Rule:
    """A rule from its text; with an `effect` the text is what follows that.

    Raises:
        RuleError: It is none.
    """
    rest = text.strip()
    if effect is None:
        word, _, rest = rest.partition(" ")
        if word not in EFFECTS:
            raise RuleError(f"{text!r}: a rule begins with one of {', '.join(EFFECTS)}")
        effect = word
    kind, colon, pattern = rest.strip().partition(":")
    kind, pattern = kind.strip(), pattern.strip()
    if kind not in KINDS and not kind.startswith("_"):
        raise RuleError(f"{text!r}: {kind!r} is no kind of tool call; one of {', '.join(sorted(KINDS))}")
    if colon and not pattern:
        raise RuleError(f"{text!r}: a pattern must follow the colon")
    return Rule(effect, kind, pattern if colon else None)


def decide(rules: Iterable[Rule], subject: Subject, default: Effect = "ask") -> tuple[Effect, Rule | None]:
    """What the first rule that matches says, and which it was."""
    for rule in rules:
        if _matches(rule, subject):
            return rule.effect, rule
    return default, None


def _matches(rule: Rule, subject: Subject) -> bool:
    if rule.kind not in ("all", subject.kind):
        return False
    if rule.pattern is None:
        return True
    if rule.exact:
        return subject.command == rule.pattern
    if subject.command is not None and subject.kind == "execute":
        return _matches_command(rule.pattern, subject.command, careful=rule.effect == "allow")
    if not subject.paths:
        return False
    # What allows must allow all of it; what forbids need only meet one.
    quantifier = all if rule.effect == "allow" else any
    pattern = rule.pattern
    return quantifier(_matches_path(pattern, path, subject.roots) for path in subject.paths)


def _matches_command(pattern: str, command: str, *, careful: bool) -> bool:
    if careful and _SHELL.search(command):
        return False
    try:
        words = split(command)
    except ValueError:
        words = command.split()
    wanted = pattern.split()
    if wanted and wanted[-1] == "*":
        wanted = wanted[:-1]
        if len(words) < len(wanted):
            return False
        words = words[: len(wanted)]
    return len(words) == len(wanted) and all(
        _word(each).fullmatch(word) is not None for each, word in zip(wanted, words, strict=True)
    )


def _matches_path(pattern: str, path: str, roots: Sequence[str]) -> bool:
    glob = _glob(pattern)
    if PurePath(pattern).is_absolute():
        return glob.fullmatch(path) is not None
    return any(
        glob.fullmatch(PurePath(path).relative_to(root).as_posix()) is not None
        for root in roots
        if PurePath(path).is_relative_to(root)
    )


@lru_cache(maxsize=256)
def _word(pattern: str) -> re.Pattern[str]:
    return re.compile(
        "".join(".*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", pattern)), re.DOTALL
    )


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """A path glob as an expression; a folder's name with a slash at its end means all below it."""
    if pattern.endswith("/"):
        pattern += "**"
    out, place = "", 0
    while place < len(pattern):
        if pattern.startswith("**/", place):
            out, place = out + "(?:[^/]+/)*", place + 3
        elif pattern.startswith("**", place):
            out, place = out + ".*", place + 2
        elif pattern[place] == "*":
            out, place = out + "[^/]*", place + 1
        elif pattern[place] == "?":
            out, place = out + "[^/]", place + 1
        else:
            out, place = out + re.escape(pattern[place]), place + 1
    return re.compile(out, re.DOTALL)
