"""The spans of an agent's work: a turn, current around its handler, its tool calls, and its requests to a model."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from accord.session.client_requests import Prompt
from accord.session.turn_io import HandlerCancelled, HandlerFailed, HandlerFinished, Input
from accord.telemetry.calls import LinkFacts, request_attributes
from accord.telemetry.provider import telemetry
from accord.telemetry.span import NO_SPAN, OperationSpan, RecordedSpan, error_type, parent_of, start_span

__all__ = ["end_tool", "end_turn", "model_span", "note_tokens", "tool_span", "turn_span"]


class ArrivedPrompt(Protocol):
    """A prompt from its arrival to its answer."""

    request: Prompt
    request_id: str | int | None
    """The id of its JSON-RPC request; None as long as no handler has it."""


def turn_span(method: str, prompt: ArrivedPrompt, facts: LinkFacts, command: str | None) -> OperationSpan:
    """The span of a turn: below the one that the prompt's `_meta` names, else one without a parent."""
    on = telemetry()
    if on is None:
        return NO_SPAN
    attributes = {**request_attributes(method, prompt.request, facts, None), "acp.command": command}
    parent, on_end = parent_of(prompt.request.meta), functools.partial(_count_turn, prompt)
    return start_span(on, method, "SERVER", attributes, parent=parent, on_end=on_end)


def end_turn(span: OperationSpan, end: Input, tools: Iterable[OperationSpan]) -> None:
    """End the span of a turn with the input that ends it, and those of `tools` that are still open.

    A tool call stays open where the client was gone before the call could be ended.
    """
    for tool in tools:
        tool.end()
    if not span.is_recorded:
        return
    match end:
        case HandlerFinished(stop_reason=reason):
            span.note("acp.stop_reason", reason)
        case HandlerCancelled():
            span.note("acp.stop_reason", "cancelled")
        case HandlerFailed(error=error):
            span.note("acp.stop_reason", "error")
            span.fail(str(error.code))
        case _:
            pass
    _note_tokens(span, getattr(end, "token_usage", None))
    span.end()


def _note_tokens(span: OperationSpan, usage: Any) -> None:
    if usage is not None and isinstance(span, RecordedSpan):
        for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            span.set(f"gen_ai.usage.{kind}_tokens", count)
            span.quietly(span.telemetry.turn_tokens.add, count, {"gen_ai.token.type": kind})


def _count_turn(prompt: ArrivedPrompt, span: RecordedSpan) -> None:
    span.set("jsonrpc.request.id", None if prompt.request_id is None else str(prompt.request_id))
    span.telemetry.turns.add(1, span.labels)
    span.telemetry.turn_seconds.record(span.seconds, span.labels)
    if "error.type" in span.labels:
        span.telemetry.errors.add(1, {"acp.operation": "turn", "error.type": span.labels["error.type"]})


def tool_span(name: str, kind: str, call_id: str, session_id: str) -> OperationSpan:
    """The span of a tool call, below the current one: the turn's, or one that its author began."""
    on = telemetry()
    if on is None:
        return NO_SPAN
    attributes: Mapping[str, str] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call_id,
        "acp.tool.kind": kind,
        "acp.session.id": session_id,
    }
    return start_span(on, f"execute_tool {name}", "INTERNAL", attributes, on_end=_count_tool)


def end_tool(span: OperationSpan, status: str, error: BaseException | None) -> None:
    """End the span of a tool call with its last status."""
    span.set("acp.tool.status", status)
    if status == "failed":
        span.fail("tool_failed" if error is None else error_type(error))
    span.end()


def _count_tool(span: RecordedSpan) -> None:
    if "error.type" in span.labels:
        span.telemetry.errors.add(1, {"acp.operation": "tool", "error.type": span.labels["error.type"]})


# --- requests to a model


def model_span(provider: str, model: str) -> OperationSpan:
    """The span of a request to a model, below the current one."""
    on = telemetry()
    if on is None:
        return NO_SPAN
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": model}
    span = start_span(on, f"chat {model}", "CLIENT", attributes, on_end=_count_model_call)
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


def _count_model_call(span: RecordedSpan) -> None:
    span.telemetry.model_seconds.record(span.seconds, span.labels)
    if "error.type" in span.labels:
        span.telemetry.errors.add(1, {"acp.operation": "model", "error.type": span.labels["error.type"]})
