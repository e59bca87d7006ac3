"""Terminals of the client (v1): what runs in them, what is kept of its output, and how they end."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from accord.check.case import Unseen
from accord.check.client.part import Notes, Turn, part
from accord.check.client.running import outlives
from accord.check.talk import StepFailed

__all__ = ["LIMIT_BYTES", "WORDS"]

WORDS = "ä€👋" * 20
"""Characters of two, three and four bytes: most places to cut are wrong."""
LIMIT_BYTES = 30
CREATE, OUTPUT, WAIT, LIMIT, KILL, RELEASE = (f"ACCORD-CLIENT-TERM-{number:03}" for number in (1, 2, 4, 5, 8, 10))
_PAUSE_SECONDS = 0.01


async def _create(turn: Turn, script: str, *args: str, **params: Any) -> tuple[Any, str]:
    """Run a script; gives the id of the request, and the terminal."""
    if os.name == "nt":
        raise Unseen("there is no sh here")
    given = {"command": "sh", "args": ["-c", script, "sh", *args], "cwd": turn.cwd, **params}
    id_ = turn.ask("terminal/create", **given)
    answer = await turn.answer(id_, CREATE)
    result = answer.get("result")
    terminal = result.get("terminalId") if isinstance(result, dict) else None
    if not isinstance(terminal, str) or not terminal:
        told = [each for each in turn.seat.entries if isinstance(each.message, dict) and each.message.get("id") == id_]
        raise StepFailed("terminal/create gave no terminal", CREATE, *told)
    return id_, terminal


async def _do(turn: Turn, verb: str, terminal: str, rule: str) -> Any:
    id_ = turn.ask(f"terminal/{verb}", terminalId=terminal)
    await turn.answer(id_, rule)
    return id_


@part("terminal", editions=("v1",), order=52)
async def command(turn: Turn) -> Notes:
    """A command with arguments, variables and a place, up to its end."""
    folder = str(turn.folder)
    script = 'printf "%s %s " "$1" "$ACCORD_CHECK_X"; pwd -P; exit 3'
    env = [{"name": "ACCORD_CHECK_X", "value": "ex"}]
    create, terminal = await _create(turn, script, "one two", env=env, cwd=folder)
    wait = await _do(turn, "wait_for_exit", terminal, WAIT)
    again = await _do(turn, "wait_for_exit", terminal, WAIT)
    output = await _do(turn, "output", terminal, OUTPUT)
    await _do(turn, "release", terminal, RELEASE)
    return {"create": create, "wait": wait, "again": again, "output": output, "said": f"one two ex {_real(folder)}\n"}


def _real(folder: str) -> str:
    return str(Path(folder).resolve())


@part("terminal", editions=("v1",), order=53)
async def limited(turn: Turn) -> Notes:
    """A command that says more than is to be kept."""
    create, terminal = await _create(turn, 'printf %s "$1"', WORDS, outputByteLimit=LIMIT_BYTES)
    await _do(turn, "wait_for_exit", terminal, WAIT)
    output = await _do(turn, "output", terminal, LIMIT)
    await _do(turn, "release", terminal, RELEASE)
    return {"create": create, "output": output}


async def _sleeper(turn: Turn, name: str) -> tuple[str, int]:
    """A command that goes on, and its process, once it has begun."""
    path = turn.folder / name
    _, terminal = await _create(turn, 'echo $$ > "$1.new"; mv "$1.new" "$1"; exec sleep 600', str(path))
    until = time.monotonic() + turn.options.timeout_seconds
    while (pid := _pid(path)) is None:
        if time.monotonic() > until:
            raise StepFailed("what should run in the terminal never began", CREATE)
        await asyncio.sleep(_PAUSE_SECONDS)
    return terminal, pid


def _pid(path: Path) -> int | None:
    return int(path.read_text(encoding="utf-8")) if path.exists() else None


@part("terminal", editions=("v1",), order=54)
async def killed(turn: Turn) -> Notes:
    """A command that is killed; what of it can be asked before and after."""
    terminal, _ = await _sleeper(turn, "killed")
    before = await _do(turn, "output", terminal, OUTPUT)
    kill = await _do(turn, "kill", terminal, KILL)
    wait = await _do(turn, "wait_for_exit", terminal, KILL)
    after = await _do(turn, "output", terminal, KILL)
    await _do(turn, "release", terminal, RELEASE)
    return {"before": before, "kill": kill, "wait": wait, "after": after}


@part("terminal", editions=("v1",), order=55)
async def released(turn: Turn) -> Notes:
    """A command that is released while it runs and somebody waits for it."""
    terminal, pid = await _sleeper(turn, "released")
    wait = turn.ask("terminal/wait_for_exit", terminalId=terminal)
    # So that it is being waited for when it is released.
    await turn.is_alive("ACCORD-CLIENT-TERM-011")
    release = await _do(turn, "release", terminal, RELEASE)
    alive = await outlives(pid, turn.options.grace_seconds)
    after = [await _do(turn, verb, terminal, RELEASE) for verb in ("output", "wait_for_exit", "kill", "release")]
    return {"wait": wait, "release": release, "alive": alive, "after": after}


@part("terminal", editions=("v1",), order=80)
async def left_running(turn: Turn) -> Notes:
    """A command that runs when the client ends; how that went is noted then."""
    _, pid = await _sleeper(turn, "left")
    return {"pid": pid}
