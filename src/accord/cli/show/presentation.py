"""Entries and events of a session as values for a screen: marks, words, facts, and which of them to show.

`accord run` and `accord sessions show` lay them out as lines of text, `accord chat` as widgets. The wording for both is
decided here and nowhere else; a test checks that. Values are independent of width, stream and toolkit: a style is one
of the names of `line.Span`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from accord.cli.show.diff import counts, place_of
from accord.cli.show.line import Line, Span, size
from accord.display import EMPTY, SafeText, clip, exact, filled, joined, json_text, own, prose_line
from accord.protocol.model import Unknown
from accord.session.content import Audio, Image, Link, Resource
from accord.session.entry import TerminalEntry, ToolCall
from accord.session.event import Noticed, PlanEntry
from accord.session.tool import Diff, Shown, ToolContent

Level: TypeAlias = Literal["info", "warning", "error"]

THOUGHT = own("think")
MINUS = own("\N{MINUS SIGN}")
NAME_CHARACTERS = 200
STEP_CHARACTERS = 400
ABOUT_CHARACTERS = 400
KIND_CHARACTERS = 20
STATUS_CHARACTERS = 40
RAW_CHARACTERS = 4000
# A call that streams text has many items; the first ones identify it.
FIRST_ITEMS = 20

_FILE_KINDS = frozenset({"read", "edit", "delete", "move"})
_KIND_LABELS = {"execute": own("run"), "switch_mode": own("mode"), "other": own("tool")}
_TOOL_MARKS = {
    "pending": Span(own("○"), "dim"),
    "in_progress": Span(own("◐"), "yellow"),
    "paused": Span(own("◫"), "yellow"),
    "completed": Span(own("✓"), "green"),
    "failed": Span(own("✗"), "red"),
    "cancelled": Span(own("⊘"), "yellow"),
}
_PLAN_MARKS = {
    "pending": Span(own("○")),
    "in_progress": Span(own("▸"), "yellow"),
    "completed": Span(own("✓"), "dim"),
    "cancelled": Span(own("⊘"), "dim"),
}
_COMPACTIONS = {
    "in_progress": own("compacting the context"),
    "completed": own("the context was compacted"),
}
_LEVELS: dict[str, Level] = {"error": "error", "warning": "warning"}


@dataclass(frozen=True, slots=True)
class Note:
    """A remark of ours or a notice of the agent; `advice` is the next step, `detail` further information."""

    text: SafeText
    level: Level = "info"
    advice: SafeText = EMPTY
    detail: SafeText = EMPTY

    @property
    def style(self) -> str:
        return {"error": "red", "warning": "yellow"}.get(self.level, "")


# --- tool calls


@dataclass(frozen=True, slots=True)
class ToolHead:
    """A tool call in a line: state, kind, subject, line counts of its diffs, and its outcome."""

    mark: Span
    kind: SafeText
    about: SafeText
    counts: Line
    outcome: Span
    is_plain: bool
    """Whether the mark alone shows the state."""


def tool_head(call: ToolCall, cwd: str, counts_of: Line | None = None) -> ToolHead:
    """The line of a call; `counts_of` are its counts where they are known already, because diffs take time."""
    mark = _TOOL_MARKS.get(call.status, Span(own("◌"), "yellow"))
    outcome = own("ok") if call.status == "completed" else exact(call.status, STATUS_CHARACTERS)
    return ToolHead(
        mark,
        kind_label(call.kind) if call.kind != "other" or not call.name else exact(call.name, KIND_CHARACTERS),
        about(call, cwd, ABOUT_CHARACTERS),
        changed(item for item in call.content if isinstance(item, Diff)) if counts_of is None else counts_of,
        Span(outcome, mark.style),
        call.status in {"pending", "in_progress", "completed"},
    )


def kind_label(kind: str) -> SafeText:
    """The word for a kind of tool call."""
    return _KIND_LABELS.get(kind) or exact(kind, KIND_CHARACTERS)


def about(call: ToolCall, cwd: str, limit: int | None = None) -> SafeText:
    """The subject of a call: its files where those are enough, otherwise its title; `limit` characters at most."""
    paths = [
        place_of(location.path, cwd) + (f":{location.line}" if (location.line or 1) > 1 else "")
        for location in call.locations[:limit]
    ]
    if call.kind in _FILE_KINDS:
        diff = next((item for item in call.content if isinstance(item, Diff)), None)
        if diff is not None and not paths:
            paths = [place_of(change.path, cwd) for change in diff.changes[:limit]]
    if paths and (call.kind in _FILE_KINDS or not (call.title or call.name)):
        files = joined((exact(place, limit) for place in dict.fromkeys(paths)), own(", "))
        return files if limit is None else clip(files, limit)
    return exact(call.title or call.name or call.id, limit)


def changed(diffs: Iterable[Diff]) -> Line:
    """The counts of added and removed lines in all diffs, and other file operations; empty without a diff."""
    diffs = list(diffs)
    if not diffs:
        return []
    added, removed = (sum(each) for each in zip(*map(counts, diffs), strict=True))
    changes = [change for diff in diffs for change in diff.changes]
    kinds: set[str] = {change.operation for change in changes if change.operation != "modify"}
    if any(change.old is None and change.new is not None for change in changes) and not kinds:
        kinds = {"new file"}
    spans = [Span(filled("+{}", added), "green"), Span(filled(" {}{}", MINUS, removed), "red")]
    return [*spans, *(Span(filled(" {}", exact(kind, KIND_CHARACTERS)), "dim") for kind in sorted(kinds))]


def diff_name(diff: Diff, cwd: str) -> SafeText:
    """The files of a diff."""
    return joined((exact(place_of(change.path, cwd)) for change in diff.changes), own(", ")) or own("diff")


def is_worth_showing(call: ToolCall, item: ToolContent) -> bool:
    """Whether a result is shown by default: changes of files, output of commands, the reason of a failure."""
    return not isinstance(item, Shown) or call.status == "failed" or call.kind == "execute"


def opens(call: ToolCall) -> bool:
    """Whether a call has content beside its line."""
    return call.status == "failed" or any(is_worth_showing(call, item) for item in call.content[:FIRST_ITEMS])


def raw_values(call: ToolCall, cwd: str, indent: int | None = None) -> list[SafeText]:
    """The raw input and output, else the places; for a call that has no content."""
    values = [(own("in"), call.raw_input), (own("out"), call.raw_output)]
    shown = [
        filled("{}  {}", name, json_text(value, indent, RAW_CHARACTERS)) for name, value in values if value is not None
    ]
    return shown or [
        filled("at  {}:{}" if place.line else "at  {}", place_of(place.path, cwd), place.line)
        for place in call.locations
    ]


def terminal_name(terminal: TerminalEntry) -> SafeText:
    """The command of a terminal."""
    return exact(terminal.command or terminal.id, NAME_CHARACTERS)


def terminal_ending(terminal: TerminalEntry) -> Span | None:
    """The state of a command, or its exit if it failed."""
    ended = terminal.exit
    if ended is None:
        return Span(own("running"), "yellow")
    if ended.signal is not None:
        return Span(filled("ended by {}", ended.signal), "red")
    return Span(filled("exit status {}", ended.code), "red") if ended.code else None


# --- plans, compactions, content blocks


def plan_step(entry: PlanEntry) -> Line:
    """One step: its state, its text, and whether it is urgent."""
    mark = _PLAN_MARKS.get(entry.status, Span(own("◌")))
    odd = EMPTY if entry.status in _PLAN_MARKS else filled(" ({})", exact(entry.status, STATUS_CHARACTERS))
    is_urgent = entry.priority == "high" and entry.status not in {"completed", "cancelled"}
    return [
        Span(filled("{} {}{}", mark.text, prose_line(entry.content, STEP_CHARACTERS), odd), mark.style),
        *([Span(own(" !"), "red")] if is_urgent else []),
    ]


def compaction_state(status: str, error: str | None) -> Line:
    shown = _COMPACTIONS.get(status) or filled("compaction {}", exact(status, STATUS_CHARACTERS))
    return [
        Span(shown, "dim"),
        *([Span(filled("  {}", prose_line(error, NAME_CHARACTERS)), "red")] if error else []),
    ]


@dataclass(frozen=True, slots=True)
class BlockLabel:
    """A block that is no text: its kind, and its facts."""

    mark: SafeText
    name: SafeText
    facts: Sequence[SafeText] = ()
    address: SafeText = EMPTY
    """The target of a link; also among the facts."""


def block_label(block: Image | Audio | Link | Resource | Unknown) -> BlockLabel:
    match block:
        case Image():
            return BlockLabel(own("▣"), own("image"), _facts(block.mime_type, _data_size(block.data), block.uri))
        case Audio():
            return BlockLabel(own("♪"), own("audio"), _facts(block.mime_type, _data_size(block.data)))
        case Link():
            facts = _facts(block.uri, None if block.size is None else size(block.size), block.description)
            return BlockLabel(own("↗"), _name(block.title or block.name), facts, exact(block.uri))
        case Resource():
            long = _data_size(block.blob or "") if block.text is None else filled("{} characters", len(block.text))
            name = _name(block.uri.rsplit("/", 1)[-1] or block.uri)
            return BlockLabel(own("▤"), name, _facts(own("embedded"), block.uri, block.mime_type, long))
        case Unknown():
            return BlockLabel(own("?"), _name(block.tag), [json_text(block.payload, None, RAW_CHARACTERS)])


def _facts(*facts: str | None) -> list[SafeText]:
    return [fact if isinstance(fact, SafeText) else exact(fact, NAME_CHARACTERS) for fact in facts if fact]


def _name(text: str) -> SafeText:
    return exact(text, NAME_CHARACTERS)


def _data_size(base64: str) -> SafeText:
    return size(len(base64) * 3 // 4)


# --- notes


def notice_note(notice: Noticed) -> Note:
    """A notice of the agent."""
    return Note(
        exact(notice.title, NAME_CHARACTERS),
        _LEVELS.get(notice.severity, "info"),
        detail=prose_line(notice.description or "", 1000),
    )


def respawn_note(reason: str) -> Note:
    """The agent was lost, started again, and has its session."""
    return Note(own("the agent was lost and started again"), "warning", detail=prose_line(reason, 1000))


_STOPS: dict[str, Note] = {
    "cancelled": Note(own("cancelled")),
    "max_tokens": Note(own("the model's limit of tokens is reached"), "warning"),
    "max_turn_requests": Note(own("the agent's limit of steps is reached"), "warning"),
    "refusal": Note(own("the agent refused"), "warning"),
}


def stop_note(stop_reason: str | None) -> Note | None:
    """The note for an unusual end of a turn."""
    if stop_reason in {None, "end_turn", "error"}:
        return None
    return _STOPS.get(stop_reason or "", Note(filled("ended: {}", stop_reason)))


def stop_text(stop_reason: str) -> SafeText:
    """The stop reason, with its meaning where the word alone does not say it."""
    note = _STOPS.get(stop_reason)
    if note is None or note.level == "info":
        return exact(stop_reason, STATUS_CHARACTERS)
    return filled("{}: {}", stop_reason, note.text)


def fails_silently(call: ToolCall) -> bool:
    """Whether a call failed and shows nothing that can be the reason, as a call of an agent whose tool raised."""
    return call.status == "failed" and not call.raw_output and all(isinstance(each, Diff) for each in call.content)
