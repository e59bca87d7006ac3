"""The nodes of a fleet as processes, for the benchmarks."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import ROOT, environment

__all__ = ["TOKEN", "RunningNode", "running_node"]

TOKEN = "benchmark"  # noqa: S105 - of servers that live for a benchmark
_SECRET = "a-secret-for-the-time-of-a-benchmark"  # noqa: S105
_AGENT = """import accord
agent = accord.Agent("fleet")
@agent.prompt
async def reply(turn): await turn.say(turn.text)
"""


class RunningNode(NamedTuple):
    port: int
    pid: int

    def resident_bytes(self) -> int:
        """The memory of its process."""
        for line in Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("the node is gone")


@contextmanager
def running_node(name: str, conninfo: str, folder: str) -> Iterator[RunningNode]:
    """One `accord serve --node` on a database, with an agent that repeats what it hears."""
    (Path(folder) / "benchmark_agent.py").write_text(_AGENT, encoding="utf-8")
    env = {
        **environment(),
        "PYTHONPATH": folder,
        "ACCORD_STORE": conninfo,
        "ACCORD_FLEET_SECRET": _SECRET,
        "ACCORD_SERVE_TOKEN": TOKEN,
    }
    line = [str(ROOT / ".venv/bin/python"), "-m", "accord", "serve", "benchmark_agent:agent", "--port", "0", "--quiet"]
    with subprocess.Popen(
        [*line, "--root", folder, "--node", name], stderr=subprocess.PIPE, cwd=folder, env=env, text=True
    ) as server:
        assert server.stderr is not None
        try:
            for text in server.stderr:
                if found := re.search(r"serving at ws://[^ ]+:(\d+)/acp", text):
                    yield RunningNode(int(found[1]), server.pid)
                    break
        finally:
            server.kill()
