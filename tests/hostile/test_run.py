"""Every trick of the hostile agent through `accord run`, as a process, on pipes or at a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.hostile.command import Outcome, run
from tests.hostile.registry import PRINTED, Again, Row, everyday, rows
from tests.hostile.stage import MAX_MEMORY_KIB, Stage, assert_clean

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc: run it on Linux")

EVERYDAY = everyday()
# Of the others every third is long, so that every topic is in it.
LONG = frozenset([name for name in rows() if name not in EVERYDAY][::3])


def marked(row: Row) -> object:
    """The row of a table, with the mark of its run."""
    others = pytest.mark.long if row.name in LONG else pytest.mark.every
    return pytest.param(row, id=row.name, marks=() if row.name in EVERYDAY else others)


def rule_words(stage: Stage, rules: tuple[str, ...]) -> list[str]:
    """Rules as words of the line; one that asks can only stand in a file."""
    words: list[str] = []
    for number, rule in enumerate(rules):
        effect, _, rest = rule.partition(" ")
        if effect == "ask":
            file = stage.folder / f"rules-{number}"
            file.write_text(f"{rule}\n", encoding="utf-8")
            words += ["--rules", str(file)]
        else:
            words += [f"--{effect}", rest]
    return words


def assert_held(row: Row, stage: Stage, outcome: Outcome, again: Again | None = None) -> None:
    told = outcome.text
    expected = row if again is None else again
    stage.assert_harmless(row, expected.changes)
    stage.assert_answers(row, expected.granted)
    assert outcome.questions == len(expected.answers or ()), f"{row.name}: {told[-3000:]}"
    right = {expected.status, row.or_status if again is None else None}
    assert outcome.status in right, f"{row.name}: ended with {outcome.status}: {told[-3000:]}"
    assert_clean(row, outcome.printed, is_terminal=expected.answers is not None)
    assert outcome.memory_kib <= MAX_MEMORY_KIB, f"{row.name}: {outcome.memory_kib // 1024} MiB"


@pytest.mark.sampled(6, long=3)
@pytest.mark.parametrize("row", [marked(row) for row in rows().values()])
def test_a_trick_in_a_run_gets_nothing_that_nobody_allowed(row: Row, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    words = ["run", "go", *rule_words(stage, row.rules)]
    if row.timeout is not None:
        words += ["--timeout", str(row.timeout)]
    named = ["-s", "nick"] if row.then or row.at == "load" else []
    outcome = run(
        stage, [*words, *named, "--", *stage.agent(row)], row.answers, interrupt=row.interrupt, seconds=row.seconds
    )
    if row.at == "load":
        stage.forget_journal()
        outcome = run(stage, [*words, *named, "--", *stage.agent(row)], row.answers, seconds=row.seconds)
    assert_held(row, stage, outcome)
    for word in (*row.said, *([PRINTED] if row.printed else [])):
        assert word in outcome.text, f"{row.name}: {outcome.text[-3000:]}"
    for word in row.unsaid:
        assert word not in outcome.text, f"{row.name}: {outcome.text[-3000:]}"
    for again in row.then:
        stage.forget_journal()
        words = ["run", "go", *again.words, *rule_words(stage, again.rules), "--", *stage.agent(row, *again.arguments)]
        outcome = run(stage, words, again.answers, folder=again.folder, seconds=row.seconds)
        assert_held(row, stage, outcome, again)
