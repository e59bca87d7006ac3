"""What a permission question is about, as facts: commands, files, input. The agent's title for it is no fact.

The facts are all that was ever said of the call, also what a later report replaced: that is what rules judge, and what
"always" remembers.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from accord.cli.show.tool import place_of
from accord.client import PermissionQuestion
from accord.display import SafeText, clip, exact, filled, json_text, own
from accord.session.agent_ask import StartTerminal
from accord.session.claims import CallClaims, CommandClaim, claims_of
from accord.session.entry import ToolCall
from accord.session.tool import Diff

__all__ = ["Fact", "asked_commands", "facts_of", "shown_command"]

MAX_FACTS = 60
COMMAND_CHARACTERS = 4000
INPUT_CHARACTERS = 2000
KIND_CHARACTERS = 20
FILE_KINDS = frozenset({"read", "edit", "delete", "move"})


class Fact(NamedTuple):
    """One line: a word for what it is, and what was said."""

    word: SafeText
    text: SafeText


def asked_commands(question: PermissionQuestion) -> list[CommandClaim]:
    """Every command that the question is about."""
    request = question.request
    if isinstance(request, StartTerminal):
        directory = None if question.command is None else question.command.cwd
        return [CommandClaim((request.command, *request.args), None, directory, tuple(request.env))]
    found = list(_claims(question).commands)
    if question.command is not None:
        found.append(CommandClaim(None, question.command.command, question.command.cwd))
    return list(dict.fromkeys(found))


def shown_command(claim: CommandClaim) -> SafeText:
    """A command as one would type it."""
    if claim.argv is None and claim.line is None:
        return own("(a command that cannot be read)")
    text = shlex.join(claim.argv) if claim.argv is not None else claim.line or ""
    shown = exact(text, COMMAND_CHARACTERS)
    return shown if len(text) <= COMMAND_CHARACTERS else filled("{} ({} characters)", shown, len(text))


def facts_of(question: PermissionQuestion, *, with_files: bool = False) -> list[Fact]:
    """What is asked; `with_files` also the files that the line of the call names already."""
    found = list(_facts(question, with_files=with_files))
    if len(found) <= MAX_FACTS:
        return found
    return [*found[:MAX_FACTS], Fact(own("more"), filled("{} lines that are not shown", len(found) - MAX_FACTS))]


def _facts(question: PermissionQuestion, *, with_files: bool) -> Iterator[Fact]:
    cwd, claims, call = question.session.cwd, _claims(question), question.tool
    commands = asked_commands(question)
    for command in commands:
        yield from _command_facts(command, cwd)
    named = set() if with_files or call is None or commands else _named(call, cwd)
    for claim in dict.fromkeys(claims.paths):
        if question.request is None and _absolute(claim.path, cwd) not in named:
            place = exact(place_of(claim.path, cwd)) if claim.path else own("(a file that is not named)")
            yield Fact(exact(claim.kind, KIND_CHARACTERS), place)
    is_unclear = any(command.argv is None and command.line is None for command in commands)
    if call is not None and call.raw_input is not None and (is_unclear or not (commands or claims.paths)):
        yield Fact(own("input"), json_text(call.raw_input, None, INPUT_CHARACTERS))
    for each in question.open_calls if call is None and question.command is None else ():
        yield from _open_call(each, cwd)


def _claims(question: PermissionQuestion) -> CallClaims:
    if question.claims is not None:
        return question.claims
    return CallClaims() if question.tool is None else claims_of(question.tool)


def _command_facts(command: CommandClaim, cwd: str) -> Iterator[Fact]:
    yield Fact(own("run"), shown_command(command))
    if command.directory and _absolute(command.directory, cwd) != _absolute(".", cwd):
        yield Fact(own("in"), exact(command.directory))
    if command.environment:
        changes = " ".join(f"{name}={shlex.quote(value)}" for name, value in command.environment)
        yield Fact(own("with"), exact(changes, COMMAND_CHARACTERS))


def _open_call(call: ToolCall, cwd: str) -> Iterator[Fact]:
    yield Fact(own("open"), filled("{} {}", exact(call.kind, KIND_CHARACTERS), exact(call.title or call.id, 200)))
    claims = claims_of(call)
    for command in claims.commands:
        yield from _command_facts(command, cwd)
    for claim in claims.paths:
        yield Fact(exact(claim.kind, KIND_CHARACTERS), exact(place_of(claim.path, cwd)))
    if call.raw_input is not None and not claims.commands and not claims.paths:
        yield Fact(own("input"), clip(json_text(call.raw_input, None, INPUT_CHARACTERS), INPUT_CHARACTERS))


def _named(call: ToolCall, cwd: str) -> set[str]:
    """The files that the line of a call names."""
    if call.kind not in FILE_KINDS:
        return set()
    places = [location.path for location in call.locations]
    for item in call.content:
        if isinstance(item, Diff) and not places:
            places = [change.path for change in item.changes]
    return {_absolute(path, cwd) for path in places}


def _absolute(path: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, path.removeprefix("file://")))  # noqa: PTH118 - no look at the disk
