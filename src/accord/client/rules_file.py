"""Rules files: a text for people, one rule a line, or a JSON list of such lines. They are read and never written."""

from __future__ import annotations

import json
import os
from pathlib import Path

from accord.errors import AccordError
from accord.session.rules import Rule, RuleError, parse_rule

__all__ = ["RulesFileError", "load_rules"]

MAX_BYTES = 1024 * 1024


class RulesFileError(AccordError):
    """A rules file that cannot be used; says where and what was expected. Nothing of it holds."""

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


def load_rules(path: str | os.PathLike[str]) -> list[Rule]:
    """The rules of a file: one per line, ended by a line feed alone (`#` begins a remark), or a JSON list of rules.

    Raises:
        RulesFileError: It cannot be read or understood.
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RulesFileError(f"the rules file {place} cannot be read: {error}", path=str(place)) from error
    if len(data) > MAX_BYTES:
        raise RulesFileError(f"the rules file {place} is larger than {MAX_BYTES} bytes", path=str(place))
    if text.lstrip().startswith("["):
        return _from_json(text, place)
    rules = []
    # Not `splitlines`: it knows nine further separators, which no editor shows as the end of a line.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.isprintable():
            odd = next(character for character in line if not character.isprintable())
            message = f"{place}, line {number}: {odd!r} is not allowed in a rules file; lines end with \\n alone"
            raise RulesFileError(message, path=str(place), line=number)
        rule = line.partition("#")[0].strip()
        if rule:
            rules.append(_parsed(rule, place, number))
    return rules


def _from_json(text: str, place: Path) -> list[Rule]:
    try:
        lines = json.loads(text)
    except (ValueError, RecursionError) as error:
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
