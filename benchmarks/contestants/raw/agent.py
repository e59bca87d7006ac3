"""The floor: an agent without an SDK, whose updates are bytes made beforehand. Isolates the client under test."""

from __future__ import annotations

import json
import time
from typing import Any

from benchmarks.contestants.raw.line import Lines

_UPDATE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":'
    b'"agent_message_chunk","content":{"type":"text","text":"'
)
_BATCH = 500

lines = Lines(0, 1)


def stream(session: str, count: int, size: int) -> None:
    head = _UPDATE % session.encode()
    tail = b" " + b"x" * (size - 9) + b'"}}}}\n'
    for start in range(0, count, _BATCH):
        numbers = range(start, min(count, start + _BATCH))
        lines.write(b"".join([b"%s%08d%s" % (head, number, tail) for number in numbers]))


def read(session: str, count: int, path: str, size: int) -> list[float]:
    latencies = []
    params = {"sessionId": session, "path": path}
    for _ in range(count):
        began = time.perf_counter()
        lines.send({"id": 1, "method": "fs/read_text_file", "params": params})
        answer = json.loads(lines.read())
        latencies.append((time.perf_counter() - began) * 1e6)
        assert len(answer["result"]["content"]) == size
    return latencies


def prompt(params: dict[str, Any]) -> dict[str, Any]:
    first, *others = params["prompt"]
    command = json.loads(first["text"])
    meta: dict[str, Any] = {}
    if command["op"] == "stream":
        stream(params["sessionId"], command["n"], command["size"])
    elif command["op"] == "read":
        meta["lat_us"] = read(params["sessionId"], command["n"], command["path"], command["size"])
    elif command["op"] == "noop":
        meta["bytes"] = sum(len(block["data"]) for block in others)
    return {"stopReason": "end_turn", "_meta": meta}


def main() -> None:
    sessions = 0
    while True:
        message = json.loads(lines.read())
        result: dict[str, Any] = {}
        if message.get("method") == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {}}
        elif message.get("method") == "session/new":
            sessions += 1
            result = {"sessionId": f"s{sessions}"}
        elif message.get("method") == "session/prompt":
            result = prompt(message["params"])
        if "id" in message:
            lines.send({"id": message["id"], "result": result})


main()
