"""Loading a long session: an agent with SQLite, 200,000 messages, other sessions that are opened meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from accord.session.content import Text
from accord.session.event import Event, MessageChanged, Speaker
from accord.stores import SessionRecord, SqliteStore
from benchmarks.harness import ROOT, Results, environment, table

__all__ = ["measure"]

MESSAGES = 200_000
OPENED_MEANWHILE = 10
_MOST_ROUNDS = 3
_GROUP = 500
_PLACE = {"cwd": "/tmp", "mcpServers": []}  # noqa: S108 - no file is made there
_TALK: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "accord": ({"protocolVersion": 1, "clientCapabilities": {}}, "session/load", {}),
    "accord-v2": (
        {"protocolVersion": 2, "info": {"name": "benchmark", "version": "1"}, "capabilities": {}},
        "session/resume",
        {"replayFrom": {"type": "start"}},
    ),
}


def measure(rounds: int) -> Results:
    """Seconds to the answer, the longest `session/new` beside it, and what the agent took, in v1 and v2."""
    results = Results("load200k", {name: [] for name in _TALK})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sessions.db")
        asyncio.run(_fill(path))
        for _ in range(min(rounds, _MOST_ROUNDS)):
            for name in _TALK:
                results.rounds[name].append(asyncio.run(_load(path, name)))
    return results


async def _fill(path: Path) -> None:
    store = SqliteStore(path)
    await store.create(SessionRecord("long", "/tmp", 1.0, 1.0))  # noqa: S108
    speakers: tuple[Speaker, Speaker] = ("user", "agent")
    for start in range(0, MESSAGES, _GROUP):
        events: list[Event] = [
            MessageChanged(speakers[number % 2], f"message-{number:012x}", [Text(f"{number:08d} " + "x" * 91)])
            for number in range(start, start + _GROUP)
        ]
        await store.append("long", events)
    await store.close()


async def _load(path: Path, name: str) -> dict[str, float]:
    introduction, method, more = _TALK[name]
    agent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.history",
        str(path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
    )
    assert agent.stdin is not None
    writer = agent.stdin

    def send(number: int, method: str, params: dict[str, Any]) -> float:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        writer.write(json.dumps(message).encode() + b"\n")
        return time.perf_counter()

    lines = _lines(agent)
    send(0, "initialize", introduction)
    await anext(lines)
    began = send(1, method, {"sessionId": "long", **_PLACE, **more})
    updates, asked = 0, 0.0
    waits: list[float] = []
    async for line in lines:
        now = time.perf_counter()
        if b'"method":' in line[:60]:
            updates += 1
        elif json.loads(line)["id"] == 1:
            break
        else:
            waits.append(now - asked)
            asked = 0.0
        if not asked and updates >= len(waits) * MESSAGES / OPENED_MEANWHILE:
            asked = send(2 + len(waits), "session/new", _PLACE)
    seconds = time.perf_counter() - began
    if updates < MESSAGES:
        raise ValueError(f"{MESSAGES} messages became {updates} updates")
    spent = _spent(agent.pid)
    writer.close()
    await agent.wait()
    return {"load_s": seconds, "new_session_ms": max(waits) * 1e3, **spent}


async def _lines(agent: asyncio.subprocess.Process) -> AsyncIterator[bytes]:
    assert agent.stdout is not None
    rest = b""
    while data := await agent.stdout.read(1 << 20):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line


def _spent(pid: int) -> dict[str, float]:
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(times[11]) + int(times[12])
    return {"agent_peak_rss_mb": int(peak.split()[1]) / 1024, "agent_cpu_s": ticks / os.sysconf("SC_CLK_TCK")}


def _serve(path: str) -> None:
    import accord  # noqa: PLC0415 - the agent's part

    agent = accord.Agent("history", store=accord.SqliteStore(path))

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say("done")

    agent.run()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _serve(sys.argv[1])
    else:
        print(table(measure(_MOST_ROUNDS)))
