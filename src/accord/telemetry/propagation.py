"""The trace context in `_meta`: `traceparent`, `tracestate` and `baggage` as root keys, which ACP reserves for them.

The program's own propagators write and read them (`OTEL_PROPAGATORS`); of what they write, the three keys are sent.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.context import Context

__all__ = ["TRACE_KEYS", "extracted", "injected"]

log = logging.getLogger("accord.telemetry")

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
