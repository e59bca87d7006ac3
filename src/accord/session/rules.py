"""Permission rules and the decision over them: allow without asking, ask the user, or refuse.

A rule is written `effect kind:pattern`. The kind is that of the tool call (`read`, `edit`, `execute`, ...) or `all`.
The pattern is a path glob for kinds that touch files, and a command pattern for `execute`: `edit:src/**`,
`execute:git *`. Path globs are matched against the path relative to the session's directories, and against the whole
path if the pattern is absolute. A command pattern is matched word by word: `*` at the end stands for any further
words, inside a word for any characters in it. In a path `*` and `?` stay inside one name, `**` spans folders, `**/`
stands for any folders or none, and a slash at the end means everything below. Matching is linear in the text.

A decision is about a `Subject`: the accesses that a call makes, resolved by `accord.workspace.subject`. The order:

1. Explicit rules (of the line, a file, a `Policy`, the config), in their order; the first that matches counts.
2. Where that is `ask`, or nothing matched: the user's answers with "always" (`accord.session.remembered`).
3. Where that is silent too: the default, which is to ask.

One access that is denied denies the call, and a call is allowed only if each of its accesses is. An access whose path
or command is not known, or not understood, matches every pattern that refuses or asks, and none that allows. A pattern
that refuses or asks also matches a path below which it can match. `accord.session.readings` has the kinds that count
beside the one that the agent says.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from accord.session.path_pattern import Glob, matches_path
from accord.session.readings import FILE_KINDS, reading
from accord.session.remembered import PathTarget, RememberedAnswer, Target
from accord.session.shell_line import SimpleCommand, program_names

__all__ = [
    "Access",
    "Decision",
    "Effect",
    "Glob",
    "Rule",
    "RuleError",
    "Subject",
    "judge",
    "matches_path",
    "matches_word",
    "parse_rule",
    "wider_answers",
]


def matches_word(pattern: str, word: str) -> bool:
    """Whether a pattern matches one whole word of a command.

    The pieces between stars are looked for one after the other, each at its first place: stars can stand for
    anything, so an earlier place never spoils a later piece.
    """
    first, *parts = pattern.split("*")
    if not parts:
        return word == first
    last = parts.pop()
    if len(word) < len(first) + len(last) or not word.startswith(first) or not word.endswith(last):
        return False
    at, end = len(first), len(word) - len(last)
    for part in parts:
        found = word.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


Effect: TypeAlias = Literal["allow", "ask", "deny"]
"""The effect of a rule: allow, deny, or let the user decide."""
EFFECTS: tuple[Effect, ...] = ("allow", "ask", "deny")
KINDS = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other", "all"}
)
MAX_PATTERN_CHARACTERS = 4096


class RuleError(ValueError):
    """A rule that cannot be understood; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `pattern` None matches every access of the kind.

    `globs` are the pattern with its links resolved; `accord.workspace.subject` fills them in.
    """

    effect: Effect
    kind: str = "all"
    pattern: str | None = None
    globs: tuple[Glob, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.effect} {self.kind}" if self.pattern is None else f"{self.effect} {self.kind}:{self.pattern}"


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a call: to a path, by a simple command, or of an unknown kind.

    `path` is absolute with its links resolved; `spelled` the same without following them. `is_understood` is False for
    a command of which more may run than could be read. A `transparent` one is a shell around others that are judged
    themselves, and needs no permission of its own. `mentioned` are paths that the call names beside its command.
    `target` is the target that a remembered answer would have. `is_elsewhere` is True for a program that is named
    relative to another directory than the session's: it is not the one that a pattern or an earlier answer means.

    With a path, what lies below is touched as well, unless it `is_alone`: then that is judged by itself. `is_folder` is
    False for a path that has nothing below it. A `bare` access names nothing: a rule with a pattern may mean it, or may
    not. `also` are further kinds, which only count for patterns that refuse or ask.
    """

    kind: str
    path: str | None = None
    spelled: str | None = None
    command: SimpleCommand | None = None
    is_understood: bool = True
    transparent: bool = False
    mentioned: tuple[str, ...] = ()
    target: Target | None = None
    is_elsewhere: bool = False
    is_alone: bool = False
    is_folder: bool = False
    bare: bool = False
    also: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it has a path or command that a pattern can match."""
        return self.path is not None or (self.command is not None and self.is_understood)


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a decision: all accesses of one call, and the session's directories with their links resolved."""

    accesses: tuple[Access, ...]
    roots: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its accesses, each once."""
        return tuple(dict.fromkeys(access.kind for access in self.accesses))

    @property
    def targets(self) -> tuple[Target, ...] | None:
        """Its exact targets; None where they are not known for each access."""
        found = [access.target for access in self.accesses if not access.transparent]
        known = tuple(dict.fromkeys(target for target in found if target is not None))
        return None if not known or any(target is None for target in found) else known


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision for a subject, and its reason: the rule or the remembered answer; both None for the default."""

    effect: Effect
    rule: Rule | None = None
    answer: RememberedAnswer | None = None
    access: Access | None = None


def parse_rule(text: str, effect: Effect | None = None) -> Rule:
    """A rule from its text; with an `effect` the text is what follows that.

    Raises:
        RuleError: It is none.
    """
    if not text.isprintable():
        raise RuleError(f"{text!r}: a rule is one line without control characters")
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
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise RuleError(f"a pattern has at most {MAX_PATTERN_CHARACTERS} characters")
    return Rule(effect, kind, pattern if colon else None)


def wider_answers(subject: Subject, effect: Literal["allow", "deny"] = "allow") -> tuple[RememberedAnswer, ...]:
    """The wider scopes that "always" could have, from the narrowest on, for a user to choose from."""
    accesses = [access for access in subject.accesses if not access.transparent]
    kinds = {access.kind for access in accesses}
    if len(kinds) != 1 or not accesses:
        return ()
    (kind,) = kinds
    if kind == "execute":
        known = all(
            access.command is not None and access.is_understood and not access.is_elsewhere for access in accesses
        )
        programs = {
            access.command.words[0] for access in accesses if access.command is not None and access.command.words
        }
        return (RememberedAnswer(effect, "program", program=programs.pop()),) if known and len(programs) == 1 else ()
    every = RememberedAnswer(effect, "kind", kind=kind)
    folders = {access.path.rpartition("/")[0] for access in accesses if access.path is not None}
    if len(folders) != 1 or any(access.path is None for access in accesses) or "" in folders:
        return (every,)
    return RememberedAnswer(effect, "folder", kind=kind, folder=folders.pop()), every


def judge(
    rules: Iterable[Rule],
    subject: Subject,
    answers: Sequence[RememberedAnswer] = (),
    default: Effect = "ask",
) -> Decision:
    """The decision for a subject: the strictest of the decisions for its accesses."""
    rules = tuple(rules)
    decisions = [
        decision
        for access in subject.accesses
        if (decision := _judge_access(rules, access, subject, answers, default)) is not None
    ]
    for effect in ("deny", "ask"):
        for decision in decisions:
            if decision.effect == effect:
                return decision
    return decisions[0] if decisions else Decision(default)


def _judge_access(
    rules: Sequence[Rule], access: Access, subject: Subject, answers: Sequence[RememberedAnswer], default: Effect
) -> Decision | None:
    found = _found(rules, access, subject.roots)
    if found is None and access.transparent:
        return None
    effect = default if found is None else found.effect
    doubt = _doubt(rules, access) if effect == "allow" and not access.transparent else None
    if doubt is not None:
        found, effect = doubt, "ask"
    if found is not None and effect != "ask":
        return Decision(effect, found, None, access)
    for answer in answers:
        if _is_covered(answer, access, subject):
            return Decision(answer.effect, None, answer, access)
    return Decision(effect, found, None, access)


_STRICTNESS: dict[Effect, int] = {"allow": 0, "ask": 1, "deny": 2}


def _found(rules: Sequence[Rule], access: Access, roots: Sequence[str]) -> Rule | None:
    """The first rule that matches; of those that match something below the path, the strictest counts as well."""
    found: list[Rule] = []
    is_settled = False
    for rule in rules:
        if not _matches(rule, access, roots):
            if _matches_below(rule, access, roots):
                found.append(rule)
        elif not is_settled:
            is_settled = True
            found.append(rule)
            inside = f"{access.path}/\ufffc/\ufffc"
            if rule.pattern is None or access.path is None or _path_matches(rule, inside, roots):
                # What lies below the path meets this rule first, too.
                break
    return max(found, key=lambda rule: _STRICTNESS[rule.effect], default=None)


def _doubt(rules: Sequence[Rule], access: Access) -> Rule | None:
    """The rule by which an access is asked about although its kind is allowed: it could mean it, or could not.

    The kind of a call that names nothing is the agent's word alone. One that names a path and no kind of its own that
    says what happens to it may do anything with the file.
    """
    kinds = reading("nothing" if access.bare else "a path", access.kind).refused
    if not access.bare and (access.path is None or access.kind in FILE_KINDS):
        return None
    allowed: set[str] = set()
    for rule in rules:
        if rule.effect == "allow":
            allowed |= {rule.kind} if rule.pattern is None else set()
        elif not allowed & {"all", rule.kind} and ("all" in kinds or (rule.kind in kinds and rule.pattern is None)):
            return rule
    return None


def _is_covered(answer: RememberedAnswer, access: Access, subject: Subject) -> bool:
    if answer.scope == "exact" and access.kind == "move" and answer.effect == "allow":
        # Both ends, in their order: two answers do not make a third move.
        moved = [each.target for each in subject.accesses if each.kind == "move" and each.target is not None]
        return bool(moved) and moved == [target for target in answer.targets if _is_moved(target)]
    program = None
    is_certain = access.is_understood and not (access.is_elsewhere and answer.effect == "allow")
    if access.command is not None and is_certain and 0 not in access.command.uncertain:
        program = access.command.words[0] if access.command.words else None
    return answer.covers(access.target, access.kind, access.path, program)


def _is_moved(target: Target) -> bool:
    return isinstance(target, PathTarget) and target.kind == "move"


def _is_of_kind(rule: Rule, access: Access) -> bool:
    return rule.kind in ("all", access.kind) or (
        rule.effect != "allow" and rule.pattern is not None and rule.kind in access.also
    )


def _matches(rule: Rule, access: Access, roots: Sequence[str]) -> bool:
    careful = rule.effect == "allow"
    is_about_files = rule.pattern is not None and rule.kind in ("all", *FILE_KINDS)
    if not careful and is_about_files and any(_path_matches(rule, path, roots) for path in access.mentioned):
        # A pattern may mean a path that the call names beside its command.
        return True
    if not _is_of_kind(rule, access):
        return False
    if rule.pattern is None:
        return True
    if not access.is_known:
        return not careful and not access.bare
    if access.command is not None:
        if careful and access.is_elsewhere and not rule.pattern.startswith("*"):
            return False
        return _command_matches(rule.pattern, access.command, careful=careful)
    candidates = [access.path] if careful else [access.path, access.spelled]
    return any(_path_matches(rule, path, roots) for path in candidates if path is not None)


def _matches_below(rule: Rule, access: Access, roots: Sequence[str]) -> bool:
    """Whether a rule that refuses or asks can match what lies below the path."""
    if rule.effect == "allow" or rule.pattern is None or access.is_alone or not _is_of_kind(rule, access):
        return False
    return any(
        place.matches_below(_letters(rule, path), is_folder=access.is_folder)
        for place in _places(rule, roots)
        for path in (access.path, access.spelled)
        if path is not None
    )


def _command_matches(pattern: str, command: SimpleCommand, *, careful: bool) -> bool:
    """Whether a simple command matches; a careful look wants certainty, any other a possibility."""
    wanted = pattern.split()
    is_open = bool(wanted) and wanted[-1] == "*"
    if is_open:
        wanted = wanted[:-1]
    certain = min(command.uncertain, default=len(command.words))
    if careful:
        # An uncertain word must become one of the further words that a star stands for, or it is not allowed.
        if certain < len(command.words) and (not is_open or certain < len(wanted)):
            return False
        programs: tuple[str, ...] = command.words[:1]
    else:
        programs = program_names(command)
    words = command.words[:certain]
    if careful or certain == len(command.words):
        if len(words) < len(wanted) or (not is_open and len(command.words) != len(wanted)):
            return False
    elif not words:
        return True
    first, rest = (wanted[0], wanted[1:]) if wanted else ("*", [])
    if not any(matches_word(first, program) for program in programs):
        return False
    return all(matches_word(each, word) for each, word in zip(rest, words[1:], strict=False))


def _path_matches(rule: Rule, path: str, roots: Sequence[str]) -> bool:
    return any(place.matches(_letters(rule, path)) for place in _places(rule, roots))


def _places(rule: Rule, roots: Sequence[str]) -> list[Glob]:
    """The pattern at each place where it holds."""
    pattern = rule.pattern or ""
    if pattern.endswith("/"):
        pattern += "**"
    folders = ["/"] if pattern.startswith("/") else roots
    places = [*rule.globs, *(Glob(folder, pattern.lstrip("/")) for folder in folders)]
    return [Glob(_letters(rule, place.folder), _letters(rule, place.pattern)) for place in places]


def _letters(rule: Rule, text: str) -> str:
    """A path or a pattern as a rule reads it: one that refuses takes both spellings of a letter with an accent for one.

    Some file systems do, too.
    """
    return text if rule.effect == "allow" or text.isascii() else unicodedata.normalize("NFC", text)
