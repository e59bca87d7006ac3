"""Two nodes of a fleet on one PostgreSQL: how much longer a forwarded request takes, and the memory of an open session.

As a program: `python -m benchmarks.forwarding [--rounds N]`, on a server from a wheel or the one of `ACCORD_POSTGRES`.
The request is the smallest that there is, an acknowledgement by HTTP POST, over one kept-alive socket: to the node of
its connection, and by way of the other one, in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack

import accord
from benchmarks.fleet_nodes import TOKEN, RunningNode, running_node
from benchmarks.goals import Goal, judge, verdict_table
from benchmarks.harness import Results, table
from benchmarks.postgres import database, server

__all__ = ["measure", "measure_memory"]

_REQUESTS = 400
# One principal may have 256 open.
_SESSIONS = 240
_WARM_UP = 40
_RECEIVED = json.dumps({"jsonrpc": "2.0", "method": "_accord/received", "params": {"cursor": "0"}})
_INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})

GOALS = [
    Goal("forwarding adds to a request, p50 in ms", "forwarding", "ms", "added", None, "≤", 1),
    Goal("memory of an idle open session in its node, in kB", "memory", "kb_per_session", "accord", None, "≤", 40),
]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/run --fleet", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    results: dict[str, Results] = {}
    with server() as conninfo:
        with database(conninfo) as place:
            results["forwarding"] = measure(place, rounds)
        print(f"\n{table(results['forwarding'])}", flush=True)
        with database(conninfo) as place:
            results["memory"] = measure_memory(place)
        print(f"\n{table(results['memory'])}", flush=True)
    verdicts = judge(results, GOALS)
    print(f"\n{verdict_table(verdicts)}")
    return 1 if any(verdict.missed for verdict in verdicts) else 0


def measure(conninfo: str, rounds: int) -> Results:
    """Milliseconds of a request at the median: direct, forwarded, and the difference."""
    results = Results("forwarding", {"direct": [], "forwarded": [], "added": []})
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        nodes = [stack.enter_context(running_node(name, conninfo, folder)) for name in ("one", "two")]
        here, there = (http.client.HTTPConnection("127.0.0.1", node.port) for node in nodes)
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
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


def measure_memory(conninfo: str) -> Results:
    """Kilobytes that a node has more for each session that is open and idle after one turn; not those of the first."""
    with tempfile.TemporaryDirectory() as folder, running_node("one", conninfo, folder) as node:
        found = asyncio.run(_open_sessions(node, folder))
    return Results("memory", {"accord": [found]})


async def _open_sessions(node: RunningNode, folder: str) -> dict[str, float]:
    before = 0
    async with accord.connect(f"ws://127.0.0.1:{node.port}/acp", token=TOKEN) as agent:
        for number in range(_SESSIONS):
            if number == _WARM_UP:
                before = node.resident_bytes()
            session = await agent.new_session(cwd=folder)
            async with session.prompt(f"hello {number}") as turn:
                async for _ in turn:
                    pass
        return {"kb_per_session": (node.resident_bytes() - before) / 1000 / (_SESSIONS - _WARM_UP)}


if __name__ == "__main__":
    sys.exit(main())
