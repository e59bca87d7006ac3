"""An agent, or with `--client` a client, that writes without end from a moment on; `argv[1]` says what it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

KIND = sys.argv[1]
UPDATE = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello "}}


def message(session: Any) -> Any:
    params = {"sessionId": session}
    kinds: dict[str, Any] = {
        "updates": {"jsonrpc": "2.0", "method": "session/update", "params": {**params, "update": UPDATE}},
        "notifications": {"jsonrpc": "2.0", "method": "_example.com/note"},
        "requests": {"jsonrpc": "2.0", "id": 7, "method": "terminal/output", "params": {**params, "terminalId": "t"}},
        "prompts": {"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": {**params, "prompt": []}},
        "brackets": [[] for _ in range(100_000)],
    }
    return kinds[KIND]


def flood(session: Any, write: Any) -> None:
    if KIND == "line":
        while True:
            write(b"x" * 65536)
    lines = (json.dumps(message(session)) + "\n").encode()
    lines *= max(1, 65536 // len(lines))
    while True:
        write(lines)


def answer(id_: Any, result: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}) + "\n")
    sys.stdout.flush()


def serve() -> None:
    sessions = 0
    for line in sys.stdin:
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if not isinstance(said, dict) or "id" not in said or "method" not in said:
            continue
        params = said.get("params")
        params = params if isinstance(params, dict) else {}
        if said["method"] == "initialize" and params.get("protocolVersion") == 2 and "info" in params:
            info = {"name": "endless", "version": "1"}
            answer(said["id"], {"protocolVersion": 2, "capabilities": {"session": {}}, "info": info})
        elif said["method"] == "initialize":
            answer(said["id"], {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        elif said["method"] == "session/new":
            sessions += 1
            answer(said["id"], {"sessionId": f"s{sessions}"})
        elif said["method"] == "session/prompt":
            flood(params.get("sessionId"), sys.stdout.buffer.write)
        else:
            error = {"code": -32601, "message": "Method not found"}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": said["id"], "error": error}) + "\n")
            sys.stdout.flush()


def be_client(agent: list[str]) -> None:
    with subprocess.Popen(agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        write, read = process.stdin, process.stdout
        assert write is not None
        assert read is not None
        for id_, (method, params) in enumerate(
            (
                ("initialize", {"protocolVersion": 1, "clientCapabilities": {}}),
                ("session/new", {"cwd": "/tmp", "mcpServers": []}),  # noqa: S108
            )
        ):
            line = json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) + "\n"
            write.write(line.encode())
            write.flush()
        session = None
        while session is None:
            session = (json.loads(read.readline()).get("result") or {}).get("sessionId")
        flood(session, write.write)


if __name__ == "__main__":
    if sys.argv[2:3] == ["--client"]:
        be_client(sys.argv[3:])
    else:
        serve()
