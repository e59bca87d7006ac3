"""The updates of v1: the agent's encoder and the client's decoder.

Clients of v1 join the chunks of one speaker, regardless of ids, until they show something else. A text that begins
another message there begins with a blank line, which our decoder takes away again.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeGuard

import msgspec

from accord.protocol import v1
from accord.protocol.model import UNSET
from accord.session.capability import ClientCapabilities
from accord.session.content import Block, Text
from accord.session.downgrade import (
    JoinedPlans,
    downgrade_entry,
    downgrade_notice,
    restore_entry,
    restore_notice,
    restore_plan,
)
from accord.session.editions.shared.decoder import EditionDecoder
from accord.session.editions.shared.encoder import MessageIds, RepeatingEncoder, chunk_types
from accord.session.editions.v1.tools import BLOCKS, ITEMS, OPTIONS, decode_tool, encode_tool
from accord.session.entry import PIECES, Passage
from accord.session.event import (
    CompactionChanged,
    CompactionChunk,
    ConfigChanged,
    Event,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    Noticed,
    PlanChanged,
    PlanEntry,
    Speaker,
    ToolChanged,
    ToolContentAdded,
)
from accord.session.meta_original import MessageOriginal, keep, recall
from accord.session.option import mode_option, with_mode
from accord.session.unset import or_none, or_unset

__all__ = ["Messages", "V1Decoder", "V1Encoder", "decode_chunk", "encode_chunk"]

encode_block = BLOCKS.encode

Updates = list[Any]

CHUNKS = chunk_types(v1)
BLANK_LINE = "\n\n"


def encode_chunk(speaker: Speaker, block: Block, name: str | None, meta: dict[str, Any] | None) -> Any:
    return CHUNKS[speaker](encode_block(block), UNSET if name is None else name, meta or UNSET)


def decode_chunk(speaker: Speaker, chunk: v1.ContentChunk) -> Event:
    """One block of a message, the first of a corrected one, or a notice that was downgraded to a message."""
    meta, original = recall(chunk.meta, MessageOriginal)
    if notice := restore_notice(original, meta):
        return notice
    block, message_id = BLOCKS.decode(chunk.content), or_none(chunk.message_id)
    if original is not None and original.separated and isinstance(block, Text):
        block = msgspec.structs.replace(block, text=block.text.removeprefix(BLANK_LINE))
    if original is not None and original.id is not None:
        if original.replaces:
            return MessageChanged(speaker, original.id, [block], or_unset(meta))
        message_id = original.id
    return MessageChunk(speaker, block, message_id, meta)


class _Sent:
    """A message as the client has it; `stale` after it was cleared, which v1 cannot express."""

    __slots__ = ("_passage", "_whole", "id", "keeps_id", "kind", "name", "pieces", "speaker", "stale")

    def __init__(self, speaker: Speaker, message_id: str, name: str, blocks: Sequence[Block] = ()) -> None:
        self.speaker = speaker
        self.id = message_id
        self.kind = CHUNKS[speaker]
        self.name = name
        self.keeps_id = name == message_id
        self.stale = False
        self.pieces: list[str] = []
        """The newest texts, which are no blocks yet."""
        # A replay of 200,000 whole messages makes no passage: most of them never change, and it takes 0.15 s less.
        self._whole = blocks
        self._passage: Passage | None = None

    @property
    def blocks(self) -> list[Block]:
        self.join()
        return self._growing().blocks

    @blocks.setter
    def blocks(self, blocks: list[Block]) -> None:
        self.pieces, self._passage = [], Passage(blocks)

    def add(self, block: Block) -> None:
        if _is_plain(block):
            # Most messages are never looked at again: then there is no passage for them, which is four objects.
            self.pieces.append(block.text)
            if len(self.pieces) > PIECES:
                self.join()
        else:
            self.blocks.append(block)

    def join(self) -> None:
        if self.pieces:
            self._growing().append(Text("".join(self.pieces)))
            self.pieces = []

    def _growing(self) -> Passage:
        if self._passage is None:
            self._passage, self._whole = Passage(self._whole), ()
        return self._passage


class Messages:
    """The messages of one session that have ids, as the client has them."""

    def __init__(self, ids: MessageIds) -> None:
        self._ids = ids
        self._sent: dict[tuple[Speaker, str], _Sent] = {}
        self._newest: _Sent | None = None
        """The message that grows: nearly every chunk belongs to the message of the chunk before it."""
        self._joining: Speaker | None = None
        """The speaker whose next chunk a client would join to the last one."""

    def chunk(self, event: MessageChunk) -> list[v1.SessionUpdate]:
        block, sent = event.block, self._newest
        if sent is None or sent.id != event.id or sent.speaker != event.speaker:
            if event.id is None:
                return self._unnamed(event)
            sent = self._message(event.speaker, event.id)
            if not sent.stale and self._turn_to(sent):
                sent.add(block)
                return self._chunks(sent, event.speaker, sent.id, [block], event.meta, separated=True)
        if sent.stale:
            return self._anew(sent, event.speaker, sent.id, [block], event.meta)
        sent.add(block)
        meta = event.meta if sent.keeps_id else keep(event.meta, MessageOriginal(sent.id))
        return [encode_chunk(event.speaker, block, sent.name, meta)]

    def encode_into(self, updates: Updates, events: Iterator[Event], encode: Callable[[Event], Updates]) -> None:
        """Append the updates of events; `encode` is for those that are no chunk of the message that grows.

        Nearly all are: in one loop over them an agent's turn takes a tenth less time than with a call for each.
        """
        append, text_content = updates.append, v1.TextContent
        sent = self._plain_newest()
        for event in events:
            if sent is not None and type(event) is MessageChunk and event.id == sent.id:
                block = event.block
                if (
                    type(block) is Text
                    and event.speaker == sent.speaker
                    and not (block.annotations or block.meta or event.meta)
                ):
                    text = block.text
                    sent.pieces.append(text)
                    append(sent.kind(text_content(text), sent.id))
                    continue
            updates += encode(event)
            sent = self._plain_newest()
        if sent is not None and len(sent.pieces) > PIECES:
            sent.join()

    def _plain_newest(self) -> _Sent | None:
        """The message that grows, if its chunks are sent as they are."""
        sent = self._newest
        return None if sent is None or sent.stale or not sent.keeps_id else sent

    def whole(self, event: MessageChanged) -> list[v1.SessionUpdate]:
        """A message as it is now: what it adds to what the client has, or all of it under another name."""
        if event.content is UNSET:
            return []
        if event.content and (event.speaker, event.id) not in self._sent:
            return self._first(event, event.content)
        sent = self._message(event.speaker, event.id)
        if not event.content:
            sent.stale = bool(sent.blocks)
            return []
        rest = rest_of(event.content, sent.blocks)
        if rest is None:
            return self._anew(sent, event.speaker, event.id, event.content, event.meta or None)
        sent.blocks, sent.stale = event.content, False
        if not rest:
            return []
        separated = self._turn_to(sent)
        return self._chunks(sent, event.speaker, event.id, rest, event.meta or None, separated=separated)

    def _first(self, event: MessageChanged, blocks: list[Block]) -> list[v1.SessionUpdate]:
        """A message that the client does not have: all of it."""
        name = self._ids.of(event.speaker, event.id)
        sent = self._sent[event.speaker, event.id] = _Sent(event.speaker, event.id, name, blocks)
        separated = self._turn_to(sent)
        if sent.keeps_id and len(blocks) == 1 and not separated:
            block = blocks[0]
            if type(block) is Text and not (block.annotations or block.meta):
                # Nearly every message of a replay.
                return [sent.kind(v1.TextContent(block.text), name, event.meta or UNSET)]
            return [encode_chunk(event.speaker, block, name, event.meta or None)]
        return self._chunks(sent, event.speaker, event.id, blocks, event.meta or None, separated=separated)

    def _unnamed(self, event: MessageChunk) -> list[v1.SessionUpdate]:
        """A chunk without an id continues the chunk before it, with or without an id."""
        if self._joining != event.speaker:
            self._newest, self._joining = None, event.speaker
        return [encode_chunk(event.speaker, event.block, None, event.meta)]

    def notice(self, event: Noticed) -> list[v1.SessionUpdate]:
        text, meta = downgrade_notice(event)
        text = self._separate(text) if self._joining == "agent" else text
        self._newest, self._joining = None, "agent"
        return [encode_chunk("agent", text, self._ids.fresh("notice"), meta)]

    def part(self) -> None:
        """Another update is shown: clients join no later chunk to an earlier one."""
        self._newest = self._joining = None

    def _turn_to(self, sent: _Sent) -> bool:
        """Go on with a message; whether a client would join it to another one. The user's words are not touched."""
        joins = sent is not self._newest and sent.speaker == self._joining != "user"
        self._newest, self._joining = sent, sent.speaker
        return joins

    @staticmethod
    def _separate(text: Text) -> Text:
        return msgspec.structs.replace(text, text=BLANK_LINE + text.text)

    def forget(self) -> None:
        """Nothing so far will be sent in another way: only the ids are needed any more."""
        self._sent.clear()
        self._newest = None

    def _message(self, speaker: Speaker, message_id: str) -> _Sent:
        sent = self._sent.get((speaker, message_id))
        if sent is None:
            sent = self._sent[speaker, message_id] = _Sent(speaker, message_id, self._ids.of(speaker, message_id))
        return sent

    def _anew(
        self, sent: _Sent, speaker: Speaker, message_id: str, blocks: list[Block], meta: dict[str, Any] | None
    ) -> list[v1.SessionUpdate]:
        sent.name = self._ids.renew(speaker, message_id)
        sent.keeps_id = sent.name == message_id
        sent.blocks, sent.stale = blocks, False
        self._newest = None
        separated = self._turn_to(sent)
        return self._chunks(sent, speaker, message_id, blocks, meta, separated=separated, replaces=True)

    def _chunks(
        self,
        sent: _Sent,
        speaker: Speaker,
        message_id: str,
        blocks: list[Block],
        meta: dict[str, Any] | None,
        *,
        separated: bool,
        replaces: bool = False,
    ) -> list[v1.SessionUpdate]:
        named = message_id if replaces or sent.name != message_id else None
        block, *others = blocks
        if separated and isinstance(block, Text):
            block = self._separate(block)
        else:
            # A block that is no text is never joined to another by a client.
            separated = False
        original = MessageOriginal(named, replaces, separated) if separated or named is not None else None
        # The metadata of the whole message goes with the first block.
        first = encode_chunk(speaker, block, sent.name, keep(meta, original))
        original = MessageOriginal(message_id) if sent.name != message_id else None
        return [first, *(encode_chunk(speaker, each, sent.name, keep(None, original)) for each in others)]


def rest_of(content: list[Block], sent: list[Block]) -> list[Block] | None:
    """The part of `content` that was not sent; None where it does not begin with that."""
    if not sent:
        return content
    old, new = _joined(sent), _joined(content)
    last = len(old) - 1
    if len(new) < len(old) or new[:last] != old[:last]:
        return None
    before, after = old[last], new[last]
    if before == after:
        return new[last + 1 :]
    if _is_plain(before) and _is_plain(after) and after.text.startswith(before.text):
        return [Text(after.text[len(before.text) :]), *new[last + 1 :]]
    return None


def _joined(blocks: list[Block]) -> list[Block]:
    """The blocks, with runs of plain texts as one: how a text was cut into chunks makes no difference."""
    joined: list[Block] = []
    run: list[str] = []
    for block in blocks:
        if _is_plain(block):
            run.append(block.text)
            continue
        if run:
            joined.append(Text("".join(run)))
            run = []
        joined.append(block)
    return [*joined, Text("".join(run))] if run else joined


def _is_plain(block: Block) -> TypeGuard[Text]:
    return isinstance(block, Text) and block.annotations is None and not block.meta


class V1Encoder(RepeatingEncoder):
    """One session's encoder in v1; its output depends on the client's capabilities."""

    types: ClassVar[Any] = v1
    blocks = BLOCKS
    options = OPTIONS
    items = ITEMS

    def __init__(self, capabilities: ClientCapabilities) -> None:
        super().__init__(capabilities)
        self._messages = Messages(self._ids)
        self._plans = JoinedPlans()
        self._current_mode: str | None = None

    def encode_into(self, updates: Updates, events: Iterator[Event]) -> None:
        self._messages.encode_into(updates, events, self.encode)

    def forget_messages(self) -> None:
        """The messages so far will not change any more."""
        self._messages.forget()

    # --- messages

    def _chunk(self, event: MessageChunk) -> Updates:
        return self._messages.chunk(event)

    def _message(self, event: MessageChanged) -> Updates:
        return self._messages.whole(event)

    def _notice(self, event: Noticed) -> Updates:
        # v1 rule 34: without the capability it is a message of the agent.
        return [self._encode_notice(event)] if self._capabilities.notices else self._messages.notice(event)

    # --- tool calls

    def _tool(self, event: ToolChanged) -> Updates:
        first = event.created or not self._tools.knows(event.id)
        fields = encode_tool(event, self._tools)
        if first:
            self._messages.part()
            return [v1.ToolCall(event.id, **fields)]
        return [v1.ToolCallUpdated(event.id, **fields)] if fields else []

    def _tool_content(self, event: ToolContentAdded) -> Updates:
        if not self._tools.knows(event.id):
            return self._tool(ToolChanged(event.id, content=[event.content], meta=or_unset(event.meta)))
        return [self._repeat(event.id, event.meta)] if self._tools.add(event) else []

    # --- the session

    def _plan(self, event: PlanChanged) -> Updates:
        plan = self._plans.join(event)
        entries = self._encode_entries([downgrade_entry(entry) for entry in plan.entries])
        return [v1.Plan(entries, plan.meta or UNSET)]

    def _config(self, event: ConfigChanged) -> Updates:
        self._options = event.options
        options = OPTIONS.encode(event.options, toggles=self._capabilities.toggles)
        updates: Updates = [v1.ConfigOptionUpdate(options, event.meta or UNSET)]
        option = mode_option(event.options)
        # v1 rule 55: the older modes and the option are kept in step.
        if option is not None and option.value != self._current_mode:
            self._current_mode = option.value
            updates.append(v1.CurrentModeUpdate(option.value))
        return updates

    def _mode(self, event: ModeChanged) -> Updates:
        self._current_mode = event.mode
        updates: Updates = [v1.CurrentModeUpdate(event.mode, event.meta or UNSET)]
        options = with_mode(self._options, event.mode)
        if options is not None:
            updates += self._config(ConfigChanged(options))
        return updates

    def _compaction(self, event: CompactionChanged) -> Updates:
        if not self._capabilities.compaction:
            return []
        self._messages.part()
        return super()._compaction(event)

    def _compaction_chunk(self, event: CompactionChunk) -> Updates:
        return super()._compaction_chunk(event) if self._capabilities.compaction else []


class V1Decoder(EditionDecoder):
    """One session's decoder in v1; it is stateless, because every v1 update is complete."""

    types: ClassVar[Any] = v1
    blocks = BLOCKS
    options = OPTIONS
    items = ITEMS

    @classmethod
    def _chunk(cls, speaker: Speaker, update: Any) -> Event:
        return decode_chunk(speaker, update)

    def decode_tool_call(self, update: v1.ToolCall) -> list[Event]:
        return [decode_tool(update)]

    def decode_tool_call_update(self, update: v1.ToolCallUpdated) -> list[Event]:
        return [decode_tool(update)]

    def decode_plan(self, update: v1.Plan) -> list[Event]:
        return [restore_plan(PlanChanged(self._entries(update.entries), meta=update.meta or None))]

    def _entries(self, entries: list[Any]) -> list[PlanEntry]:
        return [restore_entry(entry) for entry in super()._entries(entries)]

    def decode_current_mode_update(self, update: v1.CurrentModeUpdate) -> list[Event]:
        return [ModeChanged(update.current_mode_id, update.meta or None)]
