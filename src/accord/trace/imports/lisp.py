"""The importer of acp.el's traffic files: a small reader of Lisp data, and the messages of its association lists.

acp.el parsed the messages before it wrote them, and `false`, `null` and `{}` all became `nil`: imported messages differ
from those on the wire. The reader knows lists, pairs, vectors, strings, numbers and symbols; it evaluates nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from accord.trace.imports.source import STEP_SECONDS, TraceSource, json_bytes, note, refuse, stderr, text
from accord.trace.reader import TraceRecord

__all__ = ["read_lisp", "read_lisp_values"]

MAX_DEPTH = 200
_TOKEN = re.compile(
    r"""[\s;]*?(?:;[^\n]*\n\s*)*\s*("(?:[^"\\]|\\.)*+"|[()\[\]]|\.(?=[\s()])|'|[^\s()\[\]"';]+)""", re.DOTALL
)
_CLOSING = {"(": ")", "[": "]"}
_INTEGER = re.compile(r"[+-]?\d+\.?")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{1,6}|\n|.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}
_DIRECTIONS = {"incoming": ("agent", "client"), "outgoing": ("client", "agent")}


class LispError(ValueError):
    """A text that is no Lisp data."""


class Symbol(NamedTuple):
    """A symbol or a keyword, without its colon."""

    name: str


class LispList(NamedTuple):
    """A list; `tail` is the value behind a dot."""

    items: list[Any]
    tail: Any = None


class _Level:
    """A list or a vector that is not closed yet."""

    def __init__(self, closing: str) -> None:
        self.closing = closing
        self.items: list[Any] = []
        self.dot: int | None = None
        """The number of items before the dot."""

    def value(self) -> Any:
        if self.closing == "]":
            return self.items
        if self.dot is not None:
            if len(self.items) != self.dot + 1:
                raise LispError("a pair with more or less than two halves")
            return LispList(self.items[:-1], self.items[-1])
        return LispList(self.items) if self.items else None


def read_lisp_values(source: str) -> list[Any]:
    """The values of a text, one after the other, without recursion.

    Raises:
        LispError: A bracket is not closed or not opened, a token is none, or the nesting is too deep.
    """
    levels = [_Level("")]
    position = 0
    while found := _TOKEN.match(source, position):
        position = found.end()
        _take(levels, found[1])
    if source[position:].strip():
        raise LispError("a text that is no Lisp")
    if len(levels) > 1:
        raise LispError("a list that is not closed")
    return levels[0].items


def _take(levels: list[_Level], word: str) -> None:
    if word in _CLOSING:
        if len(levels) > MAX_DEPTH:
            raise LispError("lists that are nested too deeply")
        levels.append(_Level(_CLOSING[word]))
    elif word in _CLOSING.values():
        if word != levels[-1].closing:
            raise LispError("a bracket that closes nothing")
        value = levels.pop().value()
        levels[-1].items.append(value)
    elif word == ".":
        if not levels[-1].items:
            raise LispError("a dot outside of a pair")
        levels[-1].dot = len(levels[-1].items)
    elif word != "'":
        levels[-1].items.append(_atom(word))


def _atom(token: str) -> Any:
    if token.startswith('"'):
        return _ESCAPE.sub(_unescaped, token[1:-1])
    if _INTEGER.fullmatch(token) and len(token) < 400:  # noqa: PLR2004 - Python converts no longer ones
        return int(token.rstrip("."))
    try:
        number = float(token) if token[0] in "+-.0123456789" else None
    except ValueError:
        number = None
    if number is not None:
        return number
    word = token.removeprefix(":")
    return None if word == "nil" else Symbol(word)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "uUx" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else "\ufffd"  # noqa: PLR2004 - the last code point
    return _CONTROLS.get(code, code)


# --- association lists to messages


def _json_of(value: Any) -> Any:
    """A value of JSON, from data whose depth the reader bounds."""
    if isinstance(value, LispList):
        if all(_is_pair(each) for each in value.items) and value.items and value.tail is None:
            return {_key(each.items[0]): _json_of(_rest(each)) for each in value.items}
        return [_json_of(each) for each in value.items]
    if isinstance(value, list):
        return [_json_of(each) for each in value]
    if isinstance(value, Symbol):
        return {"t": True, "true": True, "false": False, "json-false": False, "null": None}.get(value.name, value.name)
    return value


def _is_pair(value: Any) -> bool:
    return isinstance(value, LispList) and bool(value.items) and isinstance(value.items[0], Symbol | str)


def _key(value: Any) -> str:
    return value.name if isinstance(value, Symbol) else str(value)


def _rest(pair: LispList) -> Any:
    """The value of a pair: `(key . value)`, or `(key item item)`, which is a pair with a list."""
    if pair.tail is not None:
        return pair.tail if len(pair.items) == 1 else LispList(pair.items[1:], pair.tail)
    return LispList(pair.items[1:]) if len(pair.items) > 1 else None


def read_lisp(source: TraceSource) -> Iterator[TraceRecord]:
    """acp.el's list of messages, each with a direction, a kind and an object.

    Raises:
        TraceFileError: It is no Lisp data.
    """
    try:
        values = read_lisp_values(source.document().decode("utf-8", "replace"))
    except LispError as error:
        refuse(source, f"it begins as a traffic file of acp.el and has {error}")
    records = [_record(entry, place * STEP_SECONDS) for place, entry in enumerate(_entries(values))]
    if not any(record.type == "text" for record in records):
        refuse(source, "it begins as a traffic file of acp.el and has no message")
    yield note(0.0, "acp.el keeps no difference between false, null and {}: all of them are null here")
    yield from records


def _entries(values: list[Any]) -> list[Any]:
    """The entries of all values: of lists of entries, and of values that are entries themselves."""
    found: list[Any] = []
    for value in values:
        is_list = isinstance(value, LispList) and not (value.items and _is_pair(value.items[0]))
        found += value.items if is_list else [value]
    return found


def _record(entry: Any, seconds: float) -> TraceRecord:
    fields = (
        {_key(each.items[0]): _rest(each) for each in entry.items if _is_pair(each)}
        if isinstance(entry, LispList)
        else {}
    )
    direction = fields.get("direction")
    ends = _DIRECTIONS.get(direction.name) if isinstance(direction, Symbol) else None
    message = _json_of(fields.get("object"))
    if isinstance(direction, Symbol) and direction.name == "stderr":
        return stderr(seconds, str(message).encode("utf-8", "replace"))
    if ends is None or not isinstance(message, dict):
        return note(seconds, "an entry could not be read")
    return text(seconds, *ends, json_bytes(_message(message)))


def _message(found: dict[str, Any]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", **{key: value for key, value in found.items() if key != "jsonrpc"}}
    if "method" not in message and "error" not in message:
        message.setdefault("result", None)
    return message
