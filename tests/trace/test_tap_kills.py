"""Kills in the middle of a talk: the file has all of it, but for the last read of each direction of a killed tap."""

from __future__ import annotations

import os
import random
import select
import signal
import time
from pathlib import Path

import pytest

from tests.trace.programs import SECONDS, Tapped, records_of, texts_of, wait_until_gone


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", range(0, 20, 5))
def test_a_kill_in_the_middle_of_a_talk_loses_at_most_the_last_read(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 5):
        one_kill(tmp_path, seed)


@pytest.mark.every
@pytest.mark.timeout(600)
def test_two_hundred_kills_lose_at_most_the_last_read(tmp_path: Path) -> None:
    for seed in range(1000, 1200):
        one_kill(tmp_path, seed)


def one_kill(folder: Path, seed: int) -> None:
    """One talk in which each line is a read of its own, and one kill."""
    chance = random.Random(seed)
    victim = ("tap", "agent", "client")[seed % 3]
    file = folder / f"{seed}.jsonl"
    lines = [b'{"id":%d,"text":"%s"}' % (n, b"z" * chance.randrange(2000)) for n in range(chance.randrange(1, 40))]
    with Tapped(["sh", "-c", "echo $$; exec cat"], "-w", str(file)) as tap:
        agent = int(tap.line())
        for line in lines:
            tap.send(line)
            assert tap.line() == line
        if victim == "tap":
            tap.kill()
        elif victim == "agent":
            os.kill(agent, signal.SIGKILL)
            assert tap.process.wait(SECONDS) == 137
        else:
            tap.stdin.close()
            tap.stdout.close()
            assert tap.process.wait(SECONDS) in {0, 141}
        wait_until_gone(agent)

    lost = 1 if victim == "tap" else 0
    # The recorder outlives a killed tap for as long as it takes to record what it was handed.
    deadline = time.monotonic() + SECONDS
    while lost and not is_recorded(file, len(lines) - lost) and time.monotonic() < deadline:
        select.select([], [], [], 0.01)
    up, down = texts_of(file, "client"), texts_of(file, "agent")[1:]
    assert up == lines[: len(up)]
    assert down == lines[: len(down)]
    assert len(lines) - len(up) <= lost
    assert len(lines) - len(down) <= lost
    assert (records_of(file)[-1].type == "end") == (victim != "tap")


def is_recorded(file: Path, count: int) -> bool:
    """Whether so many lines of each side, and the agent's first one, are in the file."""
    if not file.exists() or not file.stat().st_size:
        return False
    return len(texts_of(file, "client")) >= count and len(texts_of(file, "agent")) > count
