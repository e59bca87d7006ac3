"""Measures the index of a trace: how fast it is made, how large it is, how fast it finds a message or a filter's rows.

    python -m benchmarks.trace_index [--messages 1000000]

A file of that many messages (400 MB for 1,000,000) is made in a temporary folder. The speed is per second of one
core's time, not of the clock, so that another program on the machine disturbs it less; run it on a quiet machine all
the same. The index is made in a process of its own, whose peak memory is what is reported.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from accord.trace.index import RowFilter, TraceIndex, message_at
from accord.trace.index_file import index_path

MESSAGE_BYTES = 400
GOALS = {
    "speed, MB per second of one core": (">=", 50.0),
    "peak memory, MB": ("<=", 300.0),
    "one message, ms, the median of 50": ("<=", 10.0),
    "one message, ms, the slowest of 50": ("<=", 10.0),
    "filter by session, s per 100,000": ("<=", 0.3),
    "filter by method, s per 100,000": ("<=", 0.3),
    "filter by errors, s per 100,000": ("<=", 0.3),
    "filter by text, s per 100,000": ("<=", 0.3),
}


def make(path: Path, count: int) -> None:
    """A conversation of 20 sessions: mostly chunks, with prompts and their answers between them."""
    chance = random.Random(1)
    words = [f"word{number} " for number in range(1000)]

    def line(source: str, target: str, message: dict[str, object], t: float) -> str:
        raw = json.dumps({"jsonrpc": "2.0", **message})
        record = {"type": "text", "t": t, "conn": 1, "from": source, "to": target, "raw": raw}
        return json.dumps(record) + "\n"

    with path.open("w", encoding="utf-8") as file:
        header = {"type": "header", "t": 0.0, "format": "accord-trace", "version": 1, "tool": "benchmark"}
        file.write(json.dumps({**header, "command": [], "cwd": "/", "redacted": True, "ends": []}) + "\n")
        for number in range(count):
            t, session = number / 1000, f"session-{number % 20}"
            turn, place = divmod(number, 50)
            if place == 0:
                params: dict[str, object] = {"sessionId": session, "prompt": [{"type": "text", "text": "go on"}]}
                message: dict[str, object] = {"id": turn, "method": "session/prompt", "params": params}
                file.write(line("client", "agent", message, t))
            elif place == 49:
                message = {"id": turn, "result": {"stopReason": "end_turn"}}
                if turn % 10 == 0:
                    message = {"id": turn, "error": {"code": -32603, "message": "no"}}
                file.write(line("agent", "client", message, t))
            else:
                text = "".join(chance.choices(words, k=13))
                content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
                params = {"sessionId": session, "update": content}
                file.write(line("agent", "client", {"method": "session/update", "params": params}, t))


def index(path: Path) -> None:
    """The child's part: make the index, and print the time and the memory that it took."""
    size = path.stat().st_size
    before = time.process_time()
    with TraceIndex.open(path) as made:
        rows = len(made)
    spent = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": rows, "speed": size / 1e6 / spent, "peak": peak}))


def measure(path: Path) -> dict[str, float]:
    index_path(path).unlink(missing_ok=True)
    line = [sys.executable, "-m", "benchmarks.trace_index", "--index", str(path)]
    done = json.loads(subprocess.run(line, check=True, capture_output=True, timeout=600).stdout)
    found = {"speed, MB per second of one core": done["speed"], "peak memory, MB": done["peak"]}
    rows = done["rows"]
    chance = random.Random(2)
    times = []
    for _ in range(50):
        before = time.perf_counter()
        record = message_at(path, chance.randrange(rows))
        times.append(time.perf_counter() - before)
        assert record is not None
    found["one message, ms, the median of 50"] = statistics.median(times) * 1000
    found["one message, ms, the slowest of 50"] = max(times) * 1000
    with TraceIndex.open(path) as made:
        for name, wanted in (
            ("session", RowFilter(session="session-3")),
            ("method", RowFilter(method="session/prompt")),
            ("errors", RowFilter(errors=True)),
            ("text", RowFilter(grep=re.compile("word12 word13 "))),
        ):
            before = time.process_time()
            count = len(list(made.select(wanted)))
            found[f"filter by {name}, s per 100,000"] = (time.process_time() - before) / rows * 100_000
            assert count or name == "text"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--index", metavar="FILE", help="index a file and print what it took")
    given = parser.parse_args()
    if given.index:
        index(Path(given.index))
        return 0
    with tempfile.TemporaryDirectory(prefix="accord-benchmark-") as folder:
        path = Path(folder) / "trace.jsonl"
        make(path, given.messages)
        print(f"{given.messages} messages, {path.stat().st_size / 1e6:.0f} MB")
        found = measure(path)
        print(f"index: {index_path(path).stat().st_size / 1e6:.0f} MB")
    missed = 0
    for name, value in found.items():
        bound, limit = GOALS[name]
        is_met = value >= limit if bound == ">=" else value <= limit
        missed += not is_met
        print(f"{name:40} {value:10.3f}  {bound} {limit:<6g} {'met' if is_met else 'MISSED'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
