"""The start-up cost of the command: the coding agent to its `initialize` answer, and `--version`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from benchmarks.harness import ROOT, Results, environment, find_pairs, table

__all__ = ["measure_agent", "measure_version", "seconds_to_answer"]

_PYTHON = ".venv/bin/python"
_INITIALIZE = {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}}}
_TIMEOUT_SECONDS = 60


def measure_agent(rounds: int) -> Results:
    """Milliseconds from the start of the process to the answer, as an editor sees it: nothing but bytes on our side."""
    (official,) = find_pairs(["py-official"])
    cases = {"official agent": official.agent, "accord agent": [_PYTHON, "-m", "accord", "agent"]}
    results = Results("coding_agent", {name: [] for name in cases})
    with tempfile.TemporaryDirectory() as folder:
        # Nobody's own sessions are opened.
        env = {**environment(), "XDG_STATE_HOME": folder}
        for number in range(rounds):
            names = list(cases)
            for name in names if number % 2 else reversed(names):
                results.rounds[name].append({"init_ms": seconds_to_answer(cases[name], env) * 1e3})
    return results


def seconds_to_answer(argv: list[str], env: dict[str, str]) -> float:
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _INITIALIZE}).encode() + b"\n"
    began = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=env) as agent:
        guard = threading.Timer(_TIMEOUT_SECONDS, agent.kill)
        guard.start()
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(request)
        agent.stdin.flush()
        line = agent.stdout.readline()
        seconds = time.perf_counter() - began
        agent.stdin.close()
        agent.wait()
        guard.cancel()
    answer = json.loads(line)
    if answer.get("result", {}).get("protocolVersion") != 1:
        raise ValueError(f"{argv} answered {answer}")
    return seconds


def measure_version(rounds: int) -> Results:
    """Milliseconds of CPU of a whole process, user and system; `nothing` is the interpreter alone."""
    cases = {"nothing": [_PYTHON, "-c", "pass"], "accord --version": [_PYTHON, "-m", "accord", "--version"]}
    results = Results("version", {name: [] for name in cases})
    for _ in range(rounds):
        for name, argv in cases.items():
            results.rounds[name].append({"cpu_ms": _cpu_seconds(argv) * 1e3})
    return results


def _cpu_seconds(argv: list[str]) -> float:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    print(f"{table(measure_agent(count))}\n\n{table(measure_version(count))}")
