"""The selection of tricks: how many there are, which run every day, that each says what it does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.hostile.registry import everyday, rows
from tests.hostile.stage import AGENT
from tests.limits import limit


def test_there_are_enough_tricks_and_a_third_of_them_runs_every_day() -> None:
    found = rows()
    assert len(found) >= 150
    assert len(everyday()) == -(-len(found) // 3)


def test_every_trick_says_what_it_does_in_words_of_its_own() -> None:
    said = [row.says for row in rows().values()]
    assert all(said)
    assert len(said) == len(set(said))


def test_the_agent_starts_from_anywhere_and_imports_no_part_of_accord(tmp_path: Path) -> None:
    program = (
        f"import runpy, sys; sys.argv = ['agent.py', 'write-nobody']; runpy.run_path({AGENT!r}, run_name='__main__')"
    )
    program += "; sys.exit('accord' in sys.modules or 'asyncio' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", program],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        timeout=limit(30),
        check=False,
    )
    assert done.returncode == 0
