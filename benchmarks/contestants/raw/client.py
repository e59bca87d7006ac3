"""The floor: a client without an SDK that counts newlines. Isolates the agent under test."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.contestants.meter import Meter, file_text
from benchmarks.contestants.raw.line import Lines

Scenario = dict[str, Any]


class Client:
    def __init__(self, argv: list[str]) -> None:
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.lines = Lines(self.process.stdout.fileno(), self.process.stdin.fileno())
        self.ids = itertools.count(1)

    def send(self, method: str, params: dict[str, Any]) -> int:
        id_ = next(self.ids)
        self.lines.send({"id": id_, "method": method, "params": params})
        return id_

    def call(self, method: str, params: dict[str, Any]) -> Any:
        id_ = self.send(method, params)
        while True:
            message = json.loads(self.lines.read())
            if message.get("id") == id_ and "method" not in message:
                return message["result"]

    def send_new_session(self) -> int:
        return self.send("session/new", {"cwd": str(Path.cwd()), "mcpServers": []})

    def send_prompt(self, session: str, command: dict[str, Any]) -> int:
        return self.send("session/prompt", {"sessionId": session, "prompt": [text(command)]})

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.terminate()


def text(command: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": json.dumps(command)}


def startup(client: Client, _: Scenario, session: str) -> dict[str, Any]:
    client.send_prompt(session, {"op": "stream", "n": 1, "size": 100})
    while b'"session/update"' not in client.lines.read():
        pass
    return {"first_update_abs": time.monotonic()}


def stream(client: Client, scenario: Scenario, session: str) -> dict[str, Any]:
    meter = Meter(client.process.pid)
    return take(client, meter, [session], {"op": "stream", "n": scenario["n"], "size": scenario["size"]})


def sessions(client: Client, scenario: Scenario, _: str) -> dict[str, Any]:
    meter = Meter(client.process.pid)
    count = scenario["sessions"]
    # A full pipe in both directions must not be a deadlock, so another thread writes.
    threading.Thread(target=lambda: [client.send_new_session() for _ in range(count)]).start()
    names = [json.loads(client.lines.read())["result"]["sessionId"] for _ in range(count)]
    return take(client, meter, names, {"op": "stream", "n": scenario["chunks"], "size": scenario["size"]})


def take(client: Client, meter: Meter, names: list[str], command: dict[str, Any]) -> dict[str, Any]:
    threading.Thread(target=lambda: [client.send_prompt(name, command) for name in names]).start()
    wanted = len(names) * (command["n"] + 1)
    received = 0
    while received < wanted:
        received += client.lines.read_some().count(b"\n")
    return {**meter.stop(), "received": received - len(names), "ooo": 0}


def ping(client: Client, scenario: Scenario, session: str) -> dict[str, Any]:
    params = {"sessionId": session, "modeId": "m"}
    for _ in range(scenario["warm"]):
        client.call("session/set_mode", params)
    latencies = []
    meter = Meter(client.process.pid)
    for _ in range(scenario["n"]):
        began = time.perf_counter()
        client.call("session/set_mode", params)
        latencies.append((time.perf_counter() - began) * 1e6)
    return {**meter.stop(), "lat_us": latencies}


def read(client: Client, scenario: Scenario, session: str) -> dict[str, Any]:
    size = scenario["size"]
    body = json.dumps({"content": file_text(size)}).encode()
    meter = Meter(client.process.pid)
    client.send_prompt(session, {"op": "read", "n": scenario["n"], "path": f"/bench/{size}", "size": size})
    while True:
        message = json.loads(client.lines.read())
        if "method" not in message:
            return {**meter.stop(), "lat_us": message["result"]["_meta"]["lat_us"]}
        id_ = json.dumps(message["id"]).encode()
        client.lines.write(b'{"jsonrpc":"2.0","id":%s,"result":%s}\n' % (id_, body))


def image(client: Client, scenario: Scenario, session: str) -> dict[str, Any]:
    data = "iVBORw0KGgoAAAAN" * (scenario["size"] // 16)
    prompt = [text({"op": "noop"}), {"type": "image", "data": data, "mimeType": "image/png"}]
    latencies = []
    meter = Meter(client.process.pid)
    for _ in range(scenario["n"]):
        began = time.perf_counter()
        result = client.call("session/prompt", {"sessionId": session, "prompt": prompt})
        latencies.append((time.perf_counter() - began) * 1e6)
        assert result["_meta"]["bytes"] == len(data)
    return {**meter.stop(), "lat_us": latencies}


PLAYS = {
    "startup": startup,
    "stream": stream,
    "sessions": sessions,
    "ping": ping,
    "read": read,
    "bigprompt": image,
}


def main() -> None:
    scenario = json.loads(sys.argv[sys.argv.index("--scenario") + 1])
    began = time.monotonic()
    client = Client(sys.argv[sys.argv.index("--") + 1 :])
    files = {"readTextFile": True, "writeTextFile": False}
    client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": files}})
    result: dict[str, Any] = {"init_s": time.monotonic() - began}
    id_ = client.send_new_session()
    answer = json.loads(client.lines.read())
    assert answer["id"] == id_
    result |= PLAYS[scenario["kind"]](client, scenario, answer["result"]["sessionId"])
    if "first_update_abs" in result:
        result["first_update_s"] = result["first_update_abs"] - began
    client.close()
    print(json.dumps(result))


main()
