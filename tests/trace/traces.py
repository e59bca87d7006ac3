"""Traces for tests: lines of the format, and conversations of any length."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "samples"
CLIENT, AGENT = ("client", "agent"), ("agent", "client")


def header(**facts: Any) -> bytes:
    """A header of version 1."""
    value = {"type": "header", "t": 100.0, "format": "accord-trace", "version": 1, "tool": "accord", "command": []}
    return _line({**value, "cwd": "/", "redacted": True, "ends": ["client", "agent"], **facts})


def text(ends: tuple[str, str], message: Any, *, t: float = 100.0, connection: int = 1, **facts: Any) -> bytes:
    """A text; a message that is no string is written as JSON."""
    raw = message if isinstance(message, str) else json.dumps(message, separators=(",", ":"))
    return _line({"type": "text", "t": t, "conn": connection, "from": ends[0], "to": ends[1], "raw": raw, **facts})


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def request(id_: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def result(id_: Any, **values: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": values}


def error(id_: Any, code: int, message: str = "no") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def chunk(session: str, word: str) -> dict[str, Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": word}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}


def handshake() -> Iterator[bytes]:
    yield text(CLIENT, request(0, "initialize", protocolVersion=1, clientCapabilities={}), t=100.0)
    yield text(AGENT, result(0, protocolVersion=1, agentCapabilities={}), t=100.1)
    yield text(CLIENT, request(1, "session/new", cwd="/p", mcpServers=[]), t=100.2)
    yield text(AGENT, result(1, sessionId="s1"), t=100.3)


def turns(count: int, chunks: int, session: str = "s1") -> Iterator[bytes]:
    """Turns of a session, each with some chunks."""
    t = 101.0
    for turn in range(count):
        prompt = [{"type": "text", "text": f"question {turn}"}]
        yield text(CLIENT, request(10 + turn, "session/prompt", sessionId=session, prompt=prompt), t=t)
        for number in range(chunks):
            t += 0.001
            yield text(AGENT, chunk(session, f"{turn}.{number} "), t=t)
        t += 0.5
        yield text(AGENT, result(10 + turn, stopReason="end_turn"), t=t)


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path
