"""The tools of the rehearsed agents, as plain functions: every framework makes its own tools of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import accord
from tests.adapters.adapter_contract import note_begin, released
from tests.limits import limit

__all__ = [
    "block",
    "delete_file",
    "fail",
    "leave",
    "leave_later",
    "raise_error",
    "read_file",
    "sleep",
    "write_file",
    "write_todos",
]


async def delete_file(path: str) -> str:
    """Delete a file."""
    (Path(accord.current_turn(blocking=False).session.cwd) / path).unlink()
    return "removed"


async def fail() -> str:
    """Fail with words that the author chose; what frameworks take for them differs."""
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


class Panic(BaseException):
    """As extension modules raise it."""


WAYS_OUT = {"exit": SystemExit, "interrupt": KeyboardInterrupt, "panic": Panic}


def leave(how: str) -> str:
    """End the program from a function, which a framework may run in a thread."""
    raise WAYS_OUT[how]("secret-in-the-exception")


async def leave_later(how: str) -> str:
    """End the program from a task of the loop."""
    await asyncio.sleep(0)
    raise WAYS_OUT[how]("secret-in-the-exception")


async def raise_error() -> str:
    """Raise something unforeseen."""
    raise ValueError("secret-in-the-exception")


def write_todos(todos: list[dict[str, str]]) -> str:
    """Note todos."""
    return f"{len(todos)} noted"
