"""Runs the real command on a stage: on pipes without a user to ask, or on a terminal with prepared answers."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Sequence
from typing import NamedTuple, Self

import pytest

from tests.hostile import meter
from tests.hostile.stage import Stage

MAX_PRINTED = 64 * 1024 * 1024
# A question at the terminal of `accord run` is the last thing on it, in one row or, broken at blanks, in several.
PROMPT = re.compile(rb"\] [^\r\n]*(?:\r\n {4}[^\r\n]*)*> $")


class Outcome(NamedTuple):
    """What a run gave."""

    status: int
    printed: bytes
    memory_kib: int
    questions: int

    @property
    def text(self) -> str:
        return self.printed.decode("utf-8", "replace")


class Running:
    """The command with whatever stands at its other end; ended when it is left."""

    def __init__(self, stage: Stage, words: Sequence[str], *, terminal: bool, folder: str = "") -> None:
        self.stage = stage
        self.printed = b""
        self._end: meter.Run | None = None
        if terminal:
            pty = pytest.importorskip("pty")
            termios = pytest.importorskip("termios")
            self._ours, theirs = pty.openpty()
            termios.tcsetwinsize(theirs, (40, 120))
        else:
            self._ours, theirs = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        files = (theirs if terminal else nothing, theirs)
        self.pid = meter.start(list(words), files, str(stage.work / folder), stage.env)
        os.close(theirs)
        os.close(nothing)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._end is None:
            os.kill(self.pid, signal.SIGKILL)
            self._end = meter.ended(10)
        os.close(self._ours)

    def read(self, seconds: float) -> bool | None:
        """What comes next; None where nothing came in time, False at the end."""
        if not select.select([self._ours], [], [], max(0.0, seconds))[0]:
            return None
        try:
            data = os.read(self._ours, 1 << 20)
        except OSError:
            return False
        self.printed += data
        assert len(self.printed) < MAX_PRINTED, "it prints without end"
        return bool(data)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode("utf-8", "surrogateescape"))

    def interrupt(self) -> None:
        """Ctrl+C, for the command alone."""
        os.kill(self.pid, signal.SIGINT)

    def end(self, questions: int = 0) -> Outcome:
        """What it gave, when all that it printed was read."""
        self._end = meter.ended(20)
        return Outcome(self._end.status, self.printed, self._end.memory_kib, questions)


def run(
    stage: Stage,
    words: Sequence[str],
    answers: Sequence[str] | None = None,
    *,
    folder: str = "",
    interrupt: bool = False,
    seconds: float = 30.0,
) -> Outcome:
    """Run it to its end. Questions beyond the answers are counted, and refused."""
    deadline = time.monotonic() + seconds
    left = list(answers or ())
    questions = answered = 0
    with Running(stage, words, terminal=answers is not None, folder=folder) as running:
        while True:
            came = running.read(0.05 if interrupt else deadline - time.monotonic())
            if came is False:
                break
            assert time.monotonic() < deadline, f"it does not end: {running.printed[-2000:]!r}"
            if interrupt and any("ready" in entry for entry in stage.entries()):
                running.interrupt()
                interrupt = False
            if answers is not None and PROMPT.search(running.printed, max(answered, len(running.printed) - 65536)):
                questions += 1
                answered = len(running.printed)
                running.type((left.pop(0) if left else "n") + "\n")
        return running.end(questions)
