"""The start of an agent of each framework by `accord agent module:agent`, beside that of the official SDK's agent.

    python -m benchmarks.adapters [ROUNDS]

Milliseconds from the start of the process to the answer to `initialize`, and their ratio. The frameworks are those that
`scripts/adapters` has installed below `.peers/frameworks`; it is run by hand and has no place in the verdict.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.command import seconds_to_answer
from benchmarks.harness import ROOT, environment, find_pairs
from tests.adapters.test_programs import TEN_LINES

ENVIRONMENTS = {
    "pydantic_ai": ".venv",
    "langchain": ".peers/frameworks/langgraph-newest",
    "agents": ".peers/frameworks/openai-agents-newest",
    "google.adk": ".peers/frameworks/google-adk-newest",
    "strands": ".peers/frameworks/strands-newest",
}
ALLOWED = 0.35


def measure(rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each round, by the name of the framework; those of the official agent are under `official`."""
    (official,) = find_pairs(["py-official"])
    with tempfile.TemporaryDirectory() as folder:
        cases = {"official": list(official.agent)}
        for name, place in ENVIRONMENTS.items():
            python = ROOT / place / "bin" / "python"
            if python.exists():
                program = Path(folder, f"{name.replace('.', '_')}_support.py")
                program.write_text(TEN_LINES[name], encoding="utf-8")
                cases[name] = [str(python), "-m", "accord", "agent", f"{program}:agent"]
        env = {**environment(), "XDG_STATE_HOME": folder}
        spent: dict[str, list[float]] = {name: [] for name in cases}
        for number in range(rounds):
            for name in list(cases) if number % 2 else reversed(list(cases)):
                spent[name].append(seconds_to_answer(cases[name], env) * 1e3)
    return spent


def main(rounds: int) -> int:
    spent = measure(rounds)
    official = statistics.median(spent.pop("official"))
    print(f"official agent  {official:7.1f} ms")
    worst = 0.0
    for name, each in spent.items():
        ratio = statistics.median(each) / official
        worst = max(worst, ratio)
        print(f"{name:14}  {statistics.median(each):7.1f} ms  {ratio:.2f}x")
    return 0 if worst <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
