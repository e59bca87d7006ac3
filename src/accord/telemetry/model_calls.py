"""The span of one request to a model, by the conventions for generative AI; without the messages."""

from __future__ import annotations

from accord.telemetry.provider import telemetry
from accord.telemetry.span import NO_SPAN, OperationSpan, RecordedSpan, start_span

__all__ = ["model_span", "note_tokens"]


def model_span(provider: str, model: str) -> OperationSpan:
    """The span of a request to a model, below the current one."""
    on = telemetry()
    if on is None:
        return NO_SPAN
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": model}
    span = start_span(on, f"chat {model}", "CLIENT", attributes, on_end=_count_call)
    if isinstance(span, RecordedSpan):
        span.labels.update(attributes)
    return span


def note_tokens(span: OperationSpan, input_tokens: int, output_tokens: int) -> None:
    """Note the tokens that the model's provider counted."""
    if not isinstance(span, RecordedSpan):
        return
    for kind, count in (("input", input_tokens), ("output", output_tokens)):
        span.set(f"gen_ai.usage.{kind}_tokens", count)
        span.quietly(span.telemetry.model_tokens.record, count, {**span.labels, "gen_ai.token.type": kind})


def _count_call(span: RecordedSpan) -> None:
    span.telemetry.model_seconds.record(span.seconds, span.labels)
    if "error.type" in span.labels:
        span.telemetry.errors.add(1, {"acp.operation": "model", "error.type": span.labels["error.type"]})
