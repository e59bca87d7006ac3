"""A whole conversation from before: as lines for the screen, or as Markdown for a file."""

from __future__ import annotations

from collections.abc import Iterator

from accord.cli.show.block import blocks_text, raw
from accord.cli.show.diff import diff_lines
from accord.cli.show.line import Line, Span, clipped, line_of
from accord.cli.show.plan import plan_lines
from accord.cli.show.safe import safe_line, safe_text, without_escapes
from accord.cli.show.tool import OUTCOMES, about, headline, tool_lines
from accord.session.entry import Compaction, Entry, Message, Plan, ToolCall
from accord.session.tool import Diff, TerminalView
from accord.session.transcript import Transcript

__all__ = ["markdown", "transcript_lines"]

THOUGHT_COLUMNS = 100
SPEAKERS = {"user": "You", "agent": "Agent", "thought": "Thought"}


def transcript_lines(transcript: Transcript, cwd: str, columns: int) -> Iterator[Line]:
    """The lines."""
    for entry in transcript.timeline:
        yield from _lines(entry, transcript, cwd, columns)


def _lines(entry: Entry, transcript: Transcript, cwd: str, columns: int) -> Iterator[Line]:
    match entry:
        case Message():
            yield from _message_lines(entry)
        case ToolCall():
            outcome = OUTCOMES.get(entry.status, safe_line(entry.status))
            yield [*headline(entry, cwd), Span(f"   {outcome}", "dim")]
            yield from tool_lines(entry, transcript.terminals)
        case Plan():
            yield from plan_lines(entry.entries, columns)
        case Compaction():
            yield line_of(Span("  compact", "cyan"), Span(f" {safe_line(blocks_text(entry.summary))}", "dim"))
        case _:
            yield line_of("  ", Span(safe_line(entry.update.tag), "cyan"), f" {safe_line(raw(entry.update.payload))}")


def _message_lines(message: Message) -> Iterator[Line]:
    text = safe_text(blocks_text(message.content))
    if message.speaker == "thought":
        yield line_of("  ", Span("think", "cyan"), Span(f" {clipped(safe_line(text), THOUGHT_COLUMNS)}", "dim"))
        return
    if message.speaker == "user":
        yield []
        for line in text.splitlines():
            yield line_of(Span(f"> {line}", "bold"))
        return
    for line in text.splitlines():
        yield line_of(line)


def markdown(transcript: Transcript, session_id: str, cwd: str) -> str:
    """The conversation as a document."""
    parts = [f"# {safe_line(transcript.title or f'Session {session_id}')}", f"Session `{session_id}` in `{cwd}`."]
    parts += [_markdown(entry, transcript, cwd) for entry in transcript.timeline]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown(entry: Entry, transcript: Transcript, cwd: str) -> str:
    match entry:
        case Message():
            return f"## {SPEAKERS[entry.speaker]}\n\n{safe_text(blocks_text(entry.content)).strip()}"
        case ToolCall():
            return "\n\n".join(_markdown_tool(entry, transcript, cwd))
        case Plan():
            marks = {"completed": "x"}
            return "\n".join(f"- [{marks.get(each.status, ' ')}] {safe_line(each.content)}" for each in entry.entries)
        case Compaction():
            return f"*The context was compacted: {entry.status}.*\n\n{safe_text(blocks_text(entry.summary))}".strip()
        case _:
            return _fenced("json", raw(entry.update.payload))


def _markdown_tool(call: ToolCall, transcript: Transcript, cwd: str) -> Iterator[str]:
    yield f"**{safe_line(call.kind)}** {about(call, cwd)} ({safe_line(call.status)})"
    for item in call.content:
        if isinstance(item, Diff):
            lines = ("".join(span.text for span in line)[4:] for line in diff_lines(item))
            yield _fenced("diff", "\n".join(lines))
        elif isinstance(item, TerminalView) and item.terminal_id in transcript.terminals:
            yield _fenced("", without_escapes(transcript.terminals[item.terminal_id].text))


def _fenced(language: str, text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{safe_text(text).rstrip()}\n{fence}"
