"""A client that asks and never reads: what its agent holds of answers has a bound in bytes."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory in /proc: run it on Linux")

AGENT = Path(__file__).parent / "giving_agent.py"
MAX_MIB = 200
STILL_SECONDS = 1.0


def peak_mib(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) / 1024


def test_an_agent_stays_small_when_its_client_asks_without_reading() -> None:
    hello = {"protocolVersion": 1, "clientCapabilities": {}}
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}]
    lines += [{"jsonrpc": "2.0", "id": number, "method": "_give", "params": {}} for number in range(1, 2000)]
    text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with subprocess.Popen((sys.executable, str(AGENT)), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(text)
        agent.stdin.flush()
        answer = json.loads(agent.stdout.readline())
        assert answer["result"]["protocolVersion"] == 1
        # Nobody reads from now on; the agent has all requests and time to make what it will make.
        select.select((), (), (), STILL_SECONDS)
        peak = peak_mib(agent.pid)
        agent.kill()
        os.read(agent.stdout.fileno(), 1)
    print(f"{peak:.0f} MiB")  # noqa: T201
    assert peak <= MAX_MIB
