"""What could be meant by what is being typed: slash commands at the begin, files behind an `@`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from accord.cli.chat.mention import mention_of
from accord.display import SafeText, exact, filled
from accord.session.option import Command

__all__ = ["Completion", "Proposal", "complete_command", "complete_file", "file_word"]

MAX_PROPOSALS = 50
_COMMAND = re.compile(r"/(\S*)\Z")
_FILE = re.compile(r'(?:^|(?<=[\s("\']))@("?)([^\s"]*)\Z')


@dataclass(frozen=True, slots=True)
class Proposal:
    """One of them: what is put in, and what is said about it."""

    text: SafeText
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """Proposals for the text between `start` and the cursor."""

    start: int
    proposals: tuple[Proposal, ...]


def complete_command(before: str, commands: Sequence[Command]) -> Completion | None:
    """The commands that begin so, then those that have it in their names."""
    match = _COMMAND.match(before)
    if match is None:
        return None
    typed = match[1].lower()
    first = [each for each in commands if each.name.lower().startswith(typed)]
    second = [each for each in commands if typed in each.name.lower() and each not in first]
    proposals = [_command(each) for each in (*first, *second)][:MAX_PROPOSALS]
    return Completion(0, tuple(proposals)) if proposals else None


def _command(command: Command) -> Proposal:
    hint = f" <{command.hint}>" if command.hint else ""
    return Proposal(filled("/{} ", command.name), f"/{command.name}{hint}", command.description)


def file_word(before: str) -> str | None:
    """What is typed behind an `@`, if the cursor stands at such a word."""
    match = _FILE.search(before)
    return None if match is None else match[2]


def complete_file(before: str, files: Iterable[str]) -> Completion | None:
    """The files that match best: by name, by path, then by letters in order."""
    match = _FILE.search(before)
    if match is None:
        return None
    typed = match[2].lower()
    ranked = sorted(
        (rank, len(path), path)
        for path in files
        # A name that cannot be shown as it is cannot be typed either.
        if exact(path) == path and (rank := _rank(typed, path.lower())) is not None
    )
    proposals = [Proposal(filled("{} ", mention_of(path)), path) for _, _, path in ranked[:MAX_PROPOSALS]]
    return Completion(match.start(), tuple(proposals)) if proposals else None


def _rank(typed: str, path: str) -> int | None:
    name = path.rstrip("/").rsplit("/", 1)[-1]
    if name.startswith(typed):
        return 0
    if path.startswith(typed):
        return 1
    if typed in path:
        return 2
    letters = iter(path)
    return 3 if all(letter in letters for letter in typed) else None
