"""A flood of updates to a slow consumer: measured in a process of its own, with a real process as the agent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.limits import limit

HERE = Path(__file__).parent
# The promise is 40 MB for a million; what grows with the count shows with fewer, too.
COUNTS = [(100_000, 10), pytest.param(1_000_000, 40, marks=[pytest.mark.long, pytest.mark.timeout(300)])]


def consume(edition: str, count: int, size: int) -> dict[str, Any]:
    agent = (sys.executable, str(HERE / "flood_agent.py"), edition)
    argv = (sys.executable, str(HERE / "slow_consumer.py"), edition, str(count), str(size), *agent)
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=limit(280), check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


@pytest.mark.rotated("edition", "size")
@pytest.mark.parametrize("size", [10, 100])
@pytest.mark.parametrize("edition", ["1", "2"])
@pytest.mark.parametrize(("count", "max_mb"), COUNTS)
def test_a_flood_to_a_slow_consumer_costs_little_more_than_its_text(
    count: int, max_mb: int, edition: str, size: int
) -> None:
    told = consume(edition, count, size)
    print(f"{count:,} updates of {size} bytes in edition {edition}: {told['worst_mb']:.1f} MB beyond their text")  # noqa: T201
    assert (told["taken"], told["ordered"], told["stop_reason"]) == (count, True, "end_turn")
    assert told["text"] == told["transcript"] == count * size
    assert told["worst_mb"] <= max_mb
