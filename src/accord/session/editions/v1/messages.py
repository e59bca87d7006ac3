"""Messages in v1: chunks only. A whole message is sent as what it adds, a corrected one as another message."""

from collections.abc import Sequence
from typing import Any, TypeGuard

from accord.protocol import v1
from accord.protocol.model import UNSET
from accord.session.content import Block, Text
from accord.session.downgrade import restore_notice
from accord.session.editions.v1.content import BLOCKS
from accord.session.entry import PIECES, Passage
from accord.session.event import Event, MessageChanged, MessageChunk, Speaker
from accord.session.message_ids import MessageIds
from accord.session.meta_original import MessageOriginal, keep, recall
from accord.session.unset import or_none, or_unset

__all__ = ["Messages", "decode_chunk", "encode_chunk"]

encode_block = BLOCKS.encode

CHUNKS: dict[Speaker, type[v1.UserMessageChunk | v1.AgentMessageChunk | v1.AgentThoughtChunk]] = {
    "user": v1.UserMessageChunk,
    "agent": v1.AgentMessageChunk,
    "thought": v1.AgentThoughtChunk,
}


def encode_chunk(speaker: Speaker, block: Block, name: str | None, meta: dict[str, Any] | None) -> v1.SessionUpdate:
    """One block of a message."""
    return CHUNKS[speaker](encode_block(block), UNSET if name is None else name, meta or UNSET)


def decode_chunk(speaker: Speaker, chunk: v1.ContentChunk) -> Event:
    """One block of a message, the first of a corrected one, or a notice that was downgraded to a message."""
    meta, original = recall(chunk.meta, MessageOriginal)
    if notice := restore_notice(original, meta):
        return notice
    block, message_id = BLOCKS.decode(chunk.content), or_none(chunk.message_id)
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

    def join(self) -> None:
        """Make one of the newest texts."""
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
        """The one that grows: nearly every chunk belongs to the message of the one before it."""

    def chunk(self, event: MessageChunk) -> list[v1.SessionUpdate]:
        """A block more."""
        block, sent = event.block, self._newest
        if sent is None or sent.id != event.id or sent.speaker != event.speaker:
            if event.id is None:
                return [encode_chunk(event.speaker, block, None, event.meta)]
            sent = self._newest = self._message(event.speaker, event.id)
        if sent.stale:
            return self._anew(sent, event.speaker, sent.id, [block], event.meta)
        if sent.keeps_id and type(block) is Text and not (block.annotations or block.meta or event.meta):
            # Nearly all chunks are so: this way takes half the time of the other.
            pieces = sent.pieces
            pieces.append(block.text)
            if len(pieces) > PIECES:
                sent.join()
            return [sent.kind(v1.TextContent(block.text), sent.id)]
        sent.blocks.append(block)
        meta = event.meta if sent.keeps_id else keep(event.meta, MessageOriginal(sent.id))
        return [encode_chunk(event.speaker, block, sent.name, meta)]

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
        return self._chunks(sent, event.speaker, event.id, rest, event.meta or None)

    def _first(self, event: MessageChanged, blocks: list[Block]) -> list[v1.SessionUpdate]:
        """A message that the client does not have: all of it."""
        name = self._ids.of(event.speaker, event.id)
        sent = self._sent[event.speaker, event.id] = _Sent(event.speaker, event.id, name, blocks)
        if sent.keeps_id and len(blocks) == 1:
            block = blocks[0]
            if type(block) is Text and not (block.annotations or block.meta):
                # Nearly every message of a replay.
                return [sent.kind(v1.TextContent(block.text), name, event.meta or UNSET)]
            return [encode_chunk(event.speaker, block, name, event.meta or None)]
        return self._chunks(sent, event.speaker, event.id, blocks, event.meta or None)

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
        first = encode_chunk(speaker, blocks[0], sent.name, keep(meta, MessageOriginal(message_id, replaces=True)))
        return [first, *self._chunks(sent, speaker, message_id, blocks[1:], None)]

    def _chunks(
        self, sent: _Sent, speaker: Speaker, message_id: str, blocks: list[Block], meta: dict[str, Any] | None
    ) -> list[v1.SessionUpdate]:
        original = MessageOriginal(message_id) if sent.name != message_id else None
        # The metadata of the whole message goes with the first block.
        return [
            encode_chunk(speaker, block, sent.name, keep(None if index else meta, original))
            for index, block in enumerate(blocks)
        ]


def rest_of(content: list[Block], sent: list[Block]) -> list[Block] | None:
    """What `content` has beyond what was sent; None where it does not begin with that."""
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
