"""Every trick through the library: `connect` with a `Policy`, and without one where a row says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from accord.transport import child
from tests.conftest import ROOT
from tests.forking_python import forking_python
from tests.hostile.library import Library
from tests.hostile.registry import Row, rows
from tests.hostile.stage import MAX_MEMORY_KIB, Stage
from tests.hostile.test_run import marked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc: run it on Linux")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = Stage(tmp_path)
    # What is started in this process is found by it too.
    for name, value in made.marks.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(made.home))
    return made


@pytest.mark.parametrize("row", [marked(row) for row in rows().values() if not row.heavy])
async def test_a_trick_at_the_library_gets_nothing_that_nobody_allowed(
    row: Row, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    if row.name in {"process-away", "process-closes-stdin"}:
        # They do not end by themselves: how long that is waited for is not the subject.
        monkeypatch.setitem(vars(child)["spawn"].__kwdefaults__, "grace_seconds", 0.1)
    library = Library(stage, row)
    told = await library.play()
    stage.assert_harmless(row)
    stage.assert_answers(row)
    expected = len(row.answers or ()) if row.library_questions is None else row.library_questions
    assert told.questions == expected, row.name
    if row.counts is not None:
        assert told.counts == row.counts, row.name
    for again in row.then:
        stage.forget_journal()
        told = await library.play(again)
        stage.assert_harmless(row, again.changes)
        stage.assert_answers(row, again.granted)
        assert told.questions == len(again.answers or ()), row.name


@pytest.mark.parametrize("row", [marked(row) for row in rows().values() if row.bare_changes is not None])
async def test_without_a_policy_what_is_inside_is_served(row: Row, stage: Stage) -> None:
    await Library(stage, row).play_bare()
    stage.assert_harmless(row, row.bare_changes)


@pytest.mark.parametrize("row", [marked(row) for row in rows().values() if row.heavy])
def test_a_trick_of_size_takes_the_library_no_further_than_its_bounds(row: Row, tmp_path: Path) -> None:
    done = subprocess.run(
        [forking_python(), "-m", "tests.hostile.library", str(tmp_path), row.name],
        cwd=ROOT, capture_output=True, text=True, timeout=row.seconds + 30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    peak, questions = map(int, done.stdout.split())
    assert peak <= MAX_MEMORY_KIB, f"{row.name}: {peak // 1024} MiB"
    assert questions == len(row.answers or ()), row.name
