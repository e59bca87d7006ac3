"""The rows of a table that each run has."""

from __future__ import annotations

import itertools
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from tests.needs import needs_typescript
from tests.rows import OF_TYPESCRIPT, choose_rows, shuffled

EDITIONS, SHAPES = 3, 4


class Row:
    """A row of a table, as far as the choice looks at it."""

    def __init__(self, name: str, params: dict[str, int], marks: tuple[pytest.MarkDecorator, ...]) -> None:
        self.nodeid = f"{name}[{'-'.join(map(str, params.values()))}]"
        self.callspec = SimpleNamespace(params=params)
        self.marks = [mark.mark for mark in marks]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [mark for mark in self.marks if mark.name == name]

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.mark)

    @property
    def run(self) -> str:
        return next((name for name in ("every", "long") if self.get_closest_marker(name)), "default")


def table(*marks: pytest.MarkDecorator, name: str = "tests/a.py::test_a") -> list[Any]:
    rows = product(range(EDITIONS), range(SHAPES))
    made: list[Any] = [Row(name, {"edition": edition, "shape": shape}, marks) for edition, shape in rows]
    choose_rows(made)
    return made


def counts(rows: list[Any]) -> dict[str, int]:
    runs = [row.run for row in rows]
    return {run: runs.count(run) for run in ("default", "long", "every")}


def test_without_a_mark_the_default_run_has_all() -> None:
    assert counts(table()) == {"default": 12, "long": 0, "every": 0}


def test_a_rotated_dimension_has_one_value_for_each_of_the_others_and_all_over_the_table() -> None:
    rows = table(pytest.mark.rotated("edition"))
    assert counts(rows) == {"default": 4, "long": 0, "every": 8}
    left = [row.callspec.params for row in rows if row.run == "default"]
    assert {each["shape"] for each in left} == set(range(SHAPES))
    assert {each["edition"] for each in left} == set(range(EDITIONS))


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("shape", range(SHAPES))
@pytest.mark.parametrize("edition", range(EDITIONS))
def test_of_a_stacked_table_as_this_one_no_shape_has_two_rows(
    request: pytest.FixtureRequest, edition: int, shape: int
) -> None:
    assert (edition, shape) in product(range(EDITIONS), range(SHAPES))
    rows: list[Any] = [item for item in request.session.items if item.name.startswith(request.function.__name__)]
    shapes = [row.callspec.params["shape"] for row in rows if not row.get_closest_marker("every")]
    assert len(shapes) == len(set(shapes))


def test_of_sampled_rows_the_rest_is_long_or_a_part_of_it() -> None:
    assert counts(table(pytest.mark.sampled(4))) == {"default": 3, "long": 9, "every": 0}
    assert counts(table(pytest.mark.sampled(4, long=3))) == {"default": 3, "long": 3, "every": 6}


def test_rotated_rows_are_sampled_behind_it() -> None:
    rows = table(pytest.mark.rotated("edition"), pytest.mark.sampled(2))
    assert counts(rows) == {"default": 2, "long": 2, "every": 8}


def test_tables_begin_at_different_rows() -> None:
    tables = [table(pytest.mark.sampled(12), name=f"tests/a.py::test_{number}") for number in range(8)]
    assert len({row.nodeid.partition("[")[2] for rows in tables for row in rows if row.run == "default"}) > 3


def test_another_order_has_the_same_rows_and_files_that_stay_together() -> None:
    rows = [*table(), *table(name="tests/b.py::test_b")]
    one, again, other = (shuffled(rows, seed) for seed in ("1", "1", "2"))
    assert one == again != other
    assert set(one) == set(rows)
    files = [row.nodeid.partition("::")[0] for row in one]
    assert sum(file != following for file, following in itertools.pairwise(files)) == 1


def test_a_single_row_is_met() -> None:
    row: Any = Row("tests/a.py::test_a", {"edition": 2}, (pytest.mark.rotated("edition"), pytest.mark.sampled(9)))
    choose_rows([row])
    assert row.run == "default"


def test_of_the_tests_with_both_sdks_a_part_is_run_with_that_of_typescript_and_all_with_that_of_python() -> None:
    runs = []
    for number in range(40):
        rows: list[Any] = [
            Row(f"tests/a.py::test_{number}", {"sdk": sdk}, marks)
            for sdk, marks in enumerate(((), (needs_typescript(),)))
        ]
        choose_rows(rows)
        runs.append(tuple(row.run for row in rows))
    assert set(runs) == {("default", "default"), ("default", "long")}
    assert 40 // OF_TYPESCRIPT // 2 <= runs.count(("default", "default")) <= 40 // OF_TYPESCRIPT * 2


def test_what_only_the_sdk_of_typescript_shows_is_run_with_it() -> None:
    rows: list[Any] = [Row(f"tests/a.py::test_{number}", {"sdk": 1}, (needs_typescript(),)) for number in range(8)]
    choose_rows(rows)
    assert {row.run for row in rows} == {"default"}


def test_a_parameter_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(pytest.UsageError):
        table(pytest.mark.rotated("transport"))
