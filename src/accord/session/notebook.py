"""A conversation as HTML and as Markdown, for notebooks (`_repr_html_`, `_repr_markdown_`).

Everything that an agent or a user wrote is text here: it is escaped, and can bring neither markup nor scripts nor
pictures of other servers. What is shown is bounded: the last entries, and the beginning of each long text.
"""

from __future__ import annotations

import difflib
import html
from collections.abc import Iterable, Iterator, Sequence

from accord.display import (
    exact,
    json_text,
    markdown_block,
    markdown_line,
    markdown_text,
    own,
    printed,
    prose,
    source_line,
)
from accord.session.content import Audio, Block, Image, Link, Text
from accord.session.entry import CompactionEntry, Entry, Message, Plan, TerminalEntry, ToolCall
from accord.session.event import Cost, StopReason, TokenUsage, UsageChanged
from accord.session.tool import Diff, FileChange, Shown, TerminalView, ToolContent

__all__ = ["Terminals", "conversation_html", "conversation_markdown", "end_note"]

MAX_ENTRIES = 60
MAX_CHARACTERS = 4_000
MAX_LINES = 60
# The time that it takes to compare two texts grows with the square of their lengths.
MAX_COMPARED_CHARACTERS = 200_000
_CONTEXT_LINES = 2
_SPEAKERS = {"user": "You", "agent": "Agent", "thought": "Thought"}
_MARKS = {"completed": "✓", "failed": "✗", "cancelled": "⊘", "in_progress": "…", "pending": "○", "paused": "∥"}

Terminals = dict[str, TerminalEntry]


def end_note(stop_reason: StopReason | str | None, tokens: TokenUsage | None, usage: UsageChanged | None) -> str:
    """How a turn ended and what it took."""
    parts = [str(stop_reason or "not ended well, or not yet")]
    if tokens is not None:
        parts.append(f"{tokens.total_tokens} tokens")
    if usage is not None and isinstance(usage.cost, Cost):
        parts.append(f"{usage.cost.amount:.4g} {usage.cost.currency}")
    return " · ".join(parts)


# --- HTML: inline styles that suit light and dark pages, and no script


def conversation_html(title: str, entries: Sequence[Entry], terminals: Terminals, note: str = "") -> str:
    """The entries below a title, and a last line."""
    parts = [f'<div style="font-family:sans-serif;line-height:1.45"><div style="opacity:.65">{_line(title)}</div>']
    left_out = len(entries) - MAX_ENTRIES
    if left_out > 0:
        parts.append(f'<div style="opacity:.65">… {left_out} earlier entries</div>')
    parts += [_entry_html(entry, terminals) for entry in entries[-MAX_ENTRIES:]]
    if note:
        parts.append(f'<div style="opacity:.65">{_line(note)}</div>')
    return "".join(parts) + "</div>"


def _entry_html(entry: Entry, terminals: Terminals) -> str:
    match entry:
        case Message(speaker="thought"):
            return f'<details style="opacity:.65"><summary>Thought</summary>{_text(_words(entry.content))}</details>'
        case Message():
            speaker = _SPEAKERS.get(entry.speaker, entry.speaker)
            edge = "border-left:3px solid #3b82f6" if entry.speaker == "user" else "border-left:3px solid #10b981"
            return (
                f'<div style="margin:.5em 0;padding-left:.7em;{edge}"><b>{_line(speaker)}</b>'
                f"{_text(_words(entry.content))}</div>"
            )
        case ToolCall():
            inside = "".join(_item_html(item, terminals) for item in entry.content) or _text(_input(entry))
            return (
                f'<details style="margin:.25em 0 .25em .7em"><summary>{_line(_head(entry))}</summary>{inside}</details>'
            )
        case Plan():
            rows = "".join(f"<li>{_line(f'{_mark(each.status)} {each.content}')}</li>" for each in entry.entries)
            return f'<ul style="margin:.25em 0;list-style:none">{rows}</ul>'
        case CompactionEntry():
            return f'<div style="opacity:.65">context compacted ({_line(entry.status)})</div>'
        case _:
            return ""


def _item_html(item: ToolContent, terminals: Terminals) -> str:
    match item:
        case Shown(block=block):
            return _text(_words([block]))
        case Diff(changes=changes):
            return "".join(_change_html(change) for change in changes)
        case TerminalView(terminal_id=terminal_id):
            return _text(_printed(terminals.get(terminal_id)))
        case _:
            return ""


def _change_html(change: FileChange) -> str:
    colours = {"+": "color:#10b981", "-": "color:#ef4444", "@": "opacity:.65"}
    rows = "".join(f'<div style="{colours.get(line[:1], "")}">{_escaped(line)}</div>' for line in _diff(change))
    return (
        f'<div style="margin:.25em 0"><code>{_line(_change_head(change))}</code>'
        f'<div style="font-family:monospace;white-space:pre-wrap">{rows}</div></div>'
    )


def _text(text: str) -> str:
    return f'<div style="white-space:pre-wrap">{_escaped(_clipped(text))}</div>'


def _line(text: str) -> str:
    return _escaped(_clipped(exact(text)))


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)


# --- Markdown


def conversation_markdown(title: str, entries: Sequence[Entry], terminals: Terminals, note: str = "") -> str:
    """As in HTML. The text of messages stays Markdown, without HTML and pictures."""
    parts = [f"*{_plain(title)}*"]
    left_out = len(entries) - MAX_ENTRIES
    if left_out > 0:
        parts.append(f"… {left_out} earlier entries")
    parts += [text for entry in entries[-MAX_ENTRIES:] if (text := _entry_markdown(entry, terminals))]
    if note:
        parts.append(f"*{_plain(note)}*")
    return "\n\n".join(parts) + "\n"


def _entry_markdown(entry: Entry, terminals: Terminals) -> str:
    match entry:
        case Message(speaker="thought"):
            return "\n".join(f"> {line}" for line in markdown_text(_clipped(_words(entry.content))).splitlines())
        case Message():
            speaker = _plain(_SPEAKERS.get(entry.speaker, entry.speaker))
            return f"**{speaker}:** {markdown_text(_clipped(_words(entry.content)))}"
        case ToolCall():
            inside = "\n".join(line for item in entry.content for line in _item_lines(item, terminals))
            head = f"- {_plain(_head(entry))}"
            return f"{head}\n\n{markdown_block(inside, own('text'))}" if inside else head
        case Plan():
            return "\n".join(f"- {_plain(f'{_mark(each.status)} {each.content}')}" for each in entry.entries)
        case CompactionEntry():
            return f"*context compacted ({_plain(entry.status)})*"
        case _:
            return ""


def _item_lines(item: ToolContent, terminals: Terminals) -> Iterator[str]:
    match item:
        case Shown(block=block):
            yield from _clipped(_words([block])).splitlines()
        case Diff(changes=changes):
            for change in changes:
                yield _change_head(change)
                yield from _diff(change)
        case TerminalView(terminal_id=terminal_id):
            yield from _clipped(_printed(terminals.get(terminal_id))).splitlines()
        case _:
            return


def _plain(text: str) -> str:
    return markdown_line(exact(text, MAX_CHARACTERS))


# --- both


def _words(blocks: Iterable[Block]) -> str:
    return prose("".join(_word(block) for block in blocks))


def _word(block: Block) -> str:
    match block:
        case Text(text=text):
            return text
        case Image(mime_type=mime_type):
            return f"[picture, {mime_type}]"
        case Audio(mime_type=mime_type):
            return f"[audio, {mime_type}]"
        case Link(name=name, uri=uri):
            return f"[{name}: {uri}]"
        case _:
            return f"[{getattr(block, 'uri', 'content')}]"


def _head(call: ToolCall) -> str:
    return f"{_mark(call.status)} {call.title or call.name or call.id} ({call.kind}, {call.status})"


def _mark(status: str) -> str:
    return _MARKS.get(status, "…")


def _input(call: ToolCall) -> str:
    shown = call.raw_output if call.raw_output is not None else call.raw_input
    return "" if shown is None else json_text(shown, indent=2, limit=MAX_CHARACTERS)


def _printed(terminal: TerminalEntry | None) -> str:
    return "" if terminal is None else printed(terminal.text)


def _change_head(change: FileChange) -> str:
    return exact(f"{change.operation} {change.path}")


def _diff(change: FileChange) -> list[str]:
    if len(change.old or "") + len(change.new or "") > MAX_COMPARED_CHARACTERS:
        return ["… too long to be compared here"]
    old, new = ((text or "").splitlines() for text in (change.old, change.new))
    lines = [source_line(line) for line in list(difflib.unified_diff(old, new, n=_CONTEXT_LINES, lineterm=""))[2:]]
    if len(lines) <= MAX_LINES:
        return list(lines)
    return [*lines[:MAX_LINES], f"… {len(lines) - MAX_LINES} more lines"]


def _clipped(text: str) -> str:
    lines = text[:MAX_CHARACTERS].splitlines() if len(text) > MAX_CHARACTERS or "\n" in text else [text]
    if len(text) <= MAX_CHARACTERS and len(lines) <= MAX_LINES:
        return text
    return "\n".join(lines[:MAX_LINES]) + "\n…"
