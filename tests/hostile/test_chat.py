"""The tricks that touch a screen through `accord chat`, on a real terminal: every question is dismissed with Escape."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.hostile.command import Outcome, Running
from tests.hostile.registry import PRINTED, Row, rows
from tests.hostile.stage import MAX_MEMORY_KIB, Stage, assert_clean
from tests.hostile.test_run import marked, rule_words

pytest.importorskip("textual", reason="needs the extra: pip install 'accord[cli]'")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc: run it on Linux")

# A dialog takes no key in its first half second.
ARMED_SECONDS = 0.7
LEAVE = "\x11"


def chat(stage: Stage, row: Row) -> Outcome:
    """Say one thing, dismiss whatever is asked until the turn is over, look at everything, leave."""
    words = ["chat", *rule_words(stage, row.rules), "--", *stage.agent(row)]
    deadline = time.monotonic() + row.seconds + 20
    with Running(stage, words, terminal=True) as running:
        _until(running, lambda: b"ready" in running.printed, deadline)
        running.type("go\r")
        asked: tuple[int, float] = (-1, 0.0)
        while not _is_over(stage):
            if running.read(0.05) is False:
                break
            assert time.monotonic() < deadline, f"the turn does not end: {stage.entries()[-3:]}"
            entries = stage.entries()
            if entries and ("asks" in entries[-1] or "ready" in entries[-1]):
                if asked[0] != len(entries):
                    asked = (len(entries), time.monotonic())
                elif time.monotonic() - asked[1] > ARMED_SECONDS:
                    running.type("\x1b")
                    asked = (len(entries), time.monotonic())
        # All parts unfolded, so that everything that was said is drawn.
        for keys in ("\x07", LEAVE):
            _for(running, 0.3)
            running.type(keys)
        while running.read(max(0.0, deadline - time.monotonic())):
            pass
        return running.end()


def _is_over(stage: Stage) -> bool:
    return any("ends" in entry or "dies" in entry for entry in stage.entries())


def _until(running: Running, is_there: object, deadline: float) -> None:
    assert callable(is_there)
    while not is_there():
        came = running.read(max(0.0, deadline - time.monotonic()))
        assert came, f"it did not come up: {running.printed[-2000:]!r}"


def _for(running: Running, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and running.read(left) is not False:
        pass


@pytest.mark.parametrize("row", [marked(row) for row in rows().values() if row.chat])
def test_a_trick_on_the_screen_of_a_chat_gets_nothing_and_draws_nothing_raw(row: Row, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outcome = chat(stage, row)
    # Escape refuses: only what rules allow is granted, and in rows for people nothing is.
    granted, changes = ((), ()) if row.answers is not None else (row.granted, row.changes)
    stage.assert_harmless(row, changes)
    stage.assert_answers(row, granted)
    assert outcome.status == 0, outcome.text[-2000:]
    assert PRINTED in outcome.text or not row.printed, f"{row.name}: {outcome.text[-2000:]}"
    assert_clean(row, outcome.printed, is_terminal=True)
    assert outcome.memory_kib <= MAX_MEMORY_KIB, f"{row.name}: {outcome.memory_kib // 1024} MiB"
