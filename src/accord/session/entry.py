"""The entries of a transcript: messages, tool calls, plans, compactions, terminals, each with its current state.

An entry is changed in place by the transcript that holds it; readers only read. The `_meta` of a chunk, or of one item,
belongs to that object alone (v2 rule A57), so chunks leave no meta behind in the entry they add to.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard, TypeVar, assert_never

from accord.json_values import JsonValue
from accord.protocol.model import UNSET, Maybe
from accord.session.content import Block, Text
from accord.session.event import (
    CompactionChanged,
    Event,
    MessageChanged,
    MessageChunk,
    Meta,
    PlanChanged,
    PlanEntry,
    Speaker,
    StopReason,
    TerminalChanged,
    TerminalExit,
    TokenUsage,
    ToolChanged,
    UnknownUpdate,
    WorkError,
)
from accord.session.tool import FINISHED, Diff, FileChange, Location, ToolContent, ToolKind, ToolStatus
from accord.session.unset import or_unset

__all__ = [
    "CompactionEntry",
    "Entry",
    "Message",
    "Passage",
    "Plan",
    "TerminalEntry",
    "ToolCall",
    "TurnSpan",
    "UnknownEntry",
    "entry_events",
    "terminal_event",
]

T = TypeVar("T")


def patched(patch: Maybe[T], now: T, cleared: T) -> T:
    """A field after a patch: absent keeps it, None clears it (v2 rule A55)."""
    if patch is UNSET:
        return now
    return cleared if patch is None else patch


def patched_meta(patch: Maybe[Meta], now: Meta) -> Meta:
    """The meta of an upsert is patched key by key, never deeper; a None deletes its key (v2 rule A57)."""
    if patch is UNSET:
        return now
    if patch is None:
        return {}
    return {key: value for key, value in {**now, **patch}.items() if value is not None}


def joined(pieces: Iterable[str]) -> str:
    """One text from pieces; halves of a character that was cut between two pieces become whole again."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


# So many pieces of a text are joined into one: each piece is an object, which costs more memory than its characters.
PIECES = 512


class Passage:
    """Blocks that grow by chunks. Plain text that is appended to plain text continues it.

    Appending takes constant time, and memory is hardly more than the text; reading joins the chunks since the last
    reading.
    """

    __slots__ = ("_blocks", "_lengths", "_tail")

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self._blocks: list[Block] = list(blocks)
        self._lengths: list[str] = []
        """The pieces of the text at the end, many of them joined to one."""
        self._tail: list[str] = []
        """The newest ones."""

    def append(self, block: Block) -> None:
        """Add one chunk at the end."""
        if type(block) is Text and block.annotations is None and block.meta is None:
            tail = self._tail
            tail.append(block.text)
            if len(tail) >= PIECES:
                self._lengths.append("".join(tail))
                self._tail = []
        else:
            self.blocks.append(block)

    @property
    def blocks(self) -> list[Block]:
        """All blocks, in order."""
        if self._tail or self._lengths:
            self._join()
        return self._blocks

    def _join(self) -> None:
        last = self._blocks[-1] if self._blocks else None
        if is_plain(last):
            # A new block: the old one belongs to the event that brought it.
            self._blocks[-1] = Text(joined([last.text, *self._lengths, *self._tail]))
        else:
            self._blocks.append(Text(joined([*self._lengths, *self._tail])))
        self._lengths, self._tail = [], []

    @property
    def text(self) -> str:
        """The text blocks as one text."""
        return joined(block.text for block in self.blocks if isinstance(block, Text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Passage) and self.blocks == other.blocks

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        return f"Passage({self.blocks!r})"


def is_plain(block: Block | None) -> TypeGuard[Text]:
    """Whether a block is text and nothing else, so that joining it to its neighbour loses nothing."""
    return type(block) is Text and block.annotations is None and block.meta is None


@dataclass(slots=True)
class Message:
    """A message of the user or the agent, or a thought; `id` is None where the edition names no messages."""

    speaker: Speaker
    id: str | None
    passage: Passage = field(default_factory=Passage)
    meta: Meta = field(default_factory=dict)
    refused: bool = False

    @property
    def content(self) -> list[Block]:
        """All blocks, in order."""
        return list(self.passage.blocks)

    @property
    def text(self) -> str:
        """The text blocks as one text."""
        return self.passage.text

    def change(self, event: MessageChanged) -> None:
        """Apply an upsert."""
        if event.content is not UNSET:
            self.passage = Passage(event.content or ())
        self.meta = patched_meta(event.meta, self.meta)


@dataclass(slots=True)
class ToolCall:
    """A tool at work. An unknown status counts as in progress (v2 rule A62)."""

    id: str
    title: str | None = None
    kind: ToolKind | str = "other"
    status: ToolStatus | str = "pending"
    name: str | None = None
    content: list[ToolContent] = field(default_factory=list)
    locations: list[Location] = field(default_factory=list)
    raw_input: JsonValue = None
    raw_output: JsonValue = None
    cancellable: bool = False
    meta: Meta = field(default_factory=dict)
    refused: bool = False
    begun: bool = field(default=False, compare=False, repr=False)
    """Whether it was ever more than pending: then it separates the messages before it from those after it."""

    @property
    def finished(self) -> bool:
        """Whether it is over, however it ended."""
        return self.status in FINISHED

    @property
    def diffs(self) -> list[FileChange]:
        """The changes of files that it shows, however it ended."""
        return [change for item in self.content if isinstance(item, Diff) for change in item.changes]

    def change(self, event: ToolChanged) -> None:
        """Apply a report: a patch, or a new start from the defaults."""
        now = ToolCall(self.id) if event.created else self
        self.title = patched(event.title, now.title, None)
        self.kind = patched(event.kind, now.kind, "other")
        self.status = patched(event.status, now.status, "pending")
        self.begun = self.begun or self.status != "pending"
        self.name = patched(event.name, now.name, None)
        if event.created or event.content is not UNSET:
            # A copy: chunks are appended to it, and an event is not changed.
            self.content = list(event.content or ())
        self.locations = patched(event.locations, now.locations, [])
        self.raw_input = patched(event.raw_input, now.raw_input, None)
        self.raw_output = patched(event.raw_output, now.raw_output, None)
        self.cancellable = patched(event.cancellable, now.cancellable, False)  # noqa: FBT003 - a value, not a switch
        self.meta = patched_meta(event.meta, now.meta)


@dataclass(slots=True)
class Plan:
    """The plan of the agent; each report replaces the whole plan."""

    id: str
    entries: list[PlanEntry] = field(default_factory=list)
    meta: Meta | None = None
    refused: bool = False

    def change(self, event: PlanChanged) -> None:
        """Replace it."""
        self.entries = list(event.entries)
        self.meta = event.meta


@dataclass(slots=True)
class CompactionEntry:
    """The context was compacted here, or is being compacted."""

    id: str
    status: str = "in_progress"
    passage: Passage = field(default_factory=Passage)
    error: str | None = None
    meta: Meta = field(default_factory=dict)
    refused: bool = False

    @property
    def summary(self) -> list[Block]:
        """The summary of the compacted context."""
        return list(self.passage.blocks)

    def change(self, event: CompactionChanged) -> None:
        """Apply a report."""
        self.status = event.status
        if event.summary is not UNSET:
            self.passage = Passage(event.summary or ())
        self.error = patched(event.error, self.error, None)
        self.meta = patched_meta(event.meta, self.meta)


@dataclass(slots=True)
class UnknownEntry:
    """An update that no edition names yet, at the place where it came."""

    update: UnknownUpdate
    refused: bool = False


Entry: TypeAlias = Message | ToolCall | Plan | CompactionEntry | UnknownEntry
"""The entries of a conversation. `refused` marks those that a refusal took out of the agent's context (v1 rule 25)."""


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")


@dataclass(slots=True)
class TerminalEntry:
    """A command's terminal on the agent's side. It has no place of its own: tool calls show it.

    Its bytes are foreign: a presentation must expect escape sequences (v2 rule A69).
    """

    id: str
    command: str | None = None
    cwd: str | None = None
    exit: TerminalExit | None = None
    size: tuple[int, int] | None = None
    cancellable: bool = False
    meta: Meta = field(default_factory=dict)
    _output: bytearray = field(default_factory=bytearray, repr=False)
    _decoder: codecs.IncrementalDecoder = field(default_factory=_decoder, repr=False, compare=False)
    _decoded: int = field(default=0, repr=False, compare=False)
    _text: str = field(default="", repr=False, compare=False)

    @property
    def output(self) -> bytes:
        """All bytes."""
        return bytes(self._output)

    @property
    def text(self) -> str:
        """The bytes as UTF-8. The beginning of a character is left out as long as its rest may still come."""
        # Only what is new is decoded: chunks may end within a character (v2 rule A67).
        self._text += self._decoder.decode(self._output[self._decoded :])
        self._decoded = len(self._output)
        cut = bool(self._decoder.getstate()[0])
        return self._text + "\ufffd" if cut and self.exit is not None else self._text

    def append(self, data: bytes) -> None:
        """Add bytes at the end."""
        self._output += data

    def change(self, event: TerminalChanged) -> None:
        """Apply a report; output in it replaces everything so far."""
        self.command = patched(event.command, self.command, None)
        self.cwd = patched(event.cwd, self.cwd, None)
        self.exit = patched(event.exit, self.exit, None)
        self.size = patched(event.size, self.size, None)
        self.cancellable = patched(event.cancellable, self.cancellable, False)  # noqa: FBT003 - a value, not a switch
        self.meta = patched_meta(event.meta, self.meta)
        if event.output is not UNSET:
            self._output = bytearray(event.output or b"")
            self._decoder, self._decoded, self._text = _decoder(), 0, ""


@dataclass(slots=True)
class TurnSpan:
    """The position of a turn in the timeline: `timeline[start:end]`; `end` is None while it lasts.

    `worked` says that work was reported, not only asked for. A turn without a stop reason ended for an unknown reason.
    """

    start: int
    end: int | None = None
    stop_reason: StopReason | str | None = None
    error: WorkError | None = None
    worked: bool = False
    token_usage: TokenUsage | None = None

    @property
    def refused(self) -> bool:
        """Whether the agent dropped the prompt and what followed from its context."""
        return self.stop_reason == "refusal"


def entry_events(entry: Entry) -> list[Event]:
    """The events that make an equal entry in an empty transcript."""
    match entry:
        case Message():
            return _message_events(entry)
        case ToolCall():
            return _tool_events(entry)
        case Plan():
            return [PlanChanged(entry.entries, entry.id, entry.meta)]
        case CompactionEntry():
            return [_compaction_event(entry)]
        case UnknownEntry():
            return [entry.update]
    assert_never(entry)


def terminal_event(terminal: TerminalEntry) -> TerminalChanged:
    """A terminal as one report."""
    return TerminalChanged(
        terminal.id,
        command=or_unset(terminal.command),
        cwd=or_unset(terminal.cwd),
        output=terminal.output or UNSET,
        exit=or_unset(terminal.exit),
        size=or_unset(terminal.size),
        cancellable=terminal.cancellable or UNSET,
        meta=terminal.meta or UNSET,
    )


def _message_events(message: Message) -> list[Event]:
    if message.id is None:
        # Only chunks may have no id. The entry that separates this message from its neighbour is replayed too.
        return [MessageChunk(message.speaker, block) for block in message.content]
    return [MessageChanged(message.speaker, message.id, message.content or UNSET, message.meta or UNSET)]


def _tool_events(call: ToolCall) -> list[Event]:
    if call.begun and call.status == "pending":
        # It began, which separates messages without ids, and went back to pending.
        return [_tool_event(call, "in_progress"), ToolChanged(call.id, status="pending")]
    return [_tool_event(call, call.status)]


def _tool_event(call: ToolCall, status: ToolStatus | str) -> ToolChanged:
    return ToolChanged(
        call.id,
        title=or_unset(call.title),
        kind=call.kind,
        status=status,
        name=or_unset(call.name),
        # Copies: the call goes on changing, an event does not.
        content=list(call.content) or UNSET,
        locations=list(call.locations) or UNSET,
        raw_input=or_unset(call.raw_input),
        raw_output=or_unset(call.raw_output),
        cancellable=call.cancellable or UNSET,
        created=True,
        meta=call.meta or UNSET,
    )


def _compaction_event(compaction: CompactionEntry) -> CompactionChanged:
    return CompactionChanged(
        compaction.id,
        compaction.status,
        summary=compaction.summary or UNSET,
        error=or_unset(compaction.error),
        meta=compaction.meta or UNSET,
    )


def changes_of(calls: Iterable[ToolCall]) -> list[FileChange]:
    """The file changes that tool calls show, in their order; not those of calls that failed or were cancelled."""
    return [change for call in calls if call.status not in {"failed", "cancelled"} for change in call.diffs]
