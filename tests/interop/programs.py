"""The programs on both ends: how each is started, and what a peer's client reports at its end."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.forking_python import forking_python
from tests.interop.record import Conversation
from tests.limits import limit

__all__ = ["Program", "accord_agent", "agent_on", "client_on", "hold", "is_gone", "rich_agent_on", "rich_client_on"]

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).parent / "peers"
CLIENT_SECONDS = limit(45.0)


class Program(NamedTuple):
    """A command line and what to add to the environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


def accord_agent() -> tuple[str, ...]:
    """The agent of this folder that is written on Accord."""
    return (str(forking_python()), "-m", "tests.interop.accord_agent")


def agent_on(sdk: str, edition: str, home: Path) -> Program:
    """The agent among the peers that is written on an SDK; `home` is its interpreter or its folder of modules."""
    return _program(sdk, f"{sdk}_{edition}_agent", home)


def client_on(sdk: str, edition: str, home: Path) -> Program:
    """The client among the peers that is written on an SDK. It takes the agent's command line as arguments."""
    return _program(sdk, f"{sdk}_{edition}_client", home)


def rich_client_on(sdk: str, edition: str, home: Path, project: Path, state: Path) -> Program:
    """The client among the peers that holds the rich conversation; the agent keeps its sessions below `state`."""
    program = _program(sdk, f"rich_{sdk}_{edition}_client", home)
    return program._replace(env={**program.env, "ACCORD_PROJECT": str(project), "XDG_STATE_HOME": str(state)})


def rich_agent_on(sdk: str, edition: str, home: Path, state: Path) -> Program:
    """The agent among the peers that holds the rich conversation; it keeps its one session below `state`."""
    program = _program(sdk, f"rich_{sdk}_{edition}_agent", home)
    return program._replace(env={**program.env, "XDG_STATE_HOME": str(state)})


def _program(sdk: str, name: str, home: Path) -> Program:
    if sdk == "ts":
        return Program(("node", str(PEERS / f"{name}.mjs")), {"ACCORD_TS_PEER": str(home)})
    # Warnings are the SDK's own business; what it fails at is asserted.
    return Program((str(forking_python(str(home), "acp")), "-W", "ignore", str(PEERS / f"{name}.py")), {})


async def hold(client: Program, agent: Sequence[str] = ()) -> Conversation:
    """Let a peer's client talk with our agent, and read its report."""
    process = await asyncio.create_subprocess_exec(
        *client.argv,
        *(agent or accord_agent()),
        cwd=ROOT,  # where `-m tests.interop…` is found, also by what the client starts
        env={**os.environ, **client.env},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(CLIENT_SECONDS):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode(errors="replace")[-4000:]
    report = json.loads(out)
    return Conversation(report["scenes"], report["exit"])


def is_gone(pid: int) -> bool:
    """Whether nothing of a process is left, not even a zombie."""
    return not Path(f"/proc/{pid}").exists()
