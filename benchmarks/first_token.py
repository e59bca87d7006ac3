"""How long the first prompt waits for its first word, beyond what the provider takes itself.

`accord agent` with a model on loopback that answers at once. The prompt is sent some seconds after the session was
opened, as by a user who types: meanwhile the agent loads the packages of the provider.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any

from benchmarks.harness import ROOT, Results, environment, table

__all__ = ["measure"]

_AGENT = [".venv/bin/python", "-m", "accord", "agent", "--store", "none", "--model", "fast"]
_TYPING_SECONDS = 6.0
_TIMEOUT_SECONDS = 60
# Without them a notice would be a message, and look like the first word.
_NOTICES: dict[str, Any] = {"session": {"notices": {}}}
_CHUNK = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "fast"}


def measure(rounds: int) -> Results:
    """Milliseconds from a prompt to its first word, without those of the provider."""
    results = Results("first_token", {"first prompt": [], "second prompt": []})
    with _provider() as (url, seconds), tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, waited in zip(results.rounds, _prompts(url, folder), strict=True):
                results.rounds[name].append({"beyond_ms": (waited - seconds.pop(0)) * 1e3})
    return results


def _prompts(url: str, folder: str) -> Iterator[float]:
    env = {**environment(), "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
    with subprocess.Popen(
        [*_AGENT, "--base-url", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=env
    ) as agent:
        guard = threading.Timer(_TIMEOUT_SECONDS, agent.kill)
        guard.start()
        assert agent.stdin is not None
        assert agent.stdout is not None
        _send(agent.stdin, 1, "initialize", {"protocolVersion": 1, "clientCapabilities": _NOTICES})
        _until(agent.stdout, lambda message: message.get("id") == 1)
        _send(agent.stdin, 2, "session/new", {"cwd": folder, "mcpServers": []})
        session = _until(agent.stdout, lambda message: message.get("id") == 2)["result"]["sessionId"]
        time.sleep(_TYPING_SECONDS)
        for number in (3, 4):
            began = time.perf_counter()
            prompt = [{"type": "text", "text": "hello"}]
            _send(agent.stdin, number, "session/prompt", {"sessionId": session, "prompt": prompt})
            _until(agent.stdout, lambda message: "agent_message_chunk" in str(message))
            yield time.perf_counter() - began
            _until(agent.stdout, lambda message, wanted=number: message.get("id") == wanted)
        agent.stdin.close()
        agent.wait()
        guard.cancel()


def _send(stream: IO[bytes], number: int, method: str, params: dict[str, Any]) -> None:
    stream.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
    stream.flush()


def _until(stream: IO[bytes], wanted: Any) -> dict[str, Any]:
    for line in stream:
        message: dict[str, Any] = json.loads(line)
        if wanted(message):
            return message
    raise EOFError("the agent left before it answered")


@contextmanager
def _provider() -> Iterator[tuple[str, list[float]]]:
    """A model that says one word at once, and how long it took to say it, request by request."""
    seconds: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            began = time.perf_counter()
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for delta, finish in (({"role": "assistant", "content": "Hello."}, None), ({}, "stop")):
                choice = {"index": 0, "delta": delta, "finish_reason": finish}
                self.wfile.write(b"data: " + json.dumps({**_CHUNK, "choices": [choice]}).encode() + b"\n\n")
                self.wfile.flush()
                if finish is None:
                    seconds.append(time.perf_counter() - began)
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, *_: Any) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seconds
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    print(table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3)))
