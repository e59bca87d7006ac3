"""The spans of operations: requests, turns, each current around its handler, tool calls, and requests to a model.

A request has a CLIENT span on the side that sends it, and a SERVER span on the side that serves it, agent or client.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from accord.json_values import JsonValue
from accord.session.agent_requests import Elicited, PermissionGiven, RequestPermission
from accord.session.client_requests import Prompt
from accord.session.turn_io import HandlerCancelled, HandlerFailed, HandlerFinished, Input
from accord.telemetry.provider import telemetry
from accord.telemetry.span import NO_SPAN, OperationSpan, RecordedSpan, error_type, parent_of, start_span

__all__ = [
    "LinkFacts",
    "call_span",
    "end_tool",
    "end_turn",
    "extension_params",
    "link_facts",
    "model_span",
    "note_answer",
    "note_tokens",
    "served_span",
    "tool_span",
    "turn_span",
    "with_context",
]


# By the module of a transport of ours, the first that fits. The memory pair has no network, and others are not known.
_NETWORKS = (
    ("accord.transport.memory", None),
    ("accord.transport.websocket", "tcp"),
    ("accord.transport.http", "tcp"),
    ("accord.transport.", "pipe"),
)


class LinkFacts(NamedTuple):
    """The attributes that all spans of one connection have."""

    protocol_version: str | None = None
    network_transport: str | None = None


def link_facts(protocol_version: int | None, transport: object) -> LinkFacts:
    """The facts of a connection: the version that was negotiated, and the kind of its transport."""
    # A transport may be wrapped, to be recorded or translated.
    while (inner := getattr(transport, "transport", None)) is not None:
        transport = inner
    module = type(transport).__module__
    network = next((network for prefix, network in _NETWORKS if module.startswith(prefix)), None)
    return LinkFacts(None if protocol_version is None else str(protocol_version), network)


def call_span(
    side: Literal["agent", "client"], method: str, request: object, facts: LinkFacts, request_id: int | None = None
) -> OperationSpan:
    """The span of a request that this side sends, below the current one."""
    on = telemetry()
    if on is None:
        return NO_SPAN
    attributes = request_attributes(method, request, facts, request_id)
    count = functools.partial(_count_call, side, method, isinstance(request, RequestPermission))
    return start_span(on, method, "CLIENT", attributes, on_end=count)


def served_span(
    method: str, request: object, facts: LinkFacts, request_id: str | int | None, within: OperationSpan = NO_SPAN
) -> OperationSpan:
    """The span of a request that this side serves: below its sender's; if it sent none, below `within`."""
    on = telemetry()
    if on is None:
        return NO_SPAN
    attributes = request_attributes(method, request, facts, request_id)
    parent = parent_of(_meta_of(request), within)
    return start_span(on, method, "SERVER", attributes, parent=parent, on_end=functools.partial(_count_error, method))


def with_context(span: OperationSpan, request: Any) -> Any:
    """A request with the context of a span in its `_meta`; itself while telemetry is off."""
    return msgspec.structs.replace(request, meta=span.inject(request.meta)) if span.is_recorded else request


def extension_params(span: OperationSpan, params: JsonValue) -> JsonValue:
    """The params of an extension method with the context of a span; params that are no object stay as they are."""
    if not span.is_recorded or not (params is None or isinstance(params, dict)):
        return params
    given = dict(params or {})
    meta = given.get("_meta")
    if meta is not None and not isinstance(meta, dict):
        return params
    added = span.inject(meta)
    return {**given, "_meta": added} if added else params


def note_answer(span: OperationSpan, request: object, answer: object) -> None:
    """Note the decision of a user: the kind of the chosen option, or the action of an elicitation."""
    if isinstance(request, RequestPermission) and isinstance(answer, PermissionGiven):
        kinds = {option.id: option.kind for option in request.options}
        span.note(
            "acp.permission.outcome", "cancelled" if answer.option is None else kinds.get(answer.option, "unknown")
        )
    elif isinstance(answer, Elicited):
        span.note("acp.elicitation.action", answer.action)


def request_attributes(
    method: str, request: object, facts: LinkFacts, request_id: str | int | None
) -> dict[str, str | int | None]:
    session_id = getattr(request, "session_id", None)
    return {
        "acp.method.name": method,
        "acp.session.id": session_id if isinstance(session_id, str) else None,
        "acp.protocol.version": facts.protocol_version,
        "jsonrpc.request.id": None if request_id is None else str(request_id),
        "network.transport": facts.network_transport,
    }


def _meta_of(request: object) -> dict[str, Any] | None:
    # The params of an extension method are plain JSON.
    meta = request.get("_meta") if isinstance(request, dict) else getattr(request, "meta", None)
    return meta if isinstance(meta, dict) else None


def _count_call(side: str, method: str, asks: bool, span: RecordedSpan) -> None:  # noqa: FBT001 - bound in place
    if side == "client":
        span.telemetry.call_seconds.record(span.seconds, {"acp.method.name": method, **span.labels})
    elif asks:
        span.telemetry.wait_seconds.record(span.seconds, span.labels)
    _count_error(method, span)


def _count_error(method: str, span: RecordedSpan) -> None:
    if "error.type" in span.labels:
        labels = {"acp.method.name": method, "error.type": span.labels["error.type"]}
        span.telemetry.errors.add(1, labels)


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
