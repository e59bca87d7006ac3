"""The cost of starting: whole processes that import something and end, interleaved, official SDK and ours."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.harness import ROOT, Results, environment, table

__all__ = ["measure"]

_OURS = ".venv/bin/python"
_OFFICIAL = ".peers/py-v1/bin/python"
_CASES = {
    "import acp": (_OFFICIAL, "import acp"),
    "nothing": (_OURS, "pass"),
    "import asyncio": (_OURS, "import asyncio"),
    "import accord": (_OURS, "import accord"),
    # What a program needs that speaks: names are loaded at their first use.
    "accord, used": (_OURS, "import accord; accord.Connection; import accord.protocol.v1"),
}


def measure(rounds: int) -> Results:
    """Milliseconds of wall time per process; the first case is what the others are compared with."""
    results = Results("import", {name: [] for name in _CASES})
    for _ in range(rounds):
        for name, (python, code) in _CASES.items():
            began = time.perf_counter()
            subprocess.run([python, "-c", code], cwd=ROOT, env=environment(), check=True)
            results.rounds[name].append({"ms": (time.perf_counter() - began) * 1e3})
    return results


if __name__ == "__main__":
    print(table(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 15)))
