"""The state of a session in v2: a snapshot of what goes on, with the reason why work ended."""

from collections.abc import Sequence
from typing import Any

import msgspec

from accord.protocol import v2
from accord.protocol.codec import Codec
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.protocol.v2 import draft
from accord.session.event import Background, StateChanged, TokenUsage, WorkError
from accord.session.original import EndOriginal, keep, recall
from accord.session.presence import given, lasting, mapped, told
from accord.session.unheard import payload_of

__all__ = ["draft_state_out", "state_in", "state_out", "unknown_state_in"]


def state_out(event: StateChanged) -> v2.SessionUpdate:
    """The snapshot; reason and error go with idle alone. There is no place for the token usage."""
    meta = keep(event.meta, EndOriginal.of(None, event.token_usage))
    return v2.StateUpdated(**_fields_out(event), meta=meta or UNSET)


def draft_state_out(event: StateChanged) -> draft.StateUpdated:
    """The snapshot in the unstable text: the token usage goes with idle, as reason and error do."""
    usage = mapped(_usage_out, given(event.token_usage)) if event.state == "idle" else UNSET
    return draft.StateUpdated(**_fields_out(event), usage=usage, meta=event.meta or UNSET)


def _fields_out(event: StateChanged) -> dict[str, Any]:
    idle = event.state == "idle"
    return {
        "state": event.state,
        "stop_reason": given(event.stop_reason) if idle else UNSET,
        "error": mapped(_error_out, given(event.error)) if idle else UNSET,
        "background": mapped(_background_out, event.background),
    }


def _usage_out(usage: TokenUsage) -> draft.Usage:
    return draft.Usage(
        usage.total_tokens,
        usage.input_tokens,
        usage.output_tokens,
        given(usage.thought_tokens),
        given(usage.cached_read_tokens),
        given(usage.cached_write_tokens),
        usage.meta or UNSET,
    )


def _error_out(error: WorkError) -> v2.Error:
    return v2.Error(error.code, error.message, given(error.data))


def _background_out(work: list[Background]) -> list[v2.BackgroundWork]:
    return [_work_out(item) for item in work]


def _work_out(item: Background) -> v2.BackgroundWork:
    if item.payload is not None:
        return Unknown(item.kind, item.payload)
    if item.kind == "terminal":
        return v2.BackgroundTerminal(item.id, item.meta or UNSET)
    if item.kind == "tool_call":
        return v2.BackgroundToolCall(item.id, item.meta or UNSET)
    return Unknown(item.kind, {"type": item.kind})


def state_in(update: v2.StateUpdated | draft.StateUpdated) -> StateChanged:
    """The snapshot; a background of null is one that was not told."""
    meta, original = recall(update.meta, EndOriginal)
    usage = told(mapped(_usage_in, update.usage)) if isinstance(update, draft.StateUpdated) else None
    background: Maybe[Sequence[Any]] = update.background
    return StateChanged(
        update.state,
        told(update.stop_reason),
        told(mapped(_error_in, update.error)),
        lasting(mapped(_background_in, background)),
        meta,
        usage or (original.token_usage if original else None),
    )


def _usage_in(usage: draft.Usage) -> TokenUsage:
    return TokenUsage(
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        told(usage.thought_tokens),
        told(usage.cached_read_tokens),
        told(usage.cached_write_tokens),
        usage.meta or None,
    )


def _error_in(error: v2.Error) -> WorkError:
    return WorkError(error.code, error.message, told(error.data))


def _background_in(work: Sequence[v2.BackgroundWork | draft.BackgroundWork]) -> list[Background]:
    return [_work_in(item) for item in work]


def _work_in(item: v2.BackgroundWork | draft.BackgroundWork) -> Background:
    match item:
        case v2.BackgroundTerminal():
            return Background("terminal", item.terminal_id, item.meta or None)
        case v2.BackgroundToolCall():
            return Background("tool_call", item.tool_call_id, item.meta or None)
        case Unknown():
            return Background(item.tag, "", payload=item.payload)
        case _:
            # The draft names further work, for example of subagents.
            payload = payload_of(item)
            return Background(str(payload["type"]), "", payload=payload)


def unknown_state_in(payload: dict[str, Any]) -> StateChanged:
    """A state that this edition does not name. v2 rule 47: the session is not idle, and not as it was before either."""
    known = Codec().convert(v2.StateUpdated, {**payload, "state": "running"})
    return msgspec.structs.replace(state_in(known), state=payload["state"])
