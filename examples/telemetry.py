"""One trace of two programs, in a file: `python telemetry.py [trace.jsonl]` prompts `accord agent`, prints spans.

The script and the agent that it starts write OTLP/JSON, one request per line, which collectors and viewers of
OpenTelemetry read. It needs `opentelemetry-sdk`; with its OTLP exporter the same spans go to a collector.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

import accord
from accord.cli.main import main

KINDS = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
STATUS = {"UNSET": 0, "OK": 1, "ERROR": 2}


class OtlpFile(SpanExporter):
    """Appends each span to a file as OTLP/JSON."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write one line for each span; several processes may write to one file."""
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(otlp(span)) + "\n" for span in spans)
        return SpanExportResult.SUCCESS


def otlp(span: ReadableSpan) -> dict[str, Any]:
    """A span as a whole request of OTLP/JSON."""
    context, scope = span.get_span_context(), span.instrumentation_scope
    assert context is not None
    written = {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "parentSpanId": "" if span.parent is None else f"{span.parent.span_id:016x}",
        "name": span.name,
        "kind": KINDS[span.kind.name],
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": attributes(span.attributes or {}),
        "status": {"code": STATUS[span.status.status_code.name]},
    }
    scopes = {"scope": {"name": "" if scope is None else scope.name}, "spans": [written]}
    resource = {"attributes": attributes(span.resource.attributes)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scopes]}]}


def attributes(values: Any) -> list[dict[str, Any]]:
    """Attributes in the form of OTLP: each value under the name of its type."""
    return [{"key": key, "value": typed(value)} for key, value in values.items()]


def typed(value: Any) -> dict[str, Any]:
    """One value."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"arrayValue": {"values": [typed(each) for each in value]}}
    return {"stringValue": str(value)}


def switch_on(service: str, path: str) -> None:
    """Set a provider: from here on every turn, tool call and request of this process has a span."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(SimpleSpanProcessor(OtlpFile(path)))
    trace.set_tracer_provider(provider)


def ask(path: str) -> None:
    """Ask the agent to read a file, inside of a span of our own."""
    agent = (sys.executable, __file__, path, "--agent")
    with trace.get_tracer("script").start_as_current_span("my script"), accord.open(*agent) as session:
        print(session.prompt(f"read {Path(__file__).name}").stop_reason)


def show(path: str) -> None:
    """Print the spans as a tree."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    resources = [json.loads(line)["resourceSpans"][0] for line in lines]
    spans = [(each["scopeSpans"][0]["spans"][0], service_of(each)) for each in resources]
    spans.sort(key=lambda pair: int(pair[0]["startTimeUnixNano"]))

    def below(parent: str, depth: int) -> None:
        for span, service in spans:
            if span["parentSpanId"] == parent:
                print(f"{'  ' * depth}{span['name']} ({service})")
                below(span["spanId"], depth + 1)

    below("", 0)


def service_of(resource: dict[str, Any]) -> str:
    """The service name of the program."""
    found = {each["key"]: each["value"]["stringValue"] for each in resource["resource"]["attributes"]}
    return str(found["service.name"])


if __name__ == "__main__":
    file = sys.argv[1] if len(sys.argv) > 1 else "trace.jsonl"
    if "--agent" in sys.argv:
        switch_on("agent", file)
        sys.exit(main(["agent", "--store", "none", "--allow", "read"]))
    switch_on("script", file)
    ask(file)
    show(file)
