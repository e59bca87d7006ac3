"""A span of ours from its start to its end, the span that does nothing while telemetry is off, and the trace context.

The context is in `_meta`, with `traceparent`, `tracestate` and `baggage` as root keys, which ACP reserves for them. The
program's own propagators write and read them (`OTEL_PROPAGATORS`); no other key of theirs is sent.

A span fails no conversation: an exception of a provider is logged. The status of a span marks a failure, and
`error.type` names its kind; the text of an exception, which may have content, is in neither.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from accord.errors import RequestError
from accord.telemetry.provider import Telemetry

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.trace import Span as ProviderSpan

__all__ = ["NO_SPAN", "TRACE_KEYS", "OperationSpan", "RecordedSpan", "error_type", "parent_of", "start_span"]


TRACE_KEYS = ("traceparent", "tracestate", "baggage")
# They are one value in two keys: neither is added to the other one of an author.
_PARENT_KEYS = frozenset(TRACE_KEYS[:2])


def injected(meta: Mapping[str, Any] | None, context: Context) -> dict[str, Any] | None:
    """`meta` with the keys of a context; an author's own values stay. None where there is nothing to send."""
    from opentelemetry.propagate import inject  # noqa: PLC0415 - telemetry is on

    own = dict(meta or {})
    written: dict[str, str] = {}
    try:
        inject(written, context)
    except Exception:
        log.debug("the trace context was not sent: a propagator failed", exc_info=True)
    taken = _PARENT_KEYS if own.keys() & _PARENT_KEYS else frozenset()
    added = {key: written[key] for key in TRACE_KEYS if key in written and key not in taken}
    return {**added, **own} or None


def extracted(meta: Mapping[str, Any] | None) -> Context | None:
    """The context that a peer sent; None where it sent no usable `traceparent`."""
    from opentelemetry.context import Context  # noqa: PLC0415 - telemetry is on
    from opentelemetry.propagate import extract  # noqa: PLC0415
    from opentelemetry.trace import get_current_span  # noqa: PLC0415

    carrier = {key: value for key in TRACE_KEYS if isinstance(value := (meta or {}).get(key), str)}
    if not carrier:
        return None
    try:
        context = extract(carrier, Context())
    except Exception:
        log.debug("the trace context of a peer was not read: a propagator failed", exc_info=True)
        return None
    return context if get_current_span(context).get_span_context().is_valid else None


log = logging.getLogger("accord.telemetry")


class OperationSpan:
    """The span of an operation while telemetry is off: it does nothing.

    As a context it is the current span inside, and ends with it; an exception is its failure.
    """

    is_recorded: bool = False
    """Whether there is a provider."""

    def note(self, name: str, value: str | int | None) -> None:
        """Set an attribute, which also labels the metrics of its end; None is not set."""

    def set(self, name: str, value: str | int | list[str] | None) -> None:
        """Set an attribute; None is not set."""

    def fail(self, kind: str) -> None:
        """Mark it as failed; `kind` is its `error.type`."""

    def end(self) -> None:
        """End it; only the first time counts."""

    def attach(self) -> None:
        """Make it the current span of this task or thread, until `detach` or the end of the task."""

    def detach(self) -> None:
        """Make the span that was current before the current one again."""

    def inject(self, meta: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """A `_meta` with the context of this span; an author's own values stay."""
        return None if meta is None else dict(meta)

    def __enter__(self) -> Self:
        self.attach()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.detach()
        if isinstance(error, asyncio.CancelledError | GeneratorExit):
            self.note("acp.cancelled", "true")  # a cancelled operation has not failed
        elif error is not None:
            self.fail(error_type(error))
        self.end()


NO_SPAN = OperationSpan()


class RecordedSpan(OperationSpan):
    """A span of a provider, whose sampler decides whether it is exported. `on_end` is called once, before its end."""

    is_recorded = True

    def __init__(
        self, span: ProviderSpan, context: Context, on: Telemetry, on_end: Callable[[RecordedSpan], None] | None
    ) -> None:
        self.telemetry = on
        self.context = context
        """The context in which it is the current span."""
        self.labels: dict[str, str | int] = {}
        """The attributes of its metrics."""
        self._span = span
        self._on_end = on_end
        self._began = time.monotonic()
        self._is_over = False
        self._token: Token[Context] | None = None

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return time.monotonic() - self._began

    def note(self, name: str, value: str | int | None) -> None:
        if value is not None:
            self.labels[name] = value
            self.quietly(self._span.set_attribute, name, value)

    def set(self, name: str, value: str | int | list[str] | None) -> None:
        if value is not None:
            self.quietly(self._span.set_attribute, name, value)

    def fail(self, kind: str) -> None:
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - telemetry is on

        self.note("error.type", kind)
        self.quietly(self._span.set_status, Status(StatusCode.ERROR))

    def end(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        if self._on_end is not None:
            self.quietly(self._on_end, self)
        self.quietly(self._span.end)

    @staticmethod
    def quietly(work: Callable[..., object], *arguments: Any) -> None:
        """Call a function of a provider; an exception is logged, and the conversation goes on."""
        try:
            work(*arguments)
        except Exception:
            log.debug("a provider of telemetry failed", exc_info=True)

    def attach(self) -> None:
        from opentelemetry.context import attach  # noqa: PLC0415 - telemetry is on

        self._token = attach(self.context)

    def detach(self) -> None:
        from opentelemetry.context import detach  # noqa: PLC0415 - telemetry is on

        token, self._token = self._token, None
        if token is not None:
            detach(token)

    def inject(self, meta: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return injected(meta, self.context)


def start_span(
    on: Telemetry,
    name: str,
    kind: Literal["CLIENT", "SERVER", "INTERNAL"],
    attributes: Mapping[str, str | int | None],
    *,
    parent: Context | None = None,
    on_end: Callable[[RecordedSpan], None] | None = None,
) -> OperationSpan:
    """Start a span below that of `parent`, below the current one where that is None."""
    from opentelemetry.trace import SpanKind, set_span_in_context  # noqa: PLC0415 - telemetry is on

    known = {key: value for key, value in attributes.items() if value is not None}
    try:
        span = on.tracer.start_span(name, parent, SpanKind[kind], known)
        return RecordedSpan(span, set_span_in_context(span, parent), on, on_end)
    except Exception:
        log.debug("a span could not be started", exc_info=True)
        return NO_SPAN


def parent_of(meta: Mapping[str, Any] | None, within: OperationSpan = NO_SPAN) -> Context:
    """The context for a span of an operation that a peer began: the peer's, that of `within`, or an empty one.

    Never the current one: a task that serves a peer may have been made while something else was served.
    """
    from opentelemetry.context import Context  # noqa: PLC0415 - telemetry is on

    sent = extracted(meta)
    if sent is not None:
        return sent
    return within.context if isinstance(within, RecordedSpan) else Context()


def error_type(error: BaseException) -> str:
    """The `error.type` of an exception: the code of a JSON-RPC error, else its class."""
    return str(error.code) if isinstance(error, RequestError) else type(error).__name__
