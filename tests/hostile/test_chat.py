"""The tricks that touch a screen through `accord chat`, on a real terminal: every question is dismissed with Escape."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.command import Outcome, Running
from tests.hostile.registry import PRINTED, Row, at_chat
from tests.hostile.stage import MAX_MEMORY_KIB, Stage, assert_clean
from tests.hostile.test_run import marked, rule_words
from tests.limits import limit

pytest.importorskip("textual", reason="needs the extra: pip install 'accord[cli]'")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc: run it on Linux")

# A dialog takes no key in its first half second.
ARMED_SECONDS = 0.7
LEAVE = "\x11"
DRAWN_SECONDS = limit(10.0)


def chat(stage: Stage, row: Row) -> Outcome:
    """Say one thing, dismiss whatever is asked until the turn is over, look at everything, leave."""
    words = ["chat", *rule_words(stage, row.rules), "--", *stage.agent(row)]
    deadline = time.monotonic() + row.seconds + 20
    with Running(stage, words, terminal=True) as running:
        # An agent that asks before the prompt may be faster than the line that says that it is ready.
        _until(running, lambda: b"ready" in running.printed or (row.at == "opened" and stage.entries()), deadline)
        person = Person(running, row)
        while not _is_over(stage):
            person.look(stage.entries())
            if running.read(0.05) is False:
                break
            assert time.monotonic() < deadline, f"the turn does not end: {stage.entries()[-3:]}"
        # All parts unfolded, so that everything that was said is drawn.
        _for(running, 0.3)
        running.type("\x07")
        _for(running, 0.3)
        # A busy machine draws later; where it is never drawn, the test says so.
        drawn_by = time.monotonic() + DRAWN_SECONDS
        while row.printed and PRINTED.encode() not in running.printed and time.monotonic() < drawn_by:
            if running.read(0.2) is False:
                break
        running.type(LEAVE)
        while running.read(max(0.0, deadline - time.monotonic())):
            pass
        return running.end()


class Person:
    """Says one thing as soon as that makes sense, and presses Escape whenever the agent waits for an answer."""

    def __init__(self, running: Running, row: Row) -> None:
        self._running = running
        self._row = row
        self._is_said = False
        self._asked: tuple[int, float] = (-1, 0.0)

    def look(self, entries: list[dict[str, Any]]) -> None:
        """See what the agent does, by its journal."""
        if not self._is_said and (self._row.at != "opened" or any("played" in entry for entry in entries)):
            self._running.type("go\r")
            self._is_said = True
        if not entries or not ({"asks", "ready"} & set(entries[-1])):
            return
        if self._asked[0] != len(entries):
            self._asked = (len(entries), time.monotonic())
        elif time.monotonic() - self._asked[1] > ARMED_SECONDS:
            self._running.type("\x1b")
            self._asked = (len(entries), time.monotonic())


def _is_over(stage: Stage) -> bool:
    return any("ends" in entry or "dies" in entry for entry in stage.entries())


def _until(running: Running, is_there: Callable[[], object], deadline: float) -> None:
    while not is_there():
        came = running.read(0.1)
        has_ended = came is False or time.monotonic() > deadline
        assert not has_ended, f"it did not come up: {running.printed[-2000:]!r}"


def _for(running: Running, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and running.read(left) is not False:
        pass


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", [marked(row) for row in at_chat()])
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
