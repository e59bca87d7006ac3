"""Which rows of a table belong to which run: the default one, `--long`, or `--every` alone.

- `sampled(N)`, for rows that cost: the default run has one of N rows, `--long` the others; with `long=M` it has one of
  M of them, and `--every` the rest.
- `rotated(NAME, …)`, for a dimension that the code under test does not look at: of the rows that differ in these
  parameters alone, the default run has one, and `--every` the others.

Of the tests that are run with the official SDK of Python and that of TypeScript, which not every machine has, one in
six is run with both by the default run; `--long` has the other rows of TypeScript.

Which row a run has depends on the names of file, test and row, so that one file meets all values over its tests, and
every run the same ones. A row that is named on the command line is always met.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Sequence

import pytest

from tests.needs import is_of_typescript

__all__ = ["choose_rows", "shuffled"]

OF_TYPESCRIPT = 6


def choose_rows(items: Iterable[pytest.Item]) -> None:
    """Mark the rows that the default run does not have as `long` or `every`."""
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, rows in tables.items():
        rotated, sampled = rows[0].get_closest_marker("rotated"), rows[0].get_closest_marker("sampled")
        if rotated is not None:
            rows = _rotate(name, rows, rotated.args)  # noqa: PLW2901 - the rows that are left
        if sampled is not None:
            _sample(name, rows, *sampled.args, **sampled.kwargs)
        if _number(name) % OF_TYPESCRIPT:
            _leave_typescript(rows)


def shuffled(items: Iterable[pytest.Item], seed: str) -> list[pytest.Item]:
    """The files in another order, and in each of them the tests: what a file has started once stays started once."""
    order = random.Random(seed)
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    groups = list(files.values())
    order.shuffle(groups)
    for group in groups:
        order.shuffle(group)
    return [item for group in groups for item in group]


def _leave_typescript(rows: Sequence[pytest.Item]) -> None:
    """Mark the rows that need the TypeScript SDK as long where others stay."""
    rows = _of_the_default_run(rows)
    of_typescript = [row for row in rows if is_of_typescript(row)]
    if len(of_typescript) < len(rows):
        for row in of_typescript:
            row.add_marker(pytest.mark.long)


def _of_the_default_run(rows: Iterable[pytest.Item]) -> list[pytest.Item]:
    return [row for row in rows if not any(row.get_closest_marker(run) for run in ("long", "every"))]


def _rotate(name: str, rows: Sequence[pytest.Item], dimensions: tuple[str, ...]) -> list[pytest.Item]:
    """Leave one row of those that differ in these dimensions alone; returns those that are left."""
    groups: dict[tuple[tuple[str, int], ...], list[pytest.Item]] = {}
    for row in rows:
        values = _values(row)
        unknown = set(dimensions) - set(values)
        if unknown:
            raise pytest.UsageError(f"{row.nodeid}: rotated names {sorted(unknown)}, which are no parameters of it")
        groups.setdefault(tuple(sorted((key, at) for key, at in values.items() if key not in dimensions)), []).append(
            row
        )
    left = []
    for number, group in enumerate(groups.values()):
        chosen = (_number(name) + number) % len(group)
        left.append(group[chosen])
        for row in group:
            if row is not group[chosen]:
                row.add_marker(pytest.mark.every)
    return left


def _sample(name: str, rows: Sequence[pytest.Item], day: int, *, long: int = 1) -> None:
    """Leave one of so many rows; of the others one of `long` is long."""
    rows = _of_the_default_run(rows)
    day = min(day, len(rows))
    left_out = 0
    for number, row in enumerate(rows):
        if number % day != _number(name) % day:
            row.add_marker(pytest.mark.every if left_out % long else pytest.mark.long)
            left_out += 1


def _values(row: pytest.Item) -> dict[str, int]:
    """Which value each parameter has: rows with the same one share the object (pytest's own indices count the rows)."""
    callspec = getattr(row, "callspec", None)
    return {} if callspec is None else {name: id(value) for name, value in callspec.params.items()}


def _number(name: str) -> int:
    return zlib.crc32(name.encode())
