"""Agents that ask and never read: what their client holds of answers, requests and output has a bound in bytes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.greedy_agent import TRICKS
from tests.limits import limit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory in KiB: run it on Linux")

HERE = Path(__file__).parent
# The promise. What was seen is between 35 and 125 MiB; without the bounds it was 240 MiB to several GiB.
MAX_MIB = 200
# Without a bound the machine must not suffer: then the client fails, which fails the test.
MAX_ADDRESS_BYTES = 3 * 1024**3


@pytest.fixture
def large(tmp_path: Path) -> Path:
    file = tmp_path / "large.txt"
    file.write_text("a line of text\n" * (4 * 1024 * 1024 // 15))
    return file


@pytest.mark.sampled(7)
@pytest.mark.parametrize("trick", TRICKS)
def test_a_client_stays_small_whatever_its_agent_asks_without_reading(trick: str, large: Path) -> None:
    agent = (sys.executable, str(HERE / "greedy_agent.py"), trick, str(large))
    argv = (sys.executable, str(HERE / "asked_client.py"), str(large.parent), *agent)

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES))

    ended = subprocess.run(argv, capture_output=True, text=True, timeout=limit(100), check=False, preexec_fn=bounded)
    assert (ended.returncode, ended.stderr) == (0, "")
    told = json.loads(ended.stdout)
    print(f"{trick}: {told['peak_mib']:.0f} MiB")  # noqa: T201
    assert told["ended"] == "ConnectionLost"
    assert told["peak_mib"] <= MAX_MIB
