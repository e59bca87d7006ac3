"""What `accord tap` costs: a stream through it beside the same pair without it, and a round trip beside a bare relay.

As a program: `python -m benchmarks.tap 7`. The bare relay is two threads that read and write and do nothing else.

Where the system puts the processes of one start (on one core or on two) decides about a third of a round trip, and
stays as it is until they end. So each round starts every case several times, in turn, and takes the median of all.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from threading import Thread

from benchmarks.harness import ROOT, Pair, Results, environment, find_pairs, play, table

__all__ = ["measure_round_trip", "measure_stream"]

_PYTHON = str(ROOT / ".venv/bin/python")
_ECHO = [_PYTHON, "-c", "import os\nwhile data := os.read(0, 65536): os.write(1, data)"]
_RELAY = [_PYTHON, "-m", "benchmarks.tap", "relay", "--"]
_STARTS = 7
_PINGS, _WARM = 1000, 200
_TEXT = b'{"jsonrpc":"2.0","id":%d,"method":"session/set_mode","params":{"sessionId":"s","modeId":"code"}}\n'


def _tap(folder: str, name: str) -> list[str]:
    return [_PYTHON, "-m", "accord", "tap", "-w", f"{folder}/{name}.jsonl", "--"]


def measure_stream(rounds: int, *, quick: bool = False) -> Results:
    """`stream50k` of the official pair, of ours, and of ours through a tap."""
    official, ours = find_pairs(["py-official", "accord"])
    with tempfile.TemporaryDirectory() as folder:
        tapped = Pair("accord, tapped", ours.client, [*_tap(folder, "ours"), *ours.agent])
        slow = Pair("py-official, tapped", official.client, [*_tap(folder, "official"), *official.agent])
        results = play([official, slow, ours, tapped], "stream50k", rounds, quick=quick)
    return Results("tap", results.rounds)


def measure_round_trip(rounds: int, *, quick: bool = False) -> Results:
    """Microseconds of a ping through nothing, through the bare relay and through a tap, and what the last two add."""
    names = ("direct", "bare relay", "accord tap")
    results = Results("tap round trip", {name: [] for name in names})
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            found: dict[str, list[float]] = {name: [] for name in names}
            for start in range(3 if quick else _STARTS):
                tapped = [*_tap(folder, f"p{number}-{start}"), *_ECHO]
                cases = dict(zip(names, (_ECHO, [*_RELAY, *_ECHO], tapped), strict=True))
                first = (number + start) % len(names)
                for name in (*names[first:], *names[:first]):
                    found[name].append(_ping(cases[name], _PINGS))
            medians = {name: statistics.median(starts) for name, starts in found.items()}
            for name in names:
                added = medians[name] - medians["direct"]
                results.rounds[name].append({"p50_us": medians[name], "added_us": added})
    return results


def _ping(argv: list[str], count: int) -> float:
    spent = []
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment(), bufsize=0
    ) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        target, source = echo.stdin.fileno(), echo.stdout.fileno()
        for number in range(count + _WARM):
            text = _TEXT % number
            began = time.perf_counter()
            os.write(target, text)
            left = len(text)
            while left:
                left -= len(os.read(source, 65536))
            spent.append(time.perf_counter() - began)
        echo.stdin.close()
    return statistics.median(spent[_WARM:]) * 1e6


def _relay(command: list[str]) -> None:
    def pump(source: int, target: int) -> None:
        while data := os.read(source, 65536):
            os.write(target, data)
        os.close(target)

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        Thread(target=pump, args=(0, os.dup(child.stdin.fileno())), daemon=True).start()
        child.stdin.close()
        pump(child.stdout.fileno(), 1)


if __name__ == "__main__":
    if "relay" in sys.argv[1:2]:
        _relay(sys.argv[3:])
        sys.exit()
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(table(measure_round_trip(repetitions)), flush=True)
    print(table(measure_stream(repetitions, quick="--quick" in sys.argv)), flush=True)
