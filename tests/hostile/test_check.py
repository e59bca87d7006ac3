"""The tricks that concern it through `accord check --only`: it ends with a verdict, harms nothing, leaves nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.hostile.command import run
from tests.hostile.registry import Row, rows
from tests.hostile.stage import MAX_MEMORY_KIB, Stage, assert_clean
from tests.hostile.test_run import marked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc: run it on Linux")

LIMITS = ("--timeout", "2", "--turn-timeout", "3", "--start-timeout", "5", "--close-grace", "1")


@pytest.mark.parametrize("row", [marked(row) for row in rows().values() if row.check])
def test_a_trick_at_the_check_ends_with_a_verdict_and_harms_nothing(row: Row, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    only = [word for rule in row.check for word in ("--only", rule)]
    outcome = run(stage, ["check", *only, *LIMITS, "--", *stage.agent(row)], seconds=60 + row.seconds)
    stage.assert_harmless(row, ())
    assert outcome.status == row.check_status, outcome.text[-3000:]
    assert_clean(row, outcome.printed, is_terminal=False)
    assert outcome.memory_kib <= MAX_MEMORY_KIB, f"{row.name}: {outcome.memory_kib // 1024} MiB"
