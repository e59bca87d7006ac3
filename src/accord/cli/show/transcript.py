"""A whole conversation from before: as lines for the screen, or as Markdown for a file."""

from __future__ import annotations

from collections.abc import Iterator

from accord.cli.show.block import blocks_text
from accord.cli.show.diff import INDENT, diff_lines
from accord.cli.show.line import Line, Span, clipped, line_of
from accord.cli.show.plan import plan_lines
from accord.cli.show.tool import OUTCOMES, about, headline, tool_lines
from accord.display import (
    EMPTY,
    SafeText,
    exact,
    filled,
    joined,
    json_text,
    own,
    printed,
    prose,
    prose_line,
    safe_lines,
)
from accord.session.entry import CompactionEntry, Entry, Message, Plan, ToolCall
from accord.session.tool import Diff, TerminalView
from accord.session.transcript import Transcript

__all__ = ["markdown", "transcript_lines"]

THOUGHT_COLUMNS = 100
SPEAKERS = {"user": own("You"), "agent": own("Agent"), "thought": own("Thought")}
DONE, OPEN = own("x"), own(" ")
PARAGRAPH = own("\n\n")


def transcript_lines(transcript: Transcript, cwd: str, columns: int) -> Iterator[Line]:
    """The lines."""
    for entry in transcript.timeline:
        yield from _lines(entry, transcript, cwd, columns)


def _lines(entry: Entry, transcript: Transcript, cwd: str, columns: int) -> Iterator[Line]:
    match entry:
        case Message():
            yield from _message_lines(entry)
        case ToolCall():
            outcome = OUTCOMES.get(entry.status) or exact(entry.status)
            yield [*headline(entry, cwd), Span(filled("   {}", outcome), "dim")]
            yield from tool_lines(entry, transcript.terminals)
        case Plan():
            yield from plan_lines(entry.entries, columns)
        case CompactionEntry():
            yield line_of(
                Span(own("  compact"), "cyan"), Span(filled(" {}", prose_line(blocks_text(entry.summary))), "dim")
            )
        case _:
            yield line_of(
                own("  "), Span(exact(entry.update.tag), "cyan"), filled(" {}", json_text(entry.update.payload))
            )


def _message_lines(message: Message) -> Iterator[Line]:
    text = blocks_text(message.content)
    if message.speaker == "thought":
        thought = clipped(prose_line(text), THOUGHT_COLUMNS)
        yield line_of(own("  "), Span(own("think"), "cyan"), Span(filled(" {}", thought), "dim"))
        return
    if message.speaker == "user":
        yield []
        for line in safe_lines(text):
            yield line_of(Span(filled("> {}", line), "bold"))
        return
    for line in safe_lines(text):
        yield line_of(line)


def markdown(transcript: Transcript, session_id: str, cwd: str) -> SafeText:
    """The conversation as a document."""
    title = filled("Session {}", session_id) if not transcript.title else exact(transcript.title)
    parts = [filled("# {}", title), filled("Session {} in {}.", _code(session_id), _code(cwd))]
    parts += [_markdown(entry, transcript, cwd) for entry in transcript.timeline]
    return filled("{}\n", joined((part for part in parts if part), PARAGRAPH))


def _markdown(entry: Entry, transcript: Transcript, cwd: str) -> SafeText:
    match entry:
        case Message():
            return filled("## {}\n\n{}", SPEAKERS[entry.speaker], _stripped(blocks_text(entry.content)))
        case ToolCall():
            return joined(_markdown_tool(entry, transcript, cwd), PARAGRAPH)
        case Plan():
            steps = ((DONE if each.status == "completed" else OPEN, prose_line(each.content)) for each in entry.entries)
            return joined((filled("- [{}] {}", mark, step) for mark, step in steps), own("\n"))
        case CompactionEntry():
            return _stripped(filled("*The context was compacted: {}.*\n\n{}", entry.status, blocks_text(entry.summary)))
        case _:
            return _fenced(own("json"), json_text(entry.update.payload))


def _markdown_tool(call: ToolCall, transcript: Transcript, cwd: str) -> Iterator[SafeText]:
    yield filled("**{}** {} ({})", call.kind, about(call, cwd), call.status)
    for item in call.content:
        if isinstance(item, Diff):
            lines = (joined(span.text for span in line if span.text != INDENT) for line in diff_lines(item))
            yield _fenced(own("diff"), joined(lines, own("\n")))
        elif isinstance(item, TerminalView) and item.terminal_id in transcript.terminals:
            yield _fenced(EMPTY, printed(transcript.terminals[item.terminal_id].text))


def _fenced(language: SafeText, text: SafeText) -> SafeText:
    fence = own("```")
    while fence in text:
        fence = filled("{}`", fence)
    return filled("{}{}\n{}\n{}", fence, language, _stripped(text), fence)


def _code(text: str) -> SafeText:
    """One line of code in a paragraph, also where it has backticks."""
    shown, fence = exact(text), own("`")
    while fence in shown:
        fence = filled("{}`", fence)
    return filled("{0} {1} {0}" if "`" in shown else "{0}{1}{0}", fence, shown)


def _stripped(text: SafeText) -> SafeText:
    """Without white space at both ends."""
    return prose(text.strip())
