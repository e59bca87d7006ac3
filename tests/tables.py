"""Tables whose rows cost next to nothing: all rows of a test are one item.

An item of its own costs pytest some milliseconds in every worker, a hundred times what such a row takes.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tests.limits import limit

__all__ = ["ASYNC_TEST_SECONDS", "call", "rows"]

F = TypeVar("F", bound=Callable[..., Any])

ASYNC_TEST_SECONDS = limit(60.0)


def rows(names: str | Sequence[str], table: Iterable[Any]) -> Callable[[F], F]:
    """Run a test over all rows of a table, as `pytest.mark.parametrize` does in as many items.

    A row that fails is named in the failure. An async test has a loop of its own for each row, and `tmp_path` is a
    folder of its own. Other fixtures are those of the one item: this is for rows that need none of their own. Rows that
    cost, and those that one wants to choose by name, stay items.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = [_values(row, len(columns)) for row in table]

    def decorate(test: F) -> F:
        @functools.wraps(test)
        def all_rows(**fixtures: Any) -> None:
            folder = fixtures.get("tmp_path")
            for number, row in enumerate(listed):
                if folder is not None:
                    fixtures["tmp_path"] = folder / str(number)
                    fixtures["tmp_path"].mkdir()
                try:
                    call(test, {**fixtures, **dict(zip(columns, row, strict=True))})
                except BaseException as error:
                    error.add_note(f"row: {', '.join(map(repr, row))}")
                    raise

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in columns]
        all_rows.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        assert listed, f"{test.__name__} has no rows"
        return all_rows  # type: ignore[return-value]

    return decorate


def call(test: Callable[..., Any], arguments: Mapping[str, Any], seconds: float | None = ASYNC_TEST_SECONDS) -> None:
    """Call a test; an `async def` one in a loop of its own, and not longer than it may take."""
    if not inspect.iscoroutinefunction(test):
        test(**arguments)
        return

    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await test(**arguments)

    asyncio.run(bounded())


def _values(row: Any, count: int) -> tuple[Any, ...]:
    # `pytest.param` is a row with a name.
    if hasattr(row, "marks"):
        assert not row.marks, f"a row with marks is an item: {row}"
        return tuple(row.values)
    return tuple(row) if count > 1 else (row,)
