"""The reader of JSON config values, key by key, with reports of the keys that hold wrong values.

A wrong value is a problem and the reading goes on, so that a user sees all problems at once. A key that was not read
for is a warning. Values are never quoted in either: they may be secrets.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from accord.config.errors import ConfigError, Problem

__all__ = ["MAX_FILE_BYTES", "Notes", "Table", "join_key", "open_table", "parse_object", "read_bytes"]

MAX_FILE_BYTES = 4 * 1024 * 1024

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_KINDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}
_KIND_PREFIXES = {"a number": "a whole number"}


class Notes:
    """The problems and warnings of one file."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.warnings: list[str] = []

    def problem(self, key: str, expected: str, found: Any = ...) -> None:
        """Report a wrong value at a key; only its kind is reported."""
        kind = "" if found is ... else _KINDS.get(type(found), "")
        # "expected a text that is not empty, got a text" would not help.
        is_repeated = not kind or expected.startswith(_KIND_PREFIXES.get(kind, kind))
        self.problems.append(Problem(key, expected if is_repeated else f"{expected}, not {kind}"))

    def warn(self, key: str, sentence: str) -> None:
        """Report a harmless oddity at a key."""
        self.warnings.append(f"{key}: {sentence}" if key else sentence)


def join_key(parent: str, name: str) -> str:
    """The path of a key below another; a key that is no plain word is quoted, so that it cannot imitate a path."""
    if not _PLAIN.fullmatch(name):
        return f"{parent}[{json.dumps(name)}]"
    return f"{parent}.{name}" if parent else name


class Table:
    """One JSON object, read key by key; `finish` reports the keys that were not read."""

    def __init__(self, values: Mapping[str, Any], key: str, notes: Notes) -> None:
        self._values = values
        self._read: dict[str, None] = {}
        self._skipped: set[str] = set()
        self.key = key
        self.notes = notes

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def kind(self, name: str) -> type:
        """The kind of value at a key, `NoneType` for none."""
        return type(self._values.get(name))

    def text(self, name: str, *, needed: bool = False) -> str | None:
        """A non-empty text, required or optional."""
        value = self._take(name)
        if isinstance(value, str) and value.strip() and "\0" not in value:
            return value
        if value is not None or needed:
            self._wrong(name, "a text that is not empty")
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; none is an empty one."""
        value = self._take(name)
        if isinstance(value, list):
            wrong = [place for place, each in enumerate(value) if not isinstance(each, str) or "\0" in each]
            for place in wrong:
                self.notes.problem(f"{join_key(self.key, name)}[{place}]", "a text", value[place])
            return () if wrong else tuple(value)
        if value is not None:
            self._wrong(name, "a list of texts")
        return ()

    def variables(self, name: str) -> dict[str, str | None]:
        """Environment variables; null unsets one."""
        value = self._take(name)
        if not isinstance(value, dict):
            if value is not None:
                self._wrong(name, "an object of texts")
            return {}
        found: dict[str, str | None] = {}
        for variable, content in value.items():
            key = join_key(join_key(self.key, name), variable)
            if not variable or "=" in variable or "\0" in variable:
                self.notes.problem(key, "a variable's name, without '='")
            elif content is None or (isinstance(content, str) and "\0" not in content):
                found[variable] = content
            else:
                self.notes.problem(key, "a text, or null to unset the variable", content)
        return found

    def pairs(self, name: str) -> dict[str, str]:
        value = self._take(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._wrong(name, "an object of texts")
            return {}
        for each, content in value.items():
            if not isinstance(content, str):
                self.notes.problem(join_key(join_key(self.key, name), each), "a text", content)
        return {each: content for each, content in value.items() if isinstance(content, str)}

    def integer(self, name: str, low: int, high: int) -> int | None:
        """A whole number within bounds."""
        value = self._take(name)
        if type(value) is int and low <= value <= high:
            return value
        if value is not None:
            self._wrong(name, f"a whole number from {low} to {high}")
        return None

    def version(self, newest: int) -> None:
        """The version of the format, under `version`; one that is later than `newest` is a problem.

        Only a whole number counts: other programs have other values there.
        """
        value = self._take("version")
        if type(value) is int and not 1 <= value <= newest:
            expected = f"{newest} at most: this file is for a later version of Accord; update Accord"
            self.notes.problem("version", expected if value > newest else "a whole number from 1 on")

    def flag(self, name: str) -> bool:
        """True or false; none is false."""
        value = self._take(name)
        if value is not None and not isinstance(value, bool):
            self._wrong(name, "true or false")
        return value is True

    def choice(self, name: str, options: Sequence[str]) -> str | None:
        value = self._take(name)
        if isinstance(value, str) and value in options:
            return value
        if value is not None:
            self.notes.problem(join_key(self.key, name), f"one of {', '.join(options)}")
        return None

    def tables(self, name: str) -> list[Table]:
        value = self._take(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self._wrong(name, "a list of objects")
            return []
        key = join_key(self.key, name)
        return [*self._tables((f"{key}[{place}]", each) for place, each in enumerate(value))]

    def named_tables(self, name: str) -> dict[str, Table]:
        """An object of objects, by name."""
        value = self._take(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._wrong(name, "an object of objects, by name")
            return {}
        key = join_key(self.key, name)
        found: dict[str, Table] = {}
        for each, content in value.items():
            for table in self._tables([(join_key(key, each), content)]):
                found[each] = table
        return found

    def table(self, name: str) -> Table | None:
        value = self._take(name)
        if value is None:
            return None
        return next(self._tables([(join_key(self.key, name), value)]), None)

    def skip(self, *names: str) -> None:
        """Ignore known keys of other programs."""
        self._skipped.update(names)

    def finish(self) -> None:
        """Report the keys that were not read."""
        for name in self._values:
            if name not in self._read and name not in self._skipped:
                near = difflib.get_close_matches(name, list(self._read), 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                self.notes.warn(join_key(self.key, name), f"unknown key, ignored{hint}")

    def _tables(self, found: Iterable[tuple[str, Any]]) -> Iterator[Table]:
        for key, value in found:
            if isinstance(value, dict):
                yield Table(value, key, self.notes)
            else:
                self.notes.problem(key, "an object", value)

    def _take(self, name: str) -> Any:
        self._read[name] = None
        return self._values.get(name)

    def _wrong(self, name: str, expected: str) -> None:
        if name in self._values:
            self.notes.problem(join_key(self.key, name), expected, self._values[name])
        else:
            self.notes.problem(join_key(self.key, name), expected)


def read_bytes(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes | None:
    """The bytes of a config file; None if there is none.

    Only a regular file is opened, and not more of it read than a config file has: the project's one may be a link to
    anything.

    Raises:
        ConfigError: It exists and cannot be read.
    """
    try:
        if not path.is_file():
            if path.exists():
                raise ConfigError(str(path), [Problem("", "a regular file")])
            return None
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise ConfigError(str(path), [Problem("", f"a file that can be read ({error.strerror})")]) from error
    if len(content) > max_bytes:
        raise ConfigError(str(path), [Problem("", f"a file of at most {max_bytes} bytes")])
    return content


def parse_object(content: bytes, path: str) -> tuple[dict[str, Any], list[str]]:
    """The JSON object of a file, and its duplicate keys, of which the last counts.

    Raises:
        ConfigError: It holds none.
    """
    repeated: list[tuple[dict[str, Any], list[str]]] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated.append((found, [name for name, count in counts.items() if count > 1]))
        return found

    try:
        text = content.decode("utf-8-sig")
        if not text.strip():
            raise ConfigError(path, [Problem("", "a JSON object; the file is empty")])
        values = json.loads(text, object_pairs_hook=collect)
    except UnicodeDecodeError as error:
        raise ConfigError(path, [Problem("", f"UTF-8 (byte {error.start} is none)")]) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(path, [Problem("", f"JSON ({where}: {error.msg})")]) from error
    except (RecursionError, ValueError) as error:
        raise ConfigError(path, [Problem("", "JSON of a sane depth and size")]) from error
    if not isinstance(values, dict):
        found = _KINDS.get(type(values), "this")
        raise ConfigError(path, [Problem("", f"a JSON object, not {found}")])
    return values, _paths_of(values, repeated) if repeated else []


def _paths_of(values: dict[str, Any], repeated: list[tuple[dict[str, Any], list[str]]]) -> list[str]:
    names_of = {id(found): names for found, names in repeated}
    paths: list[str] = []
    left: list[tuple[str, Any]] = [("", values)]
    while left:
        key, value = left.pop()
        if isinstance(value, dict):
            paths += [join_key(key, name) for name in names_of.get(id(value), ())]
            left += [(join_key(key, name), each) for name, each in value.items()]
        elif isinstance(value, list):
            left += [(f"{key}[{place}]", each) for place, each in enumerate(value)]
    # A duplicate inside a value that a later key replaced has no path; that key has.
    return sorted(paths)


def open_table(content: bytes, path: str, notes: Notes) -> Table:
    """The object of a file, as a `Table`.

    Raises:
        ConfigError: It holds none.
    """
    values, repeated = parse_object(content, path)
    for key in repeated:
        notes.warn(key, "this key occurs more than once; the last one counts")
    return Table(values, "", notes)
