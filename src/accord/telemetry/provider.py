"""The state of telemetry, on or off, and the tracer and the instruments of the providers that the program has set.

A program that sets a provider has imported `opentelemetry` before: while it is not among the loaded modules, telemetry
is off, and nothing is imported to find that out.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from accord.version import VERSION

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = ["Telemetry", "telemetry"]

log = logging.getLogger("accord.telemetry")

# Boundaries in seconds, from a cached answer to an hour of work.
SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)


class Telemetry:
    """The tracer and the instruments of one pair of providers."""

    def __init__(self, traces: TracerProvider, meters: MeterProvider) -> None:
        self.providers: tuple[Any, Any] = (traces, meters)
        self.tracer = traces.get_tracer("accord", VERSION)
        meter = meters.get_meter("accord", VERSION)
        self.turns = meter.create_counter("acp.agent.turns", "{turn}", "Turns that ended, by stop reason")
        self.turn_seconds = meter.create_histogram(
            "acp.agent.turn.duration",
            "s",
            "From the start of a prompt handler to its end",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self.turn_tokens = meter.create_counter("acp.agent.tokens", "{token}", "Tokens that turns took")
        self.wait_seconds = meter.create_histogram(
            "acp.agent.permission.wait",
            "s",
            "From a permission request to its answer",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self.errors = meter.create_counter("acp.errors", "{error}", "Turns, tool calls and requests that failed")
        self.call_seconds = meter.create_histogram(
            "acp.client.operation.duration",
            "s",
            "From a request of a client to its answer; of a prompt, to the end of its turn",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self.model_seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", "Requests to a model", explicit_bucket_boundaries_advisory=SECONDS
        )
        self.model_tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of a model call")


_current: Telemetry | None = None


def telemetry() -> Telemetry | None:
    """The telemetry of the providers that are set now; None while there is none."""
    global _current  # noqa: PLW0603 - providers are global too
    modules = sys.modules
    if "opentelemetry.trace" not in modules and "opentelemetry.metrics" not in modules:
        return None
    try:
        providers = _providers()
        if providers is None:
            return None
        if _current is None or _current.providers != providers:
            _current = Telemetry(*providers)
    except Exception:
        log.debug("telemetry is off: the provider failed", exc_info=True)
        return None
    return _current


def _providers() -> tuple[TracerProvider, MeterProvider] | None:
    from opentelemetry import metrics, trace  # noqa: PLC0415 - one of them is loaded, and the package with it

    traces, meters = trace.get_tracer_provider(), metrics.get_meter_provider()
    return (traces, meters) if _records(traces) or _records(meters) else None


def _records(provider: object) -> bool:
    """Whether it is a provider of an SDK: those of the API itself do nothing until another one is set."""
    return not type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics"))
