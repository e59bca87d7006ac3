"""The spans of requests: CLIENT on the side that sends one, SERVER on the side that serves it, agent or client."""

from __future__ import annotations

import functools
from typing import Any, Literal, NamedTuple

import msgspec

from accord.json_values import JsonValue
from accord.session.agent_requests import Elicited, PermissionGiven, RequestPermission
from accord.telemetry.provider import telemetry
from accord.telemetry.span import NO_SPAN, OperationSpan, RecordedSpan, parent_of, start_span

__all__ = [
    "LinkFacts",
    "call_span",
    "extension_params",
    "link_facts",
    "note_answer",
    "served_span",
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
    """The params of an extension method with the context of a span; what is no object stays as it is."""
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
    """The attributes of a span of one request."""
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
