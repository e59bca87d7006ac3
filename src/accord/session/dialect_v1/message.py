"""Messages in v1: chunks only. A whole message is told by what it adds, a corrected one as another message."""

from collections.abc import Iterable
from typing import Any, TypeGuard

from accord.protocol import v1
from accord.protocol.model import UNSET
from accord.session.content import Block, Text
from accord.session.dialect_v1.content import block_in, block_out
from accord.session.entry import PIECES, Passage
from accord.session.event import Event, MessageChanged, MessageChunk, Speaker
from accord.session.naming import Names
from accord.session.nearest import meant_notice
from accord.session.original import MessageOriginal, keep, recall
from accord.session.presence import given, told

__all__ = ["Messages", "chunk_in", "chunk_out"]

CHUNKS: dict[Speaker, type[v1.UserMessageChunk | v1.AgentMessageChunk | v1.AgentThoughtChunk]] = {
    "user": v1.UserMessageChunk,
    "agent": v1.AgentMessageChunk,
    "thought": v1.AgentThoughtChunk,
}


def chunk_out(speaker: Speaker, block: Block, name: str | None, meta: dict[str, Any] | None) -> v1.SessionUpdate:
    """One block of a message."""
    return CHUNKS[speaker](block_out(block), UNSET if name is None else name, meta or UNSET)


def chunk_in(speaker: Speaker, chunk: v1.ContentChunk) -> Event:
    """One block of a message, the first of a corrected one, or what was said as a message for want of a better word."""
    meta, original = recall(chunk.meta, MessageOriginal)
    if notice := meant_notice(original, meta):
        return notice
    block, message_id = block_in(chunk.content), told(chunk.message_id)
    if original is not None and original.id is not None:
        if original.replaces:
            return MessageChanged(speaker, original.id, [block], given(meta))
        message_id = original.id
    return MessageChunk(speaker, block, message_id, meta)


class _Said:
    """A message as the client has it; `stale` after it was cleared, which v1 cannot tell."""

    __slots__ = ("_passage", "id", "keeps_id", "kind", "name", "pieces", "speaker", "stale")

    def __init__(self, speaker: Speaker, message_id: str, name: str, blocks: Iterable[Block] = ()) -> None:
        self.speaker = speaker
        self.id = message_id
        self.kind = CHUNKS[speaker]
        self.name = name
        self.keeps_id = name == message_id
        self.stale = False
        self.pieces: list[str] = []
        """The newest texts, which are no blocks yet."""
        self._passage = Passage(blocks)

    @property
    def blocks(self) -> list[Block]:
        """All of it."""
        self.join()
        return self._passage.blocks

    @blocks.setter
    def blocks(self, blocks: list[Block]) -> None:
        self.pieces, self._passage = [], Passage(blocks)

    def join(self) -> None:
        """Make one of the newest texts."""
        if self.pieces:
            self._passage.append(Text("".join(self.pieces)))
            self.pieces = []


class Messages:
    """The messages of one session that have ids, as the client has them."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._said: dict[tuple[Speaker, str], _Said] = {}
        self._newest: _Said | None = None
        """The one that grows: nearly every chunk belongs to the message of the one before it."""

    def chunk(self, event: MessageChunk) -> list[v1.SessionUpdate]:
        """A block more."""
        block, said = event.block, self._newest
        if said is None or said.id != event.id or said.speaker != event.speaker:
            if event.id is None:
                return [chunk_out(event.speaker, block, None, event.meta)]
            said = self._newest = self._message(event.speaker, event.id)
        if said.stale:
            return self._anew(said, event.speaker, said.id, [block], event.meta)
        if said.keeps_id and type(block) is Text and not (block.annotations or block.meta or event.meta):
            # Nearly all that is ever said is said so.
            pieces = said.pieces
            pieces.append(block.text)
            if len(pieces) > PIECES:
                said.join()
            return [said.kind(v1.TextContent(block.text), said.id)]
        said.blocks.append(block)
        meta = event.meta if said.keeps_id else keep(event.meta, MessageOriginal(said.id))
        return [chunk_out(event.speaker, block, said.name, meta)]

    def whole(self, event: MessageChanged) -> list[v1.SessionUpdate]:
        """A message as it is now: what it adds to what the client has, or all of it under another name."""
        if event.content is UNSET:
            return []
        if event.content and (event.speaker, event.id) not in self._said:
            return self._first(event, event.content)
        said = self._message(event.speaker, event.id)
        if not event.content:
            said.stale = bool(said.blocks)
            return []
        rest = rest_of(event.content, said.blocks)
        if rest is None:
            return self._anew(said, event.speaker, event.id, event.content, event.meta or None)
        said.blocks, said.stale = event.content, False
        return self._chunks(said, event.speaker, event.id, rest, event.meta or None)

    def _first(self, event: MessageChanged, blocks: list[Block]) -> list[v1.SessionUpdate]:
        """A message that the client does not have: all of it."""
        name = self._names.of(event.speaker, event.id)
        said = self._said[event.speaker, event.id] = _Said(event.speaker, event.id, name, blocks)
        if said.keeps_id and len(blocks) == 1:
            return [chunk_out(event.speaker, blocks[0], name, event.meta or None)]
        return self._chunks(said, event.speaker, event.id, blocks, event.meta or None)

    def forget(self) -> None:
        """Nothing that was said so far will be said otherwise: only the names are needed any more."""
        self._said.clear()
        self._newest = None

    def _message(self, speaker: Speaker, message_id: str) -> _Said:
        said = self._said.get((speaker, message_id))
        if said is None:
            said = self._said[speaker, message_id] = _Said(speaker, message_id, self._names.of(speaker, message_id))
        return said

    def _anew(
        self, said: _Said, speaker: Speaker, message_id: str, blocks: list[Block], meta: dict[str, Any] | None
    ) -> list[v1.SessionUpdate]:
        said.name = self._names.renew(speaker, message_id)
        said.keeps_id = said.name == message_id
        said.blocks, said.stale = blocks, False
        first = chunk_out(speaker, blocks[0], said.name, keep(meta, MessageOriginal(message_id, replaces=True)))
        return [first, *self._chunks(said, speaker, message_id, blocks[1:], None)]

    def _chunks(
        self, said: _Said, speaker: Speaker, message_id: str, blocks: list[Block], meta: dict[str, Any] | None
    ) -> list[v1.SessionUpdate]:
        original = MessageOriginal(message_id) if said.name != message_id else None
        # The metadata of the whole message goes with the first block.
        return [
            chunk_out(speaker, block, said.name, keep(None if index else meta, original))
            for index, block in enumerate(blocks)
        ]


def rest_of(content: list[Block], said: list[Block]) -> list[Block] | None:
    """What `content` has beyond what was said; None where it does not begin with that."""
    if not said:
        return content
    old, new = _joined(said), _joined(content)
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
