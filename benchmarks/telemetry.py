"""The cost of telemetry per streamed update: no provider, a provider that samples nothing, and one that samples all.

    python -m benchmarks.telemetry [ROUNDS] [UPDATES]

A client and an agent of ours, each in a process of its own; the agent streams updates of 100 characters, as `stream50k`
does. Both processes have the same provider. A round starts them anew and plays every case several times in turn, in the
same two processes: a stream lasts a tenth of a second, and the cores that two processes get differ by more than
telemetry costs. The goal: at most 5 % per update where a provider is set and nothing is sampled, as the median of the
rounds' ratios; by the clock, and by the CPU time of both processes, which other programs disturb less.

Switching the provider off leaves the SDK's modules, objects and threads in the process. So each round also starts a
pair that never imports it; the last line compares that pair with the case without a provider.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.harness import ROOT, environment

if TYPE_CHECKING:
    from accord.client import Session

GOAL = 1.05
CASES = ("no provider", "nothing sampled", "everything sampled")
BARE = "nothing imported"
TURNS = 7
TEXT = "x" * 100

_KEYS = ("wall_us", "cpu_us")


class Switch:
    """The provider of one process, which can be changed between two turns."""

    def __init__(self, *, is_bare: bool) -> None:
        self._samplers: tuple[Any, ...] = ()
        if not is_bare:
            self._set_provider()

    def _set_provider(self) -> None:
        from opentelemetry import metrics, trace  # noqa: PLC0415 - a bare process must not have it
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler  # noqa: PLC0415

        from accord.telemetry import provider as accords  # noqa: PLC0415

        class Chosen(Sampler):
            now = ALWAYS_OFF

            def should_sample(self, *arguments: Any, **options: Any) -> Any:
                return self.now.should_sample(*arguments, **options)

            def get_description(self) -> str:
                return "chosen"

        self._sampler, self._accords = Chosen(), accords
        self._providers = accords._providers  # noqa: SLF001 - see `choose`
        self._samplers = (None, ALWAYS_OFF, ALWAYS_ON)
        traces = TracerProvider(sampler=self._sampler)
        traces.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
        trace.set_tracer_provider(traces)
        metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()]))

    def choose(self, case: int) -> None:
        """Make one of `CASES` that of the turns from now on."""
        if self._samplers:
            # OpenTelemetry's providers are set once and for all; accord looks them up for each turn.
            self._accords._providers = self._providers if case else _no_providers  # noqa: SLF001
            self._sampler.now = self._samplers[case] or self._samplers[1]


def _no_providers() -> None:
    """No provider, as before one is set."""


def serve(*, is_bare: bool) -> None:
    import accord  # noqa: PLC0415 - the measuring process needs none of it
    from accord.agent import Turn  # noqa: PLC0415

    switch = Switch(is_bare=is_bare)
    agent = accord.Agent("streaming", version="1", store=None)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        word, number = turn.text.split()
        if word == "case":
            switch.choose(int(number))
            await turn.say(str(time.process_time()))
            return
        for _ in range(int(number)):
            await turn.say(TEXT)

    agent.run()


async def streams(updates: int, *, is_bare: bool) -> dict[str, list[dict[str, float]]]:
    """The streams of one start: several of each case, in turn."""
    import accord  # noqa: PLC0415

    switch = Switch(is_bare=is_bare)
    cases = (0,) if is_bare else range(len(CASES))
    found: dict[str, list[dict[str, float]]] = {BARE if is_bare else CASES[case]: [] for case in cases}
    argv = (sys.executable, "-m", "benchmarks.telemetry", "--agent", *(["--bare"] if is_bare else []))
    async with accord.connect(*argv, program_cwd=ROOT, env=environment()) as agent:
        session = await agent.new_session(ROOT)
        for turn in range(TURNS + 1):
            for place in range(len(cases)):
                case = cases[(place + turn) % len(cases)]
                numbers = await _stream(session, switch, case, updates)
                # The first turn loads what there is to load.
                if turn:
                    found[BARE if is_bare else CASES[case]].append(numbers)
    return found


async def _stream(session: Session, switch: Switch, case: int, updates: int) -> dict[str, float]:
    switch.choose(case)
    agent_before = float((await session.prompt(f"case {case}")).text)
    began, before = time.perf_counter(), time.process_time()
    turn = await session.prompt(f"stream {updates}")
    seconds, used = time.perf_counter() - began, time.process_time() - before
    agent_used = float((await session.prompt(f"case {case}")).text) - agent_before
    assert len(turn.text) == updates * len(TEXT)
    return {"wall_us": seconds / updates * 1e6, "cpu_us": (used + agent_used) / updates * 1e6}


def measured(updates: int, *, is_bare: bool = False) -> dict[str, dict[str, float]]:
    """The medians of one start, by case."""
    argv = [sys.executable, "-m", "benchmarks.telemetry", "--client", str(updates), *(["--bare"] if is_bare else [])]
    done = subprocess.run(argv, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=True)
    found: dict[str, list[dict[str, float]]] = json.loads(done.stdout)
    return {
        case: {key: statistics.median(turn[key] for turn in turns) for key in _KEYS} for case, turns in found.items()
    }


def compare(rounds: int, updates: int) -> int:
    results: list[dict[str, dict[str, float]]] = []
    for round_ in range(rounds):
        first, second = (measured(updates, is_bare=bool((round_ + place) % 2)) for place in range(2))
        results.append({**first, **second})
    print(f"{updates} updates of {len(TEXT)} characters, {rounds} rounds of {TURNS} turns each")
    print("medians of the rounds, and medians of the rounds' ratios to no provider\n")
    ratios: dict[tuple[str, str], float] = {}
    for case in (*CASES, BARE):
        cells = []
        for key in _KEYS:
            micros = statistics.median(each[case][key] for each in results)
            ratio = statistics.median(each[case][key] / each[CASES[0]][key] for each in results)
            ratios[case, key] = ratio
            cells.append(f"{key.partition('_')[0]} {micros:6.2f} us ({ratio:.3f})")
        print(f"{case:20} {'   '.join(cells)}")
    worst = max(ratios[CASES[1], key] for key in _KEYS)
    print(f"\ngoal, at most {GOAL:.2f} where nothing is sampled: {'met' if worst <= GOAL else 'missed'}")
    return 0 if worst <= GOAL else 1


if __name__ == "__main__":
    if "--agent" in sys.argv:
        serve(is_bare="--bare" in sys.argv)
    elif "--client" in sys.argv:
        print(json.dumps(asyncio.run(streams(int(sys.argv[2]), is_bare="--bare" in sys.argv))))
    else:
        numbers = [int(each) for each in sys.argv[1:]]
        sys.exit(compare(*(numbers + [7, 50_000][len(numbers) :])))
