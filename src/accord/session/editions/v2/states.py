"""The state of a session in v2: a snapshot of its work, with the reason why the work ended."""

from collections.abc import Sequence
from typing import Any

import msgspec

from accord.protocol import v2
from accord.protocol.codec import Codec
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.protocol.v2 import draft
from accord.session.editions.shared.usage import TokenUsageCodec
from accord.session.event import Background, StateChanged, WorkError
from accord.session.meta_original import EndOriginal, keep, recall
from accord.session.unknown import payload_of
from accord.session.unset import mapped, or_none, or_unset, unless_null

__all__ = ["decode_state", "decode_unknown_state", "encode_draft_state", "encode_state"]

_USAGE = TokenUsageCodec(draft)


def encode_state(event: StateChanged) -> v2.StateUpdated:
    """The snapshot; reason and error go with idle alone. There is no place for the token usage."""
    meta = keep(event.meta, EndOriginal.of(None, event.token_usage))
    return v2.StateUpdated(**_encode_fields(event), meta=meta or UNSET)


def encode_draft_state(event: StateChanged) -> draft.StateUpdated:
    """The snapshot in the unstable text: the token usage goes with idle, as reason and error do."""
    usage = _USAGE.encode(event.token_usage if event.state == "idle" else None)
    return draft.StateUpdated(**_encode_fields(event), usage=usage, meta=event.meta or UNSET)


def _encode_fields(event: StateChanged) -> dict[str, Any]:
    idle = event.state == "idle"
    return {
        "state": event.state,
        "stop_reason": or_unset(event.stop_reason) if idle else UNSET,
        "error": mapped(_encode_error, or_unset(event.error)) if idle else UNSET,
        "background": mapped(_encode_background, event.background),
    }


def _encode_error(error: WorkError) -> v2.Error:
    return v2.Error(error.code, error.message, or_unset(error.data))


def _encode_background(work: list[Background]) -> list[v2.BackgroundWork]:
    return [_encode_work(item) for item in work]


def _encode_work(item: Background) -> v2.BackgroundWork:
    if item.payload is not None:
        return Unknown(item.kind, item.payload)
    if item.kind == "terminal":
        return v2.BackgroundTerminal(item.id, item.meta or UNSET)
    if item.kind == "tool_call":
        return v2.BackgroundToolCall(item.id, item.meta or UNSET)
    return Unknown(item.kind, {"type": item.kind})


def decode_state(update: v2.StateUpdated | draft.StateUpdated) -> StateChanged:
    """The snapshot; a background of null is one that was not given."""
    meta, original = recall(update.meta, EndOriginal)
    background: Maybe[Sequence[Any]] = update.background
    return StateChanged(
        update.state,
        or_none(update.stop_reason),
        or_none(mapped(_decode_error, update.error)),
        unless_null(mapped(_decode_background, background)),
        meta,
        _USAGE.decode(update) or (original.token_usage if original else None),
    )


def _decode_error(error: v2.Error) -> WorkError:
    return WorkError(error.code, error.message, or_none(error.data))


def _decode_background(work: Sequence[v2.BackgroundWork | draft.BackgroundWork]) -> list[Background]:
    return [_decode_work(item) for item in work]


def _decode_work(item: v2.BackgroundWork | draft.BackgroundWork) -> Background:
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


def decode_unknown_state(payload: dict[str, Any]) -> StateChanged:
    """A state that this edition does not name. v2 rule 47: the session is not idle, and not as it was before either."""
    known = Codec().convert(v2.StateUpdated, {**payload, "state": "running"})
    return msgspec.structs.replace(decode_state(known), state=payload["state"])
