"""A provider with exporters in memory, and its spans as a tree; spans of other processes come from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON

from examples.telemetry import otlp

__all__ = ["IN_EVERY_EDITION", "Recorded", "Telemetry", "provided"]

IN_EVERY_EDITION = pytest.mark.parametrize("edition", ["1", "2", "2-june"])


@dataclass(frozen=True)
class Recorded:
    """A span that has ended."""

    name: str
    kind: int
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    failed: bool

    @classmethod
    def read(cls, request: dict[str, Any]) -> Recorded:
        span = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        attributes = {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}
        return cls(
            span["name"],
            span["kind"],
            span["traceId"],
            span["spanId"],
            span["parentSpanId"],
            attributes,
            span["status"]["code"] == 2,
        )


SERVER, CLIENT, INTERNAL = 2, 3, 1


class Telemetry:
    """The providers of a test; `file` is where other processes write their spans."""

    def __init__(self, file: Path, *, sampled: bool = True) -> None:
        self.file = file
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.traces = TracerProvider(sampler=ALWAYS_ON if sampled else ALWAYS_OFF)
        self.traces.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider([self._reader])

    @property
    def spans(self) -> list[Recorded]:
        """All spans that have ended, those of other processes behind those of this one."""
        own = [Recorded.read(otlp(span)) for span in self._exporter.get_finished_spans()]
        others = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        return own + [Recorded.read(json.loads(line)) for line in others]

    def named(self, name: str, kind: int | None = None) -> list[Recorded]:
        """The spans of a name, of one kind or of all."""
        return [span for span in self.spans if span.name == name and kind in (None, span.kind)]

    def one(self, name: str, kind: int | None = None) -> Recorded:
        """The only span of a name."""
        (span,) = self.named(name, kind)
        return span

    def path(self, span: Recorded) -> list[str]:
        """The names of a span and of everything above it, the outermost first."""
        known = {each.id: each for each in self.spans}
        names = [span.name]
        while span.parent in known:
            span = known[span.parent]
            names.insert(0, span.name)
        return names

    def metric(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """The points of a metric: attributes, and the value or the count."""
        data = self._reader.get_metrics_data()
        metrics = [] if data is None else data.resource_metrics[0].scope_metrics[0].metrics
        points: list[Any] = [point for metric in metrics if metric.name == name for point in metric.data.data_points]
        return [(dict(point.attributes), getattr(point, "value", getattr(point, "count", None))) for point in points]


@contextmanager
def provided(folder: Path, *, sampled: bool = True) -> Iterator[Telemetry]:
    """Providers for this process, for as long as this lasts: a global one could not be taken back."""
    recorded = Telemetry(folder / "spans.jsonl", sampled=sampled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accord.telemetry.provider._providers", lambda: (recorded.traces, recorded.meters))
        yield recorded
