"""The performance goals of Accord, and whether a run met them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from benchmarks.harness import Results

__all__ = ["GOALS", "Goal", "Verdict", "judge", "verdict_table"]

OURS, PYTHON, TYPESCRIPT = "accord", "py-official", "ts-official"
V2, V2_JUNE = "accord-v2", "accord-v2-june"
TURNS, STORED = "accord-turns", "accord-turns-stored"
CLIENTS, AGENTS = "stream50k, clients", "stream50k, agents"
LOAD = "load200k"
ACROSS_EDITIONS = 1.2


class Goal(NamedTuple):
    """A bound on the median ratio of two pairs; without a base, on the worst value of all rounds."""

    name: str
    scenario: str
    metric: str
    pair: str
    base: str | None
    bound: Literal["≥", "≤"]
    limit: float


def _editions() -> list[Goal]:
    goals = []
    for pair in (V2, V2_JUNE):
        for scenario, metric in (
            ("startup", "agent_init_ms"),
            ("stream50k", "msgs_per_s"),
            ("ping", "p50_us"),
            ("image20m", "p50_us"),
            ("sessions1000", "msgs_per_s"),
        ):
            more = metric == "msgs_per_s"
            limit = 1 / ACROSS_EDITIONS if more else ACROSS_EDITIONS
            name = f"{pair}: {scenario}, beside our v1"
            goals.append(Goal(name, f"{scenario}, editions", metric, pair, OURS, "≥" if more else "≤", limit))
    return goals


def _remote() -> list[Goal]:
    """Of the servers: `benchmarks/run --remote`."""
    goals = []
    for kind in ("ws", "http"):
        stream, load, idle = f"stream, {kind}", f"load, {kind}", f"idle, {kind}"
        for base, more in ((PYTHON, 5.0), (TYPESCRIPT, 2.0)):
            goals.append(Goal(f"{stream}: updates per second", stream, "updates_per_s", OURS, base, "≥", more))
        for base in (PYTHON, TYPESCRIPT):
            goals.append(Goal(f"{load}: round trip, p50", load, "p50_ms", OURS, base, "≤", 0.6))
            goals.append(Goal(f"{load}: round trip, p99", load, "p99_ms", OURS, base, "≤", 1.0))
        goals.append(Goal(f"{load}: sessions that lost an update", load, "not_in_order", OURS, None, "≤", 0))
        for metric, name in (
            ("rss_mb", "memory"),
            ("kb_per_connection", "memory of a connection"),
            ("rss_with_sessions_mb", "memory, each with a session"),
        ):
            goals.append(Goal(f"{idle}: {name}", idle, metric, OURS, PYTHON, "≤", 0.5))
    return goals


GOALS = [
    Goal("stream: messages per second", "stream50k", "msgs_per_s", OURS, PYTHON, "≥", 12),
    Goal("stream: messages per second", "stream50k", "msgs_per_s", OURS, TYPESCRIPT, "≥", 6),
    Goal("stream: CPU per message, both sides", "stream50k", "cpu_us_per_msg", OURS, PYTHON, "≤", 0.08),
    Goal("stream: peak memory of the client", "stream50k", "client_peak_rss_mb", OURS, PYTHON, "≤", 0.65),
    Goal("stream: peak memory of the agent", "stream50k", "agent_peak_rss_mb", OURS, PYTHON, "≤", 0.65),
    Goal("1,000 sessions: messages per second", "sessions1000", "msgs_per_s", OURS, PYTHON, "≥", 7),
    Goal("1,000 sessions: messages per second", "sessions1000", "msgs_per_s", OURS, TYPESCRIPT, "≥", 5),
    Goal("round trip, p50", "ping", "p50_us", OURS, PYTHON, "≤", 0.55),
    Goal("round trip, p50", "ping", "p50_us", OURS, TYPESCRIPT, "≤", 1.0),
    Goal("read of 1 MB, p50", "read1m", "p50_us", OURS, PYTHON, "≤", 0.4),
    Goal("read of 10 MB, p50", "read10m", "p50_us", OURS, PYTHON, "≤", 0.5),
    Goal("prompt with a 20 MB image, p50", "image20m", "p50_us", OURS, PYTHON, "≤", 0.6),
    Goal("agent start to initialize answer", "startup", "agent_init_ms", OURS, PYTHON, "≤", 0.2),
    Goal("agent start to initialize answer", "startup", "agent_init_ms", OURS, TYPESCRIPT, "≤", 0.5),
    Goal("import accord", "import", "ms", "import accord", "import acp", "≤", 0.15),
    Goal("import accord and use it", "import", "ms", "accord, used", "import acp", "≤", 0.15),
    Goal("accord agent to initialize answer", "coding_agent", "init_ms", "accord agent", "official agent", "≤", 0.35),
    Goal("first word beyond the provider's: ms", "first_token", "beyond_ms", "first prompt", None, "≤", 300),
    Goal("accord --version: CPU in ms", "version", "cpu_ms", "accord --version", None, "≤", 150),
    Goal("updates out of order, handlers that suspend", "slow_handler", "out_of_order", OURS, None, "≤", 0),
    Goal("client memory in MB, a stalled handler", "stall", "client_peak_rss_mb", OURS, None, "≤", 40),
    Goal(
        "client with its transcript: messages per second",
        CLIENTS,
        "msgs_per_s",
        f"{TURNS}>raw",
        f"{PYTHON}>raw",
        "≥",
        6,
    ),
    Goal(
        "agent with turns and SQLite: messages per second",
        AGENTS,
        "msgs_per_s",
        f"raw>{STORED}",
        f"raw>{PYTHON}",
        "≥",
        5,
    ),
    Goal("agent with turns, beside our typed API", AGENTS, "msgs_per_s", f"raw>{TURNS}", f"raw>{OURS}", "≥", 1 / 1.5),
    Goal("load of 200,000 messages: seconds", LOAD, "load_s", OURS, None, "≤", 2),
    Goal("load of 200,000 messages: memory of the agent in MB", LOAD, "agent_peak_rss_mb", OURS, None, "≤", 120),
    Goal("load of 200,000 messages: a new session beside it, ms", LOAD, "new_session_ms", OURS, None, "≤", 50),
    *_editions(),
    *_remote(),
]


class Verdict(NamedTuple):
    """`measured` is None where this run has no numbers for the goal; `played` says whether it should have some."""

    goal: Goal
    measured: float | None
    played: bool

    @property
    def missed(self) -> bool:
        goal = self.goal
        if self.measured is None:
            return self.played
        return self.measured < goal.limit if goal.bound == "≥" else self.measured > goal.limit


def judge(results: Mapping[str, Results], goals: Sequence[Goal] = GOALS) -> list[Verdict]:
    """Every goal against the results, which are found by the names of their scenarios."""
    nothing = Results("nothing")
    return [_judge(goal, results.get(goal.scenario, nothing)) for goal in goals]


def _judge(goal: Goal, results: Results) -> Verdict:
    played = goal.pair in results.rounds and (goal.base is None or goal.base in results.rounds)
    return Verdict(goal, _measured(goal, results), played)


def _measured(goal: Goal, results: Results) -> float | None:
    if goal.base is None:
        return max(results.values(goal.pair, goal.metric), default=None)
    ratios = results.ratios(goal.pair, goal.base, goal.metric)
    return statistics.median(ratios) if ratios else None


def verdict_table(verdicts: list[Verdict]) -> str:
    """One line per goal."""
    lines = ["| goal | against | wanted | measured | |", "|---|---|---:|---:|---|"]
    for verdict in verdicts:
        goal, measured = verdict.goal, verdict.measured
        unit = "x" if goal.base else ""
        number = "not measured" if measured is None else f"{measured:.2f}{unit}"
        word = "MISSED" if verdict.missed else "ok" if verdict.played else ""
        lines.append(f"| {goal.name} | {goal.base or '-'} | {goal.bound} {goal.limit:.3g}{unit} | {number} | {word} |")
    return "\n".join(lines)
