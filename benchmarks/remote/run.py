"""Accord's server beside those of the official SDKs, in one run of interleaved rounds, and which goals were met."""

from __future__ import annotations

import argparse
import os
import resource
import sys

from benchmarks.goals import judge, verdict_table
from benchmarks.harness import Results, table
from benchmarks.remote.scenarios import SCENARIOS
from benchmarks.remote.server_process import SERVERS, serving
from benchmarks.verdict import has_typescript, machine

__all__ = ["main"]

_DESCRIPTORS = 16_384


def main() -> int:
    options = _options()
    names = list(SCENARIOS) if options.scenarios is None else options.scenarios.split(";")
    rounds = options.rounds or (3 if options.quick else 7)
    _allow_descriptors()
    print(machine(rounds), f"\nLoad of the machine: {os.getloadavg()[0]:.1f}", flush=True)
    servers = [name for name in options.servers.split(",") if name != "ts-official" or has_typescript()]
    results: dict[str, Results] = {}
    for name in names:
        results[name] = _play(name, servers, rounds, quick=options.quick)
        print(f"\n{table(results[name])}", flush=True)
    verdicts = [each for each in judge(results) if each.goal.scenario in results]
    print(f"\n{verdict_table(verdicts)}\n\nLoad of the machine: {os.getloadavg()[0]:.1f}")
    return 1 if any(verdict.missed for verdict in verdicts) else 0


def _play(name: str, servers: list[str], rounds: int, *, quick: bool) -> Results:
    scenario = SCENARIOS[name]
    results = Results(name, {server: [] for server in servers})
    for number in range(min(rounds, scenario.most_rounds)):
        first = number % len(servers)
        for each in [*servers[first:], *servers[:first]]:
            try:
                with serving(each) as server:
                    numbers = scenario.play(server, quick=quick)
            except (OSError, ValueError) as error:
                print(f"! {name}, {each}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                numbers = {}
            results.rounds[each].append(numbers)
    return results


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run --remote", description=__doc__)
    parser.add_argument("--rounds", type=int, help="interleaved rounds per scenario: 7, or 3 with --quick")
    parser.add_argument("--quick", action="store_true", help="smaller counts: for a look, not for a verdict")
    parser.add_argument("--scenarios", help=f"some of {';'.join(SCENARIOS)}, with semicolons")
    parser.add_argument("--servers", default=",".join(SERVERS), help="some of them, with commas; the first is the base")
    return parser.parse_args()


def _allow_descriptors() -> None:
    """For 1,000 connections and their streams; the servers inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())
