"""The commands in the input of a tool call; how an input is read: its texts that are JSON, its digest, its limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from accord.session.input_names import (
    ARGUMENT_KEYS,
    COMMAND_KEYS,
    DIRECTORY_KEYS,
    ENVIRONMENT_KEYS,
    LINE_KEYS,
    STANDARD_INPUT_KEYS,
    TEXT_KEYS,
    field_name,
)

# A text that is larger is not read, nor an object that is nested more deeply.
MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class CommandClaim:
    """A command that the call runs: an argv, or a line for a shell; neither where it could not be read.

    `input_digest` identifies the standard input that it is given.
    """

    argv: tuple[str, ...] | None = None
    line: str | None = None
    directory: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    input_digest: str | None = None


def opened(value: Any) -> Any:
    """The value; a text that is a JSON object or list is decoded, because a model's arguments may come as a text."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["} and len(value) <= MAX_CHARACTERS:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def digest_of(value: Any) -> str | None:
    """The digest of an input, independent of the order of its keys."""
    try:
        text = json.dumps(value, sort_keys=True, default=repr)
    except (ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def input_commands(value: Any, depth: int) -> Iterator[CommandClaim]:
    """The commands of nested objects, each with the directory and environment of the same object."""
    value = opened(value)
    if _is_too_deep(value, depth):
        yield CommandClaim()
    elif isinstance(value, list):
        for each in value:
            yield from input_commands(each, depth + 1)
    elif isinstance(value, dict):
        fields = [(field_name(key), each) for key, each in value.items()]
        for name, each in fields:
            if name in COMMAND_KEYS:
                yield from _Beside(fields).commands(name, each, depth)
            elif name not in TEXT_KEYS or not isinstance(each, str):
                yield from input_commands(each, depth + 1)


def _is_too_deep(value: Any, depth: int) -> bool:
    """Whether a value is an object that is not read: nested beyond the limit, or a text that is too large."""
    if isinstance(value, str):
        return len(value) > MAX_CHARACTERS and value.lstrip()[:1] in {"{", "["}
    return depth > MAX_DEPTH and bool(value) and isinstance(value, dict | list)


_UNREADABLE: Any = object()


def _one(fields: Sequence[tuple[str, Any]], keys: frozenset[str]) -> Any:
    """The one value under any of these keys; two that differ are not readable: which one counts is unknown."""
    values = [each for name, each in fields if name in keys and each is not None]
    if any(each != values[0] for each in values):
        return _UNREADABLE
    return values[0] if values and values[0] not in ("", [], {}) else None


class _Beside:
    """The fields beside a command in the same object: its arguments, directory and environment."""

    def __init__(self, fields: Sequence[tuple[str, Any]]) -> None:
        directory = _one(fields, DIRECTORY_KEYS)
        environment = _one(fields, ENVIRONMENT_KEYS)
        self._arguments = _one(fields, ARGUMENT_KEYS)
        given = [each for each in fields if each[0] in STANDARD_INPUT_KEYS and each[1] not in (None, "", [], {})]
        self._input_digest = digest_of(given) if given else None
        self._directory: str | None = directory if isinstance(directory, str) else None
        self._environment = None if environment is _UNREADABLE else _environment(environment)
        self._is_readable = (
            self._environment is not None
            and self._arguments is not _UNREADABLE
            and (directory is None or isinstance(directory, str))
        )

    def commands(self, name: str, value: Any, depth: int) -> Iterator[CommandClaim]:
        """The commands under one name: a line, an argv, several of either, or an object of its own."""
        if value in ("", [], {}) or not isinstance(value, str | list | dict):
            # `"shell": true` and the like are options of a run, not commands.
            return
        if not self._is_readable:
            yield CommandClaim()
        elif isinstance(value, str):
            yield self._line(name, value)
        elif isinstance(value, list) and name in {"commands", "cmds"}:
            for each in value:
                yield from self.commands("line", each, depth)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            yield CommandClaim(tuple(value), None, self._directory, self._environment or (), self._input_digest)
        else:
            yield from list(input_commands(value, depth + 1)) or [CommandClaim(directory=self._directory)]

    def _line(self, name: str, line: str) -> CommandClaim:
        arguments, environment = self._arguments, self._environment or ()
        if name in LINE_KEYS or arguments in (None, "", {}):
            return CommandClaim(None, line, self._directory, environment, self._input_digest)
        if isinstance(arguments, list) and all(isinstance(each, str) for each in arguments):
            # A program beside its arguments is one argv.
            return CommandClaim((line, *arguments), None, self._directory, environment, self._input_digest)
        return CommandClaim(directory=self._directory)


def _environment(value: Any) -> tuple[tuple[str, str], ...] | None:
    """Names and values; None where they cannot be read."""
    if value is None:
        return ()
    if isinstance(value, dict):
        return tuple((str(name), str(each)) for name, each in value.items())
    if isinstance(value, list) and all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in value):
        return tuple((each["name"], str(each.get("value", ""))) for each in value)
    return None
