"""The servers of the comparison as processes: how each is started, and what Linux counts of it."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import ROOT, environment

__all__ = ["SERVERS", "TOKEN", "ServerProcess", "serving"]

TOKEN = "benchmark"  # noqa: S105 - of a server that lives for a scenario
_START_SECONDS = 30
_PORT = re.compile(rb"(?:serving at ws://127\.0\.0\.1:)?(\d+)")
SERVERS: dict[str, list[str]] = {
    "py-official": [".peers/py-v2/bin/python", "benchmarks/contestants/official_py/agent.py", "--serve"],
    "ts-official": ["node", "benchmarks/contestants/official_ts/agent.mjs", "--serve"],
    "accord": [
        *(".venv/bin/python", "-m", "accord", "serve", "benchmarks.contestants.accord.served_agent:agent"),
        *("--port", "0", "--quiet", "--max-connections", "4000", "--max-sessions", "4000", "--drain", "0.1"),
    ],
}
"""Each prints the port on which it listens in its first line, on stdout or stderr. Only ours wants a token."""


class ServerProcess:
    """A running server."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, root: str) -> None:
        self.port = port
        self.root = root
        """The directory of all sessions."""
        self._folder = Path(f"/proc/{process.pid}")

    def cpu_seconds(self) -> float:
        """The CPU time of all its threads."""
        spent = 0
        for thread in (self._folder / "task").iterdir():
            with contextlib.suppress(OSError):
                spent += int((thread / "schedstat").read_bytes().split()[0])
        return spent / 1e9

    def memory_bytes(self) -> int:
        """Its resident memory."""
        return int((self._folder / "statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def serving(name: str) -> Iterator[ServerProcess]:
    """Run one of `SERVERS` until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**environment(), "XDG_STATE_HOME": folder, "ACCORD_SERVE_TOKEN": TOKEN}
        root = ["--root", folder] if name.startswith("accord") else []
        with subprocess.Popen(
            [*SERVERS[name], *root],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            guard = threading.Timer(_START_SECONDS, process.kill)
            guard.start()
            assert process.stdout is not None
            try:
                line = process.stdout.readline()
                found = _PORT.search(line)
                if found is None:
                    raise ValueError(f"{name} did not start: {line!r}")
                guard.cancel()
                # A server that has something to say must not wait until someone reads it.
                threading.Thread(target=process.stdout.read, daemon=True).start()
                yield ServerProcess(process, int(found[1]), folder)
            finally:
                guard.cancel()
                process.kill()
