"""Knows which regular expressions can be trusted to come to an end.

A search cannot be interrupted once it is inside one line, and holds up everything else meanwhile. So what may need
exponential time is refused: a repetition without a bound inside of another one.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from accord.coder.tools.call import BadArguments

__all__ = ["check_expression"]

# What `re` itself takes expressions apart with; it has no types.
parser: Any = import_module("re._parser")
constants: Any = import_module("re._constants")

_REPEATS = {constants.MAX_REPEAT, constants.MIN_REPEAT}
# More repetitions than this is as good as without a bound.
MANY = 16


def check_expression(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The expression, compiled.

    Raises:
        BadArguments: It is none, or one that may run for ever.
    """
    try:
        compiled = re.compile(pattern, flags)
        parsed = parser.parse(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadArguments(f"{pattern!r} is no regular expression: {error}") from None
    if _depth(parsed) > 1:
        raise BadArguments(f"{pattern!r} repeats what repeats itself, which may take for ever: say it more simply")
    return compiled


def _depth(parsed: Any) -> int:
    """How many repetitions without a bound lie within each other."""
    deepest = 0
    for operation, argument in parsed:
        inner = max((_depth(below) for below in _parts(argument)), default=0)
        if operation in _REPEATS and argument[1] > MANY:
            inner += 1
        deepest = max(deepest, inner)
    return deepest


def _parts(argument: Any) -> list[Any]:
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, tuple | list):
        return [part for each in argument for part in _parts(each)]
    return []
