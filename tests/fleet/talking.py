"""A client's steps that several tests take."""

from __future__ import annotations

import asyncio
import subprocess

import accord
from tests.fleet.nodes import TestFleet
from tests.forked_async import AwaitedProgram, serve_command
from tests.limits import limit
from tests.postgres import Database

__all__ = ["address", "answer_to", "ended", "fleet_command", "heard"]


def address(fleet: TestFleet, node: str) -> str:
    return f"ws://127.0.0.1:{fleet.nodes[node].port}/acp"


async def heard(turn: accord.client.Turn, text: str) -> None:
    """Read a turn until the agent has said something."""
    async with asyncio.timeout(limit(20.0)):
        async for _ in turn:
            if text in turn.answer:
                return


async def ended(turn: accord.client.Turn) -> None:
    """Read a turn to its end."""
    async with asyncio.timeout(limit(30.0)), turn:
        async for _ in turn:
            pass


async def answer_to(session: accord.client.Session, text: str) -> str:
    """The agent's whole answer to a prompt."""
    async with asyncio.timeout(limit(30.0)), session.prompt(text) as turn:
        async for _ in turn:
            pass
    assert turn.stop_reason == "end_turn"
    return turn.answer


async def fleet_command(database: Database, *arguments: str, **environment: str) -> tuple[int, str]:
    """`accord fleet` with arguments: its exit status, and what it prints."""
    process = await AwaitedProgram.start(
        serve_command(),
        ("accord", "fleet", *arguments),
        env={"ACCORD_STORE": database.conninfo, "PATH": "", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    async with asyncio.timeout(limit(40.0)):
        out, error = await process.communicate()
    return process.returncode or 0, (out + error).decode()
