"""Tables whose rows cost next to nothing: all rows of a test are one item.

An item of its own costs pytest some milliseconds in every worker, a hundred times what such a row takes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

__all__ = ["rows"]

F = TypeVar("F", bound=Callable[..., None])


def rows(names: str | Sequence[str], table: Iterable[Any]) -> Callable[[F], F]:
    """Run a test over all rows of a table, as `pytest.mark.parametrize` does in as many items.

    A row that fails is named in the failure. For rows that need no fixtures of their own; those that cost, and those
    that one wants to choose by name, stay items.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = [_values(row, len(columns)) for row in table]

    def decorate(test: F) -> F:
        @functools.wraps(test)
        def all_rows(**fixtures: Any) -> None:
            for row in listed:
                try:
                    test(**fixtures, **dict(zip(columns, row, strict=True)))
                except BaseException as error:
                    error.add_note(f"row: {', '.join(map(repr, row))}")
                    raise

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in columns]
        all_rows.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        assert listed, f"{test.__name__} has no rows"
        return all_rows  # type: ignore[return-value]

    return decorate


def _values(row: Any, count: int) -> tuple[Any, ...]:
    # `pytest.param` is a row with a name.
    values = getattr(row, "values", row) if hasattr(row, "marks") else row
    return tuple(values) if count > 1 or hasattr(row, "marks") else (values,)
