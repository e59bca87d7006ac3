"""The patches still apply: a mutant that cannot be made would go unnoticed."""

from __future__ import annotations

from pathlib import Path

from tests.mutants.patches import MUTANTS, Mutant
from tests.mutants.run import rows_in_run
from tests.tables import rows

ROOT = Path(__file__).parent.parent.parent


@rows("mutant", MUTANTS)
def test_the_text_to_patch_stands_once_and_the_test_is_there(mutant: Mutant) -> None:
    source = (ROOT / "src" / "accord" / mutant.file).read_text()
    assert source.count(mutant.before) == 1
    assert mutant.before != mutant.after
    file, _, name = mutant.test.partition("::")
    assert name, "a test has a name"
    assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text()


def test_at_most_one_mutant_in_ten_is_left_to_the_long_tests() -> None:
    assert sum(mutant.long for mutant in MUTANTS) * 10 <= len(MUTANTS)


def test_rows_that_a_run_does_not_have_are_not_taken_for_its_own() -> None:
    table = "tests/test_rows.py::test_of_a_stacked_table_as_this_one_no_shape_has_two_rows"
    rows = [f"{table}[{edition}-{shape}]" for edition in range(3) for shape in range(4)]
    of_default = rows_in_run([table, *rows], long=False)
    assert len(of_default[table]) == 4
    assert [of_default[row] for row in rows] == [[row] if row in of_default[table] else [] for row in rows]
