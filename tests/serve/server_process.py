"""`accord serve` as a process of its own, for the tests."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.forked_async import AwaitedProgram, serve_command
from tests.limits import limit

HERE = Path(__file__).parent
TOKEN = "secret"  # noqa: S105 - of servers that live for a test
# How often a server looks for what is over, and how long one that ends waits for clients that have left, and answers
# their last messages.
SOON = {
    "accord.serve.connections.SWEEP_SECONDS": 0.1,
    "accord.serve.connections.RETURN_SECONDS": 0.2,
    "accord.serve.runner.LINGER_SECONDS": 0.05,
}
# For tests whose turn waits for ever: its handler is not waited for when its connection ends.
IMPATIENT = {"accord.connection.connection.Connection.grace_seconds": 0.1}
_SERVING = re.compile(r"serving at ws(s?)://([^ ]+):(\d+)/acp")
_TOKEN = re.compile(r"shown only now: (\S+)")


@dataclass
class ServerProcess:
    """A running server."""

    process: AwaitedProgram | asyncio.subprocess.Process
    port: int = 0
    token: str = ""
    log: list[str] = field(default_factory=list)

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def websocket(self) -> str:
        return f"ws://127.0.0.1:{self.port}/acp"

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}/acp"

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def memory_bytes(self) -> int:
        """The resident memory of the process."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def serving(
    folder: Path,
    *arguments: str,
    token: str = TOKEN,
    env: dict[str, str] | None = None,
    seconds: dict[str, float] | None = None,
    is_fresh: bool = False,
    start_seconds: float = 30.0,
) -> AsyncIterator[ServerProcess]:
    """Serve until the block ends. `folder` has the state; the root is `folder / "root"`.

    The server is a fork of this process, which may have other `seconds` (`serve_command`); a fresh one has an
    interpreter of its own.
    """
    root = folder / "root"
    root.mkdir(exist_ok=True)
    line = ("accord", "serve", "--port", "0", "--root", str(root), *arguments)
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(folder / "state"),
        # Behind what is there: `scripts/mutants` puts broken sources before the installed ones.
        "PYTHONPATH": os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(HERE)))),
        **({"ACCORD_SERVE_TOKEN": token} if token else {}),
        **(env or {}),
    }
    process: AwaitedProgram | asyncio.subprocess.Process
    if is_fresh:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *line),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
        )
    else:
        command = serve_command({**SOON, **(seconds or {})})
        process = await AwaitedProgram.start(
            command, line, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, cwd=folder
        )
    server = ServerProcess(process, token=token)
    draining = asyncio.create_task(_read_log(server))
    try:
        async with asyncio.timeout(limit(start_seconds)):
            while not server.port:
                assert process.returncode is None, server.log
                await asyncio.sleep(0.01)
        yield server
    finally:
        if process.returncode is None:
            server.terminate()
        try:
            async with asyncio.timeout(limit(20.0)):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            await draining


async def _read_log(server: ServerProcess) -> None:
    assert server.process.stderr is not None
    port = 0
    while line := (await server.process.stderr.readline()).decode():
        server.log.append(line.rstrip("\n"))
        if found := _TOKEN.search(line):
            server.token = found[1]
        if found := _SERVING.search(line):
            port = int(found[3])
        if port and server.token:
            server.port = port
