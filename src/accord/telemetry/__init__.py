"""OpenTelemetry: spans and metrics of turns, tool calls, model calls and requests, and their context in `_meta`.

Off until the program sets a provider, and free while it is off: nothing of `opentelemetry` is imported, and no streamed
update calls anything here. Spans have names, ids and results, never content; docs/telemetry.md lists them.
"""

from accord.telemetry.operations import (
    LinkFacts,
    call_span,
    end_tool,
    end_turn,
    extension_params,
    link_facts,
    model_span,
    note_answer,
    note_tokens,
    served_span,
    tool_span,
    turn_span,
    with_context,
)
from accord.telemetry.span import NO_SPAN, TRACE_KEYS, OperationSpan, error_type

__all__ = [
    "NO_SPAN",
    "TRACE_KEYS",
    "LinkFacts",
    "OperationSpan",
    "call_span",
    "end_tool",
    "end_turn",
    "error_type",
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
