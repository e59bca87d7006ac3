"""The tools of the rehearsed agents, as plain functions: every framework makes its own tools of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import accord
from tests.adapters.adapter_contract import note_begin, released
from tests.limits import limit

__all__ = ["block", "delete_file", "fail", "raise_error", "read_file", "sleep", "write_file", "write_todos"]


async def delete_file(path: str) -> str:
    """Delete a file."""
    (Path(accord.current_turn(blocking=False).session.cwd) / path).unlink()
    return "removed"


async def fail() -> str:
    """Fail as tools do."""
    raise ValueError("it does not work")


async def write_file(path: str, content: str) -> str:
    """Write a file."""
    await accord.current_turn(blocking=False).files.write(path, content)
    return "written"


def read_file(path: str) -> str:
    """Read a file."""
    return accord.current_turn(blocking=True).files.read(path)


async def sleep() -> str:
    """Sleep for an hour."""
    note_begin(accord.current_turn(blocking=False).session.cwd)
    await asyncio.sleep(3600)
    return "slept"


def block() -> str:
    """Wait in a thread that nobody can stop."""
    cwd = accord.current_turn(blocking=True).session.cwd
    note_begin(cwd)
    released(cwd).wait(limit(60.0))
    return "blocked"


async def raise_error() -> str:
    """Raise something unforeseen."""
    raise ValueError("secret-in-the-exception")


def write_todos(todos: list[dict[str, str]]) -> str:
    """Note todos."""
    return f"{len(todos)} noted"
