"""Runs any client with any agent, all pairs interleaved in each round, and compares them by ratios.

As a program: `python -m benchmarks.harness --pairs "py-official,accord,accord>raw" --scenarios stream50k`. The first
pair is what the others are compared with; `A>B` is A's client with B's agent. Noise hits all pairs of a round alike, so
the median of the rounds' ratios is what counts; absolute numbers of two runs are not to be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.scenarios import QUICK, SCENARIOS, metrics

__all__ = ["ROOT", "Pair", "Results", "environment", "find_pairs", "play", "table"]

ROOT = Path(__file__).resolve().parent.parent
CONTESTANTS = ROOT / "benchmarks" / "contestants.json"
_TIMEOUT_SECONDS = 180


@dataclass
class Pair:
    """A client's command and an agent's."""

    name: str
    client: list[str]
    agent: list[str]
    lacks: frozenset[str] = frozenset()
    """Kinds of scenarios for which its protocol has no words."""


@dataclass
class Results:
    """The numbers of one scenario: per pair one dict per round, an empty one where the pair failed."""

    scenario: str
    rounds: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    def values(self, pair: str, metric: str) -> list[float]:
        return [numbers[metric] for numbers in self.rounds.get(pair, []) if metric in numbers]

    def ratios(self, pair: str, base: str, metric: str) -> list[float]:
        """Per round, what the pair has of the base's value; rounds in which either failed are left out."""
        rounds = zip(self.rounds.get(pair, []), self.rounds.get(base, []), strict=False)
        return [mine[metric] / theirs[metric] for mine, theirs in rounds if metric in mine and theirs.get(metric)]


def find_pairs(names: Sequence[str], file: Path = CONTESTANTS) -> list[Pair]:
    """The pairs that names like `accord` or `accord>raw` mean."""
    contestants = json.loads(file.read_text())
    pairs = []
    for name in names:
        client, _, agent = name.partition(">")
        ends = contestants[client], contestants[agent or client]
        lacks = frozenset(kind for end in ends for kind in end.get("lacks", ()))
        pairs.append(Pair(name, ends[0]["client"], ends[1]["agent"], lacks))
    return pairs


def environment() -> dict[str, str]:
    """The environment of a contestant: ours, without what changes how Python runs."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**inherited, "PYTHONPATH": str(ROOT)}


def play(pairs: Sequence[Pair], name: str, rounds: int, *, quick: bool = False) -> Results:
    """One scenario in interleaved rounds; who goes first rotates."""
    scenario = {**SCENARIOS[name], **(QUICK.get(name, {}) if quick else {})}
    pairs = [pair for pair in pairs if scenario["kind"] not in pair.lacks]
    results = Results(name, {pair.name: [] for pair in pairs})
    for number in range(rounds):
        first = number % len(pairs)
        for pair in [*pairs[first:], *pairs[:first]]:
            try:
                numbers = _play_once(pair, scenario)
            except (subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
                print(f"! {name}, {pair.name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                numbers = {}
            results.rounds[pair.name].append(numbers)
    return results


def _play_once(pair: Pair, scenario: dict[str, Any]) -> dict[str, float]:
    argv = [*pair.client, "--scenario", json.dumps(scenario), "--", *pair.agent]
    started_at = time.monotonic()
    client = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=ROOT, env=environment(), start_new_session=True
    )
    try:
        output, _ = client.communicate(timeout=_TIMEOUT_SECONDS)
    finally:
        # An agent whose client died is in its group, or sees the end of its stdin.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(client.pid, signal.SIGKILL)
        client.wait()
    if client.returncode:
        raise subprocess.CalledProcessError(client.returncode, pair.client)
    return metrics(scenario, json.loads(output.splitlines()[-1]), started_at)


def table(results: Results) -> str:
    """Medians, and in parentheses medians of the ratios to the first pair."""
    names = list(results.rounds)
    keys = next((list(numbers) for name in names for numbers in results.rounds[name] if numbers), [])
    lines = [f"| {results.scenario} | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    for key in keys:
        cells = []
        for name in names:
            values, ratios = results.values(name, key), results.ratios(name, names[0], key)
            ratio = f" ({statistics.median(ratios):.2f}x)" if ratios and name != names[0] else ""
            cells.append(f"{statistics.median(values):,.1f}{ratio}" if values else "failed")
        lines.append(f"| {key} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Ratios of any clients and agents.")
    parser.add_argument("--pairs", required=True, help="names of contestants.json, or CLIENT>AGENT, with commas")
    parser.add_argument("--contestants", type=Path, default=CONTESTANTS, help="another file than contestants.json")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="smaller counts")
    options = parser.parse_args()
    pairs = find_pairs(options.pairs.split(","), options.contestants)
    for name in options.scenarios.split(","):
        print(f"\n{table(play(pairs, name, options.rounds, quick=options.quick))}", flush=True)


if __name__ == "__main__":
    main()
