"""The patches still apply: a mutant that cannot be made would go unnoticed."""

from __future__ import annotations

from pathlib import Path

from tests.mutants.patches import MUTANTS, Mutant
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
