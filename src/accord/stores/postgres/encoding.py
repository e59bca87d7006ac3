"""Values for PostgreSQL: escaped texts, arrays in its binary format, and the frequent statements that take those.

Its texts are UTF-8 without NUL. A session id, a path or a title may be any Python string: half an emoji, a path that is
no UTF-8, a NUL. A backslash begins an escape, and is escaped itself; every other text is stored as it is and can be
read in psql.

An append is the one statement that every turn waits for. Planned once for a connection, and with values that neither
side parses, it takes half of the CPU in the server and a third in the client.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Sequence

__all__ = [
    "FrequentStatement",
    "array_of_bytes",
    "array_of_numbers",
    "array_of_texts",
    "array_of_truths",
    "escaped",
    "unescaped",
]

# By the numbers that PostgreSQL's catalogue gives to the types of elements.
_BOOLEAN, _BYTEA, _BIGINT, _TEXT = 16, 17, 20, 25

_HEAD = struct.Struct("!iiIii")
_SIZE = struct.Struct("!i")
_NUMBER = struct.Struct("!iq")
_NULL = _SIZE.pack(-1)
_TRUTHS = (_SIZE.pack(1) + b"\0", _SIZE.pack(1) + b"\1")

_SPECIAL = re.compile("[\\\\\x00\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4})")


def escaped(text: str) -> str:
    """A text as PostgreSQL takes it; two different texts never become one."""
    return _SPECIAL.sub(lambda found: "\\\\" if found[0] == "\\" else f"\\u{ord(found[0]):04x}", text)


def unescaped(text: str) -> str:
    """The text that was escaped."""
    return _ESCAPE.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), text)


class FrequentStatement:
    """A statement with `$1` for its values, and the name under which a connection prepares it.

    The name is that of the text: where another client of a pooler has prepared it on the same server, it is the same
    statement.
    """

    __slots__ = ("name", "sql")

    def __init__(self, topic: str, sql: str) -> None:
        self.sql = sql.encode()
        self.name = f"accord_{topic}_{hashlib.sha256(self.sql).hexdigest()[:16]}".encode()


def array_of_texts(texts: Sequence[str]) -> bytes:
    """For `text[]`; of texts that PostgreSQL takes, in UTF-8."""
    return _array(_TEXT, len(texts), map(_sized, map(str.encode, texts)))


def array_of_bytes(values: Sequence[bytes]) -> bytes:
    """For `bytea[]`."""
    return _array(_BYTEA, len(values), map(_sized, values))


def array_of_numbers(numbers: Sequence[int | None]) -> bytes:
    """For `bigint[]`; None is null."""
    return _array(_BIGINT, len(numbers), (_NULL if each is None else _NUMBER.pack(8, each) for each in numbers))


def array_of_truths(truths: Sequence[bool]) -> bytes:
    """For `boolean[]`."""
    return _array(_BOOLEAN, len(truths), (_TRUTHS[each] for each in truths))


def _array(kind: int, count: int, elements: Iterable[bytes]) -> bytes:
    # One dimension that begins at 1. The second field, whether there are nulls, is not read: their size shows it.
    return _HEAD.pack(1, 0, kind, count, 1) + b"".join(elements)


def _sized(value: bytes) -> bytes:
    return _SIZE.pack(len(value)) + value
