"""The whole comparison in one run: all scenarios, our editions, import times, and which goals were kept."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import command, first_token, history, imports, tap
from benchmarks.goals import judge, verdict_table
from benchmarks.harness import ROOT, Results, find_pairs, play, table
from benchmarks.scenarios import BEHAVIOUR, SCENARIOS

__all__ = ["has_typescript", "machine", "main"]

_CONTESTANTS = ("py-official", "ts-official", "accord")
_EDITIONS = ("accord", "accord-v2", "accord-v2-june")
_OF_EDITIONS = ("startup", "stream50k", "ping", "image20m", "sessions1000")
# One side alone, with nothing but bytes on the other.
_SIDES = {
    "clients": ("py-official>raw", "accord>raw", "accord-turns>raw"),
    "agents": ("raw>py-official", "raw>accord", "raw>accord-turns", "raw>accord-turns-stored"),
}
_OF_SIDES = "stream50k"
_BEHAVIOUR_ROUNDS = 3
# Processes that are started and not talked to: cheap, so there are more rounds.
_STARTS: dict[str, Callable[[int], Results]] = {
    "import": imports.measure,
    "coding_agent": command.measure_agent,
    "first_token": first_token.measure,
    "version": command.measure_version,
    "load200k": history.measure,
    "tap": lambda rounds: tap.measure_stream(rounds // _START_ROUNDS),
    "tap round trip": lambda rounds: tap.measure_round_trip(rounds // _START_ROUNDS),
}
_START_ROUNDS = 3


def main() -> int:
    options = _options()
    names = [*SCENARIOS, *_STARTS] if options.scenarios is None else options.scenarios.split(",")
    rounds = options.rounds or (3 if options.quick else 7)
    results: dict[str, Results] = {}

    def show(name: str, result: Results) -> None:
        results[name] = result
        print(f"\n{table(result)}", flush=True)

    print(machine(rounds), flush=True)
    contestants = find_pairs([name for name in _CONTESTANTS if name != "ts-official" or has_typescript()])
    for name in names:
        if name in _STARTS:
            show(name, _STARTS[name](rounds * _START_ROUNDS))
            continue
        few = min(rounds, _BEHAVIOUR_ROUNDS) if name in BEHAVIOUR else rounds
        show(name, play(contestants, name, few, quick=options.quick))
    editions = find_pairs(_EDITIONS)
    for name in _OF_EDITIONS:
        if name in names:
            show(f"{name}, editions", play(editions, name, rounds, quick=options.quick))
    for side, pairs in _SIDES.items():
        if _OF_SIDES in names:
            show(f"{_OF_SIDES}, {side}", play(find_pairs(pairs), _OF_SIDES, rounds, quick=options.quick))
    verdicts = judge(results)
    print(f"\n{verdict_table([each for each in verdicts if each.goal.scenario in results])}")
    return 1 if any(verdict.missed for verdict in verdicts) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run", description=__doc__)
    parser.add_argument("--rounds", type=int, help="interleaved rounds per scenario: 7, or 3 with --quick")
    parser.add_argument("--quick", action="store_true", help="smaller counts: for a look, not for a verdict")
    parser.add_argument("--scenarios", help=f"some of {','.join([*SCENARIOS, *_STARTS])}")
    return parser.parse_args()


def has_typescript() -> bool:
    return shutil.which("node") is not None and (ROOT / ".peers" / "ts" / "node_modules").is_dir()


def machine(rounds: int) -> str:
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    node = "absent"
    if has_typescript():
        node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return (
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {os.cpu_count()} x {processor[1] if processor else '?'},"
        f" {platform.system()} {platform.release()}, Python {platform.python_version()}, node {node}, {rounds} rounds."
        "\nMedians; in parentheses medians of the rounds' ratios to the first column."
    )


if __name__ == "__main__":
    sys.exit(main())
