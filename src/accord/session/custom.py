"""Values that the specification lets authors extend: the type of an author's own, and the check of what is written.

A value that a peer sent may be any text, and is passed on as it is: nothing of a peer is checked here.
"""

from __future__ import annotations

import typing
from typing import Any, NewType

__all__ = ["Custom", "check_value", "custom", "known_values"]

Custom = NewType("Custom", str)
"""A value that is not one of the specification: one's own, made by `accord.custom("_name")`, or a peer's."""


def custom(value: str) -> Custom:
    """A value of your own, for a kind, a status, a priority, a category or the like: `kind=accord.custom("_deploy")`.

    Clients show a value that they do not know as they show `other`, or as plain text.

    Raises:
        ValueError: It does not begin with an underscore: all other values are the specification's.
    """
    if len(value) < len("_x") or not value.startswith("_"):
        raise ValueError(f"a value of your own begins with an underscore: {f'_{value}'!r}, not {value!r}")
    return Custom(value)


def known_values(kind: Any) -> tuple[str, ...]:
    """The specification's values of `Literal[…] | Custom`."""
    return typing.get_args(typing.get_args(kind)[0])


def check_value(value: object, known: tuple[str, ...], what: str) -> None:
    """Check what an author wrote where the specification has these values.

    Raises:
        ValueError: It is none of them, and no value of one's own; the text has the nearest one.
    """
    if value in known or (isinstance(value, str) and value.startswith("_")):
        return
    from difflib import get_close_matches  # noqa: PLC0415 - only when something is wrong

    near = get_close_matches(str(value), known, 1, 0.5)
    guess = f"; did you mean {near[0]!r}?" if near else "."
    raise ValueError(f"{value!r} is no {what}{guess} One of {', '.join(known)}, or accord.custom('_…')")
