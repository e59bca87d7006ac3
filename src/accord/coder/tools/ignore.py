"""Knows what Git would ignore: the patterns of `.gitignore` files, each for the folder that it lies in.

The last pattern that matches counts, those of deeper folders after those above. What lies in an ignored folder stays
ignored, whatever is said further down: nobody looks into it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Ignored", "parse_ignore"]


@dataclass(frozen=True, slots=True)
class _Pattern:
    expression: re.Pattern[str]
    negated: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns that hold in a folder: its own behind those of the folders above it."""

    above: tuple[tuple[str, tuple[_Pattern, ...]], ...] = ()

    def inside(self, folder: str, text: str) -> Ignored:
        """With the `.gitignore` of a folder; folders are named from the root, with slashes, the root is empty."""
        patterns = parse_ignore(text)
        return Ignored((*self.above, (folder, patterns))) if patterns else self

    def hides(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path, named from the root, is ignored. Those of the folders above it are not looked at."""
        hidden = False
        for folder, patterns in self.above:
            name = path[len(folder) + 1 :] if folder else path
            for pattern in patterns:
                if (is_folder or not pattern.folders_only) and pattern.expression.fullmatch(name):
                    hidden = not pattern.negated
        return hidden


def parse_ignore(text: str) -> tuple[_Pattern, ...]:
    """The patterns of a `.gitignore` file; what cannot be one is passed over, as Git does."""
    return tuple(pattern for line in text.splitlines() if (pattern := _pattern(line)) is not None)


def _pattern(line: str) -> _Pattern | None:
    line = _without_trailing_spaces(line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    if negated or line.startswith(("\\#", "\\!")):
        line = line[1:]
    folders_only = line.endswith("/")
    line = line.rstrip("/") if folders_only else line
    # A slash anywhere but at the end ties a pattern to its folder; otherwise it holds at every depth.
    anchored = "/" in line
    line = line.removeprefix("/")
    if not line:
        return None
    try:
        expression = re.compile(_expression(line if anchored else f"**/{line}"), re.DOTALL)
    except re.error:
        return None
    return _Pattern(expression, negated, folders_only)


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" \t\r")
    # An escaped space counts.
    return stripped + " " if stripped.endswith("\\") and len(stripped) < len(line) else stripped


_TOKENS = re.compile(
    r"(?P<start>^\*\*/)|(?P<between>/\*\*/)|(?P<end>/\*\*$)|(?P<stars>\*+)|(?P<one>\?)"
    r"|(?P<set>\[[!^]?\]?(?:\\.|[^\]\\])*\])|\\(?P<literal>.)|(?P<other>.)",
    re.DOTALL,
)
_FIXED = {"start": "(?:.*/)?", "between": "/(?:.*/)?", "end": "/.+", "stars": "[^/]*", "one": "[^/]"}


def _expression(pattern: str) -> str:
    return "".join(_token_expression(match) for match in _TOKENS.finditer(pattern))


def _token_expression(match: re.Match[str]) -> str:
    kind = match.lastgroup or "other"
    if kind in _FIXED:
        return _FIXED[kind]
    text = match[kind]
    if kind == "set":
        inner = text[1:-1]
        negation, inner = ("^", inner[1:]) if inner[:1] in {"!", "^"} else ("", inner)
        # A set never matches the slash; `[` in it is nothing special.
        return f"(?!/)[{negation}{_set(inner)}]"
    # A set without an end matches nothing.
    return "(?!)" if text == "[" and kind == "other" else re.escape(text)


def _set(inner: str) -> str:
    return inner.replace("[", "\\[").replace("]", "\\]", 1) if inner.startswith("]") else inner.replace("[", "\\[")
