"""The updates of v2: the agent's encoder and the client's decoder."""

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, Union, get_args

import msgspec

from accord.protocol import v2
from accord.protocol.codec import Codec
from accord.protocol.method import NotificationMethod
from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Unknown, Wire
from accord.protocol.v2 import draft
from accord.session.capability import ClientCapabilities
from accord.session.editions.shared.bindings import TokenUsageCodec
from accord.session.editions.shared.decoder import EditionDecoder
from accord.session.editions.shared.encoder import EditionEncoder, chunk_types, message_types
from accord.session.editions.v2.tools import BLOCKS, ITEMS, OPTIONS, PATCHES, decode_tool, encode_tool
from accord.session.event import (
    Background,
    Event,
    MessageChanged,
    MessageChunk,
    PlanChanged,
    StateChanged,
    TerminalChanged,
    TerminalExit,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    WorkError,
)
from accord.session.meta_original import EndOriginal, keep, recall
from accord.session.unset import mapped, or_none, or_unset, payload_of, unknown_update, unless_null

__all__ = [
    "DRAFT_SESSION_UPDATE",
    "V2Decoder",
    "V2DraftEncoder",
    "V2Encoder",
    "decode_output",
    "decode_state",
    "decode_terminal",
    "decode_unknown_state",
    "encode_draft_state",
    "encode_output",
    "encode_state",
    "encode_terminal",
]

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


def encode_terminal(event: TerminalChanged) -> v2.TerminalUpdate:
    return v2.TerminalUpdate(
        event.id,
        command=event.command,
        cwd=event.cwd,
        output=mapped(_encode_bytes, event.output),
        exit_status=mapped(_encode_exit, event.exit),
        size=mapped(_encode_size, event.size),
        capabilities=_encode_capabilities(event),
        meta=event.meta,
    )


def _encode_bytes(data: bytes) -> v2.TerminalOutput:
    return v2.TerminalOutput(base64.b64encode(data).decode())


def _encode_exit(ended: TerminalExit) -> v2.TerminalExitStatus:
    return v2.TerminalExitStatus(or_unset(ended.code), or_unset(ended.signal), ended.meta or UNSET)


def _encode_size(size: tuple[int, int]) -> v2.TerminalSize:
    return v2.TerminalSize(*size)


def _encode_capabilities(event: TerminalChanged) -> Maybe[v2.TerminalCapabilities]:
    if event.cancellable is UNSET:
        return UNSET
    return v2.TerminalCapabilities(v2.TerminalCancelCapabilities()) if event.cancellable else None


def encode_output(event: TerminalOutput) -> v2.TerminalOutputChunk:
    return v2.TerminalOutputChunk(event.id, base64.b64encode(event.data).decode(), event.meta or UNSET)


def decode_terminal(update: v2.TerminalUpdate) -> Event:
    """A terminal's change; output that is no base64 counts as not sent, as every bad optional field does."""
    capabilities = update.capabilities
    return TerminalChanged(
        update.terminal_id,
        command=update.command,
        cwd=update.cwd,
        output=_decode_output_field(update.output),
        exit=mapped(_decode_exit, update.exit_status),
        size=mapped(_decode_size, update.size),
        # A marker counts when it is there, even empty.
        cancellable=UNSET if capabilities is UNSET else capabilities is not None and _is_there(capabilities.cancel),
        meta=update.meta,
    )


def _is_there(marker: object) -> bool:
    return marker is not UNSET and marker is not None


def _decode_output_field(output: Maybe[v2.TerminalOutput]) -> Maybe[bytes]:
    if output is UNSET or output is None:
        return output
    data = _decode_bytes(output.data)
    return UNSET if data is None else data


def _decode_bytes(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _decode_exit(status: v2.TerminalExitStatus) -> TerminalExit:
    return TerminalExit(or_none(status.exit_code), or_none(status.signal), status.meta or None)


def _decode_size(size: v2.TerminalSize) -> tuple[int, int]:
    return (size.cols, size.rows)


def decode_output(update: v2.TerminalOutputChunk) -> Event:
    """Bytes more. v2 rule 67: each chunk is decoded alone."""
    data = _decode_bytes(update.data)
    return unknown_update(update) if data is None else TerminalOutput(update.terminal_id, data, update.meta or None)


Updates = list[Any]
CHUNKS = chunk_types(v2)
MESSAGES = message_types(v2)
encode_block = BLOCKS.encode


class V2Encoder(EditionEncoder):
    """One session's encoder in v2, which checks no capabilities: every client shows everything."""

    types: ClassVar[Any] = v2
    blocks = BLOCKS
    options = OPTIONS
    items = ITEMS

    def __init__(self, capabilities: ClientCapabilities) -> None:
        super().__init__(capabilities)
        self._written = ITEMS if capabilities.originals else PATCHES
        self._calls: set[str] = set()

    # --- messages

    def _chunk(self, event: MessageChunk) -> Updates:
        if event.id is None:
            message_id = self._ids.unnamed(event.speaker)
        else:
            message_id = event.id
            self._ids.use(message_id)
        return [CHUNKS[event.speaker](message_id, encode_block(event.block), event.meta or UNSET)]

    def _message(self, event: MessageChanged) -> Updates:
        self._ids.use(event.id)
        return [MESSAGES[event.speaker](event.id, mapped(BLOCKS.encode_all, event.content), event.meta)]

    # --- tool calls and terminals

    def _tool(self, event: ToolChanged) -> Updates:
        fields = encode_tool(event, known=event.id in self._calls, items=self._written)
        self._note_call(event)
        return [v2.ToolCallUpdated(event.id, **fields)]

    def _tool_content(self, event: ToolContentAdded) -> Updates:
        self._note_call(event)
        return [v2.ToolCallContentChunk(event.id, self._written.encode(event.content), event.meta or UNSET)]

    def _note_call(self, event: ToolChanged | ToolContentAdded) -> None:
        self._ids.call(event, is_new=event.id not in self._calls)
        self._calls.add(event.id)

    def _terminal(self, event: TerminalChanged) -> Updates:
        return [encode_terminal(event)]

    def _terminal_output(self, event: TerminalOutput) -> Updates:
        return [encode_output(event)]

    # --- the session

    def _plan(self, event: PlanChanged) -> Updates:
        items = v2.PlanItems(event.id, self._encode_entries(event.entries))
        return [v2.PlanUpdate(items, event.meta or UNSET)]

    def _state(self, event: StateChanged) -> Updates:
        self._ids.pause()
        return [encode_state(event)]


class V2DraftEncoder(V2Encoder):
    """The same where the unstable text is spoken: a state has the token usage of the turn that ended."""

    def _state(self, event: StateChanged) -> Updates:
        self._ids.pause()
        return [encode_draft_state(event)]


class V2Decoder(EditionDecoder):
    types: ClassVar[Any] = v2
    blocks = BLOCKS
    options = OPTIONS
    items = ITEMS

    def _unknown(self, update: Unknown) -> Event:
        # The state is a second tag: an unknown one makes the whole update unknown.
        if update.payload.get("sessionUpdate") == "state_update":
            return decode_unknown_state(update.payload)
        return super()._unknown(update)

    def decode_state_update(self, update: v2.StateUpdated) -> list[Event]:
        return [decode_state(update)]

    def decode_tool_call_update(self, update: v2.ToolCallUpdated) -> list[Event]:
        return [decode_tool(update)]

    def decode_terminal_update(self, update: v2.TerminalUpdate) -> list[Event]:
        return [decode_terminal(update)]

    def decode_terminal_output_chunk(self, update: v2.TerminalOutputChunk) -> list[Event]:
        return [decode_output(update)]


# --- `session/update` as a client reads it
#
# Agents send fields of the unstable text without negotiation: a client reads v2's updates with the state as the
# unstable text has it.

if TYPE_CHECKING:
    Update: TypeAlias = v2.SessionUpdate | draft.StateUpdated
else:
    _KINDS, *_MARKS = get_args(v2.SessionUpdate)
    _KINDS = tuple(draft.StateUpdated if kind is v2.StateUpdated else kind for kind in get_args(_KINDS))
    Update = Annotated[(Union[_KINDS], *_MARKS)]  # noqa: UP007 - the members are counted at run time


class _UpdateSessionNotification(Wire):
    session_id: v2.SessionId
    update: Update
    meta: Lenient[Maybe[Metadata]] = UNSET


DRAFT_SESSION_UPDATE = NotificationMethod("session/update", "client", _UpdateSessionNotification)
