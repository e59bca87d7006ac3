"""The updates of v2: how an agent encodes a session's events, and how a client decodes them."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, Union, get_args

from accord.protocol import v2
from accord.protocol.method import NotificationMethod
from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Unknown, Wire
from accord.protocol.v2 import draft
from accord.session.capability import ClientCapabilities
from accord.session.editions.shared.decoder import EditionDecoder
from accord.session.editions.shared.encoder import EditionEncoder
from accord.session.editions.v2.content import BLOCKS, OPTIONS
from accord.session.editions.v2.states import decode_state, decode_unknown_state, encode_draft_state, encode_state
from accord.session.editions.v2.terminals import decode_output, decode_terminal, encode_output, encode_terminal
from accord.session.editions.v2.tools import ITEMS, decode_tool, encode_tool
from accord.session.event import (
    Event,
    MessageChanged,
    MessageChunk,
    PlanChanged,
    Speaker,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
)
from accord.session.unset import mapped

__all__ = ["DRAFT_SESSION_UPDATE", "V2Decoder", "V2DraftEncoder", "V2Encoder"]

Updates = list[Any]
CHUNKS: dict[Speaker, type[v2.UserMessageChunk | v2.AgentMessageChunk | v2.AgentThoughtChunk]] = {
    "user": v2.UserMessageChunk,
    "agent": v2.AgentMessageChunk,
    "thought": v2.AgentThoughtChunk,
}
MESSAGES: dict[Speaker, type[v2.UserMessage | v2.AgentMessage | v2.AgentThought]] = {
    "user": v2.UserMessage,
    "agent": v2.AgentMessage,
    "thought": v2.AgentThought,
}
encode_block = BLOCKS.encode


class V2Encoder(EditionEncoder):
    """One session's encoder in v2, which asks for no capabilities: every client shows everything."""

    types: ClassVar[Any] = v2
    blocks = BLOCKS
    options = OPTIONS
    items = ITEMS

    def __init__(self, capabilities: ClientCapabilities) -> None:
        super().__init__(capabilities)
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
        fields = encode_tool(event, known=event.id in self._calls)
        self._note_call(event.id)
        return [v2.ToolCallUpdated(event.id, **fields)]

    def _tool_content(self, event: ToolContentAdded) -> Updates:
        self._note_call(event.id)
        return [v2.ToolCallContentChunk(event.id, ITEMS.encode(event.content), event.meta or UNSET)]

    def _note_call(self, call_id: str) -> None:
        """A new call parts the messages around it that have no id, as in a transcript; news of an older one do not."""
        if call_id not in self._calls:
            self._calls.add(call_id)
            self._ids.pause()

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
    """One session's decoder in v2."""

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
        """What the session is doing."""
        return [decode_state(update)]

    def decode_tool_call_update(self, update: v2.ToolCallUpdated) -> list[Event]:
        """What changed of a call."""
        return [decode_tool(update)]

    def decode_terminal_update(self, update: v2.TerminalUpdate) -> list[Event]:
        """What changed of a terminal."""
        return [decode_terminal(update)]

    def decode_terminal_output_chunk(self, update: v2.TerminalOutputChunk) -> list[Event]:
        """More bytes of a terminal."""
        return [decode_output(update)]


# --- `session/update` as a client reads it
#
# Agents send what only the unstable text names without having been asked: a client reads v2's updates with the state as
# the unstable text has it.

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
