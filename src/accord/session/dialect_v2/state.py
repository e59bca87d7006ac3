"""The state of a session in v2: a snapshot of what goes on, with the reason why work ended."""

from typing import Any

import msgspec

from accord.protocol import v2
from accord.protocol.codec import Codec
from accord.protocol.model import UNSET, Unknown
from accord.session.event import Background, StateChanged, WorkError
from accord.session.presence import given, lasting, mapped, told
from accord.session.unheard import payload_of

__all__ = ["state_in", "state_out", "unknown_state_in"]


def state_out(event: StateChanged) -> v2.SessionUpdate:
    """The snapshot; reason and error go with idle alone."""
    idle = event.state == "idle"
    return v2.StateUpdated(
        event.state,  # type: ignore[arg-type]  # a further word is written as it is
        stop_reason=given(event.stop_reason) if idle else UNSET,
        error=mapped(_error_out, given(event.error)) if idle else UNSET,
        background=mapped(_background_out, event.background),
        meta=event.meta or UNSET,
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


def state_in(update: v2.StateUpdated) -> StateChanged:
    """The snapshot; a background of null is one that was not told."""
    return StateChanged(
        update.state,
        told(update.stop_reason),
        told(mapped(_error_in, update.error)),
        lasting(mapped(_background_in, update.background)),
        update.meta or None,
    )


def _error_in(error: v2.Error) -> WorkError:
    return WorkError(error.code, error.message, told(error.data))


def _background_in(work: list[v2.BackgroundWork]) -> list[Background]:
    return [_work_in(item) for item in work]


def _work_in(item: v2.BackgroundWork) -> Background:
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
