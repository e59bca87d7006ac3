"""A tool call as lines: what it does to what, how it went, and what a person wants to see of its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from accord.cli.show.block import block_text
from accord.cli.show.diff import INDENT, changed, diff_lines, place_of
from accord.cli.show.line import OUTCOME_COLUMN, Line, Span, clipped, line_of, width
from accord.cli.show.quantity import duration
from accord.display import SafeText, exact, filled, joined, json_text, own, printed, safe_lines, trimmed
from accord.protocol.model import Unknown
from accord.session.entry import TerminalEntry, ToolCall
from accord.session.tool import Diff, Shown, TerminalView

__all__ = ["Lookup", "about", "headline", "kind_word", "tool_lines"]

WORDS = {"execute": own("run"), "switch_mode": own("mode"), "other": own("tool")}
STYLES = {"completed": "green", "failed": "red", "cancelled": "yellow"}
OUTCOMES = {"completed": own("ok")}
DIFF_LINES = 12
OUTPUT_LINES = 10
ABOUT_COLUMNS = 100
KIND_CHARACTERS = 20

Lookup = Mapping[str, TerminalEntry]


def about(call: ToolCall, cwd: str) -> SafeText:
    """What a call is about: the files where that says it all, otherwise its title."""
    places = [
        place_of(location.path, cwd) + (f":{location.line}" if (location.line or 1) > 1 else "")
        for location in call.locations
    ]
    for item in call.content:
        if isinstance(item, Diff) and not places:
            places = [place_of(change.path, cwd) for change in item.changes]
    if call.kind in {"read", "edit", "delete", "move"} and places:
        return joined(map(exact, dict.fromkeys(places)), own(", "))
    return exact(call.title or call.name or call.id)


def kind_word(kind: str) -> SafeText:
    """The word for a kind of tool call."""
    return WORDS.get(kind) or exact(kind, KIND_CHARACTERS)


def headline(call: ToolCall, cwd: str, seconds: float | None = None) -> Line:
    """The line of a call; with `seconds` it says also how it ended, and how long it took."""
    what = clipped(about(call, cwd), ABOUT_COLUMNS)
    counts = [changed(item) for item in call.content if isinstance(item, Diff)]
    spans = line_of(own("  "), Span(filled("{:<5}", kind_word(call.kind)), "cyan"), filled(" {}", what))
    if counts:
        spans.append(Span(filled("   {}", counts[-1]), "dim"))
    if seconds is not None:
        used = sum(width(span.text) for span in spans)
        outcome = OUTCOMES.get(call.status) or exact(call.status, KIND_CHARACTERS)
        spans.append(Span(filled("{:{}}", own(""), max(2, OUTCOME_COLUMN - used))))
        spans.append(Span(filled("{:<4}", outcome), STYLES.get(call.status, "yellow")))
        spans.append(Span(filled(" {}", duration(seconds)), "dim"))
    return spans


def tool_lines(call: ToolCall, terminals: Lookup, *, diffs: bool = True) -> Iterator[Line]:
    """What is worth seeing of its results: changes of files, what commands printed, why it failed."""
    for item in call.content:
        match item:
            case Diff():
                if diffs:
                    yield from diff_lines(item, DIFF_LINES)
            case TerminalView():
                yield from _terminal_lines(terminals.get(item.terminal_id))
            case Shown():
                if call.status == "failed" or call.kind == "execute":
                    yield from _last_lines(block_text(item.block))
            case Unknown():
                yield line_of(INDENT, json_text(item.payload))


def _terminal_lines(terminal: TerminalEntry | None) -> Iterator[Line]:
    if terminal is None:
        return
    yield from _last_lines(terminal.text)
    ended = terminal.exit
    if ended is not None and ended.signal is not None:
        yield line_of(Span(filled("{}ended by {}", INDENT, ended.signal), "red"))
    elif ended is not None and ended.code:
        yield line_of(Span(filled("{}exit status {}", INDENT, ended.code), "red"))


def _last_lines(text: str) -> Iterator[Line]:
    lines = safe_lines(printed(text.strip("\n")))
    if len(lines) > OUTPUT_LINES:
        yield line_of(Span(filled("{}… {} lines before", INDENT, len(lines) - OUTPUT_LINES), "dim"))
    for line in lines[-OUTPUT_LINES:]:
        yield line_of(Span(trimmed(joined([INDENT, line])), "dim"))
