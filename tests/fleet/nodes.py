"""The nodes of a fleet as processes, for the tests."""

from __future__ import annotations

import asyncio
import contextlib
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
FLEET_SECRET = "a-secret-of-nodes-that-live-for-a-test"  # noqa: S105
_SERVING = re.compile(r"serving at ws://([^ ]+):(\d+)/acp")


@dataclass
class NodeProcess:
    """One `accord serve --node`."""

    name: str
    process: AwaitedProgram | asyncio.subprocess.Process
    port: int = 0
    log: list[str] = field(default_factory=list)
    reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def wait(self) -> int:
        async with asyncio.timeout(limit(30.0)):
            status = await self.process.wait()
            if self.reading is not None:
                await self.reading
        return status

    async def kill(self) -> None:
        """End it without any notice."""
        self.signal(signal.SIGKILL)
        await self.wait()

    async def logged(self, text: str) -> None:
        """Wait until a line of its log has this text."""
        async with asyncio.timeout(limit(30.0)):
            while not any(text in line for line in self.log):
                await asyncio.sleep(0.02)


@dataclass
class TestFleet:
    """Nodes on one database. Their state is in `folder`, and `folder / "root"` is their root."""

    __test__ = False

    folder: Path
    conninfo: str
    lease_seconds: float = 2.0
    python: dict[str, str] = field(default_factory=dict)
    """Other environments for nodes: the source tree by the name of the node."""
    arguments: tuple[str, ...] = ()
    nodes: dict[str, NodeProcess] = field(default_factory=dict)

    @property
    def root(self) -> str:
        return str(self.folder / "root")

    async def start(self, name: str, *arguments: str, port: int = 0, env: dict[str, str] | None = None) -> NodeProcess:
        """Start a node and wait until it serves."""
        node = await self.spawn(name, *arguments, port=port, env=env)
        async with asyncio.timeout(limit(60.0)):
            while not node.port:
                assert node.process.returncode is None, node.log
                await asyncio.sleep(0.02)
        self.nodes[name] = node
        return node

    async def spawn(self, name: str, *arguments: str, port: int = 0, env: dict[str, str] | None = None) -> NodeProcess:
        Path(self.root).mkdir(exist_ok=True)
        inherited = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            "XDG_STATE_HOME": str(self.folder / "state"),
            "PYTHONPATH": os.pathsep.join(path for path in (self.python.get(name), str(HERE), inherited) if path),
            "ACCORD_STORE": self.conninfo,
            "ACCORD_FLEET_SECRET": FLEET_SECRET,
            "ACCORD_SERVE_TOKEN": TOKEN,
            **(env or {}),
        }
        line = (
            *("accord", "serve", "fleet_agent:agent", "--quiet"),
            *("--port", str(port), "--root", self.root, "--node", name, "--lease", str(self.lease_seconds)),
            *(*self.arguments, *arguments),
        )
        process: AwaitedProgram | asyncio.subprocess.Process
        if name in self.python:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *line),
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=self.folder,
            )
        else:
            process = await AwaitedProgram.start(
                serve_command(),
                line,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=self.folder,
            )
        node = NodeProcess(name, process)
        node.reading = asyncio.create_task(_read_log(node))
        return node


@asynccontextmanager
async def fleet_of(
    folder: Path, conninfo: str, *names: str, lease_seconds: float = 2.0, arguments: tuple[str, ...] = ()
) -> AsyncIterator[TestFleet]:
    """A fleet until the block ends."""
    fleet = TestFleet(folder, conninfo, lease_seconds, arguments=arguments)
    try:
        await asyncio.gather(*(fleet.start(name) for name in names))
        yield fleet
    finally:
        for node in fleet.nodes.values():
            if node.process.returncode is None:
                node.signal(signal.SIGCONT)
                node.signal(signal.SIGKILL)
        await asyncio.gather(*(node.wait() for node in fleet.nodes.values()))


async def _read_log(node: NodeProcess) -> None:
    assert node.process.stderr is not None
    while line := (await node.process.stderr.readline()).decode(errors="replace"):
        node.log.append(line.rstrip("\n"))
        if found := _SERVING.search(line):
            node.port = int(found[2])
