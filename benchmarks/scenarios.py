"""The measured scenarios of a client with its agent, and the numbers of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["BEHAVIOUR", "QUICK", "SCENARIOS", "metrics"]

SCENARIOS: dict[str, dict[str, Any]] = {
    "startup": {"kind": "startup"},
    "stream50k": {"kind": "stream", "n": 50_000, "size": 100},
    "ping": {"kind": "ping", "n": 3000, "warm": 300},
    "read1k": {"kind": "read", "n": 1000, "size": 1000},
    "read1m": {"kind": "read", "n": 30, "size": 1_000_000},
    "read10m": {"kind": "read", "n": 5, "size": 10_000_000},
    "image20m": {"kind": "bigprompt", "n": 3, "size": 20_000_000},
    "sessions1000": {"kind": "sessions", "sessions": 1000, "chunks": 20, "size": 100},
    # Every second handler of an update suspends: are updates still handled in order?
    "slow_handler": {"kind": "stream", "n": 20_000, "size": 1000, "slow_ms": 1},
    # No handler ever returns while the agent wants to send 200 MB: how much does the client hold?
    "stall": {"kind": "stall", "n": 200_000, "size": 1000, "secs": 8},
}

# The same with smaller counts: for a look, not for a verdict.
QUICK: dict[str, dict[str, Any]] = {
    "stream50k": {"n": 10_000},
    "ping": {"n": 500, "warm": 100},
    "read1k": {"n": 200},
    "read1m": {"n": 8},
    "read10m": {"n": 2},
    "image20m": {"n": 1},
    "sessions1000": {"sessions": 200},
    "slow_handler": {"n": 2000},
    "stall": {"secs": 2},
}

BEHAVIOUR = ("slow_handler", "stall")
"""These show what an SDK does rather than how fast it is: few rounds are enough."""


def metrics(scenario: dict[str, Any], result: dict[str, Any], started_at: float) -> dict[str, float]:
    """The numbers of one run, from what the client printed; `started_at` is when the client itself was started."""
    numbers = _timings(scenario, result, started_at)
    if "client_rss" in result:
        numbers["client_peak_rss_mb"] = result["client_rss"] / 1024
        numbers["agent_peak_rss_mb"] = result["agent_rss"] / 1024
    return numbers


def _timings(scenario: dict[str, Any], result: dict[str, Any], started_at: float) -> dict[str, float]:
    match scenario["kind"]:
        case "startup":
            return {
                "agent_init_ms": result["init_s"] * 1e3,
                "agent_first_update_ms": result["first_update_s"] * 1e3,
                "total_first_update_ms": (result["first_update_abs"] - started_at) * 1e3,
            }
        case "stream":
            return _throughput(scenario["n"], result)
        case "sessions":
            return _throughput(scenario["sessions"] * scenario["chunks"], result)
        case "stall":
            return {"client_cpu_s": result["client_cpu"], "agent_cpu_s": result["agent_cpu"]}
        case _:
            return _latency(result)


def _throughput(count: int, result: dict[str, Any]) -> dict[str, float]:
    if result["received"] != count:
        raise ValueError(f"received {result['received']} updates of {count}")
    client, agent = result["client_cpu"] / count * 1e6, result["agent_cpu"] / count * 1e6
    return {
        "msgs_per_s": count / result["wall"],
        "client_cpu_us_per_msg": client,
        "agent_cpu_us_per_msg": agent,
        "cpu_us_per_msg": client + agent,
        "out_of_order": result["ooo"],
    }


def _latency(result: dict[str, Any]) -> dict[str, float]:
    latencies = sorted(result["lat_us"])
    return {
        "p50_us": _share(latencies, 0.5),
        "p99_us": _share(latencies, 0.99),
        "cpu_us_per_op": (result["client_cpu"] + result["agent_cpu"]) / len(latencies) * 1e6,
    }


def _share(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
