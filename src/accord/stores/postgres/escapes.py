"""The texts of PostgreSQL: UTF-8 without NUL, so everything else is escaped.

A session id, a path or a title may be any Python string: half an emoji, a path that is no UTF-8, a NUL. A backslash
begins an escape, and is escaped itself; every other text is stored as it is and can be read in psql.
"""

from __future__ import annotations

import re

__all__ = ["escaped", "unescaped"]

_SPECIAL = re.compile("[\\\\\x00\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4})")


def escaped(text: str) -> str:
    """A text as PostgreSQL takes it; two different texts never become one."""
    return _SPECIAL.sub(lambda found: "\\\\" if found[0] == "\\" else f"\\u{ord(found[0]):04x}", text)


def unescaped(text: str) -> str:
    """The text that was escaped."""
    return _ESCAPE.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), text)
