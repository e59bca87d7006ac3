"""Who answers permission questions: rules first, then what the user chose before, then the user.

A `Policy` is a callback for `accord.connect(permission=...)`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from accord.client.question import PermissionAnswer, PermissionCallback, PermissionQuestion, called
from accord.errors import AccordError
from accord.session.option import PermissionOption
from accord.session.rules import Effect, Rule, RuleError, Subject, decide, parse_rule
from accord.session.tool import Diff

__all__ = ["Policy", "RulesFileError", "load_rules", "subject_of"]


_PLAIN = re.compile(r"[\w@%+=:,./-]+( [\w@%+=:,./-]+)*")


class RulesFileError(AccordError):
    """A rules file that cannot be used; says where and what was expected. Nothing of it holds."""

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


class Policy:
    """Answers by rules; asks `ask` where they say so, and denies where nobody can be asked.

    `rules` are texts (`"allow read"`, `"deny execute:rm *"`) or `Rule`s; a `file` of such lines comes before them. What
    the user allows or rejects "always" becomes a rule for the session, or in the file with `remember="file"`.
    """

    def __init__(
        self,
        rules: Iterable[str | Rule] = (),
        *,
        ask: PermissionCallback | None = None,
        file: str | os.PathLike[str] | None = None,
        default: Effect = "ask",
        remember: Literal["session", "file", "never"] = "session",
        on_decision: Callable[[PermissionQuestion, Effect, Rule | None], Any] | None = None,
    ) -> None:
        self._path = None if file is None else Path(file)
        self._rules = [rule if isinstance(rule, Rule) else parse_rule(rule) for rule in rules]
        self._from_file = [] if self._path is None or not self._path.exists() else load_rules(self._path)
        self._ask = ask
        self._default: Effect = default
        self._remember = remember
        self._on_decision = on_decision
        self._chosen: dict[str, list[Rule]] = {}
        self.denied_unasked = 0
        """How many questions were denied because nobody could be asked."""
        self._writing = asyncio.Lock()

    @property
    def rules(self) -> list[Rule]:
        """The rules that hold for every session, in order."""
        return [*self._from_file, *self._rules]

    async def __call__(self, question: PermissionQuestion) -> PermissionAnswer:
        """The answer to one question."""
        subject = subject_of(question)
        chosen = self._chosen.get(question.session.id, [])
        effect, rule = decide([*chosen, *self.rules], subject, self._default)
        if self._on_decision is not None:
            self._on_decision(question, effect, rule)
        if effect == "allow":
            return question.allow()
        if effect == "deny":
            return question.reject()
        if self._ask is None:
            self.denied_unasked += 1
            return question.reject()
        answer: PermissionAnswer = await called(self._ask, question)
        await self._note(question, subject, answer)
        return answer

    async def _note(self, question: PermissionQuestion, subject: Subject, answer: PermissionAnswer) -> None:
        option = answer if isinstance(answer, PermissionOption) else _offered(question, answer)
        if option is None or self._remember == "never" or not option.kind.endswith("_always"):
            return
        rule = rule_for(subject, "allow" if option.kind.startswith("allow") else "deny")
        if self._remember == "file" and self._path is not None and _is_one_line(rule):
            async with self._writing:
                await asyncio.to_thread(_append, self._path, rule)
            self._from_file.append(rule)
        else:
            self._chosen.setdefault(question.session.id, []).insert(0, rule)


def rule_for(subject: Subject, effect: Effect) -> Rule:
    """The rule that "always" means: this very command, or every call of the kind."""
    if subject.kind == "execute" and subject.command is not None:
        # Words that a pattern would read otherwise are remembered as they are, and never written down.
        return Rule(effect, "execute", subject.command, exact=not _PLAIN.fullmatch(subject.command))
    return Rule(effect, subject.kind)


def _offered(question: PermissionQuestion, answer: PermissionAnswer) -> PermissionOption | None:
    if isinstance(answer, bool):
        return question.allow() if answer else question.reject()
    return next((option for option in question.options if option.id == answer), None)


def subject_of(question: PermissionQuestion) -> Subject:
    """What the rules are asked: kind, files and command, from all that the agent said about it."""
    tool, roots = question.tool, tuple(question.session.roots)
    if question.command is not None:
        return Subject("execute", (), question.command.command, roots)
    if tool is None:
        return Subject(roots=roots)
    paths = dict.fromkeys(location.path for location in tool.locations)
    for item in tool.content:
        if isinstance(item, Diff):
            for change in item.changes:
                paths.update(dict.fromkeys(path for path in (change.path, change.old_path) if path))
    return Subject(
        tool.kind, tuple(os.path.normpath(path) for path in paths), _command(tool.raw_input, tool.title), roots
    )


def _command(raw_input: Any, title: str | None) -> str | None:
    """The command of a tool call: agents put it under different names, some only into the title."""
    if isinstance(raw_input, dict):
        for key in ("command", "cmd", "script"):
            value = raw_input.get(key)
            if isinstance(value, str):
                return value
            if isinstance(value, list) and all(isinstance(word, str) for word in value):
                return shlex.join(value)
    return title


def load_rules(path: str | os.PathLike[str]) -> list[Rule]:
    """The rules of a file: one a line (`#` begins a remark), or a JSON list of such lines.

    Raises:
        RulesFileError: It cannot be read or understood.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RulesFileError(f"the rules file {place} cannot be read: {error}", path=str(place)) from error
    if text.lstrip().startswith("["):
        return _from_json(text, place)
    rules = []
    for number, line in enumerate(text.splitlines(), 1):
        rule = line.partition("#")[0].strip()
        if rule:
            rules.append(_parsed(rule, place, number))
    return rules


def _from_json(text: str, place: Path) -> list[Rule]:
    try:
        lines = json.loads(text)
    except ValueError as error:
        raise RulesFileError(f"the rules file {place} is no JSON: {error}", path=str(place)) from error
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise RulesFileError(f"the rules file {place} must be a list of texts", path=str(place))
    return [_parsed(line, place, None) for line in lines]


def _parsed(text: str, place: Path, line: int | None) -> Rule:
    try:
        return parse_rule(text)
    except RuleError as error:
        where = f"{place}" if line is None else f"{place}, line {line}"
        raise RulesFileError(f"{where}: {error}", path=str(place), line=line) from error


def _is_one_line(rule: Rule) -> bool:
    """Whether a line of a file means this very rule: what an agent calls its command must not write other rules."""
    text = str(rule)
    if len(text.splitlines()) != 1 or "#" in text:
        return False
    try:
        return parse_rule(text) == rule
    except RuleError:
        return False


def _append(path: Path, rule: Rule) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    before: Sequence[str] = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if "".join(before).lstrip().startswith("["):
        lines = [*json.loads("\n".join(before)), str(rule)]
        content = json.dumps(lines, indent=2) + "\n"
    else:
        content = "\n".join([*before, str(rule)]) + "\n"
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(content, encoding="utf-8")
    temporary.replace(path)
