"""The cost of telemetry per streamed update: no provider, a provider that samples nothing, and one that samples all.

    python -m benchmarks.telemetry [ROUNDS] [UPDATES]

A client and an agent of ours, each in a process of its own; the agent streams updates of 100 characters, as `stream50k`
does. The cases of a round run one after the other, and the first one rotates. The goal: at most 5 % per update where a
provider is set and nothing is sampled, as the median of the rounds' ratios. Both processes have the same provider.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.harness import ROOT, environment

GOAL = 1.05
CASES = ("no provider", "nothing sampled", "everything sampled")
TEXT = "x" * 100


def set_provider(case: str) -> None:
    if case == CASES[0]:
        return
    from opentelemetry import metrics, trace  # noqa: PLC0415 - the first case must not have it
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON  # noqa: PLC0415

    provider = TracerProvider(sampler=ALWAYS_OFF if case == CASES[1] else ALWAYS_ON)
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()]))


def serve() -> None:
    import accord  # noqa: PLC0415 - the measuring process needs none of it
    from accord.agent import Turn  # noqa: PLC0415

    agent = accord.Agent("streaming", version="1", store=None)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        for _ in range(int(turn.text)):
            await turn.say(TEXT)

    agent.run()


async def stream(case: str, updates: int) -> dict[str, Any]:
    import accord  # noqa: PLC0415

    argv = (sys.executable, "-m", "benchmarks.telemetry", "--agent", case)
    async with accord.connect(*argv, program_cwd=ROOT, env=environment()) as agent:
        session = await agent.new_session(ROOT)
        await session.prompt("1000")  # loads what there is to load
        began, cpu = time.perf_counter(), time.process_time()
        turn = await session.prompt(str(updates))
        seconds, used = time.perf_counter() - began, time.process_time() - cpu
        assert len(turn.text) == updates * len(TEXT)
    return {"us": seconds / updates * 1e6, "client_cpu_us": used / updates * 1e6}


def measured(case: str, updates: int) -> dict[str, float]:
    argv = [sys.executable, "-m", "benchmarks.telemetry", "--client", case, str(updates)]
    done = subprocess.run(argv, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def compare(rounds: int, updates: int) -> int:
    results: dict[str, list[dict[str, float]]] = {case: [] for case in CASES}
    for round_ in range(rounds):
        for place in range(len(CASES)):
            case = CASES[(place + round_) % len(CASES)]
            results[case].append(measured(case, updates))
    base = results[CASES[0]]
    print(f"{updates} updates of {len(TEXT)} characters, {rounds} rounds; medians, and medians of the rounds' ratios\n")
    ratios: dict[str, float] = {}
    for case, runs in results.items():
        ratio = statistics.median(run["us"] / first["us"] for run, first in zip(runs, base, strict=True))
        ratios[case] = ratio
        micros = statistics.median(run["us"] for run in runs)
        cpu = statistics.median(run["client_cpu_us"] for run in runs)
        print(f"{case:20} {micros:7.2f} us per update ({ratio:.3f})   client's CPU {cpu:6.2f} us")
    met = ratios[CASES[1]] <= GOAL
    print(f"\ngoal, at most {GOAL:.2f} where nothing is sampled: {'met' if met else 'missed'}")
    return 0 if met else 1


if __name__ == "__main__":
    if "--agent" in sys.argv:
        set_provider(sys.argv[2])
        serve()
    elif "--client" in sys.argv:
        set_provider(sys.argv[2])
        print(json.dumps(asyncio.run(stream(sys.argv[2], int(sys.argv[3])))))
    else:
        numbers = [int(each) for each in sys.argv[1:]]
        sys.exit(compare(*(numbers + [7, 50_000][len(numbers) :])))
