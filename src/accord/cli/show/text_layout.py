"""Entries of a session laid out as lines of text, for `accord run` and `accord sessions show`, and as Markdown.

The wording of an entry is decided in `presentation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from accord.cli.show.diff import INDENT, diff_lines
from accord.cli.show.line import Line, Span, clipped, duration, hidden_before, line_of, width
from accord.cli.show.presentation import (
    THOUGHT,
    about,
    block_label,
    compaction_state,
    is_worth_showing,
    plan_step,
    raw_values,
    terminal_ending,
    tool_head,
)
from accord.display import (
    EMPTY,
    SafeText,
    exact,
    filled,
    joined,
    json_text,
    markdown_block,
    markdown_code,
    markdown_line,
    markdown_text,
    own,
    printed,
    prose,
    prose_line,
    safe_lines,
    trimmed,
)
from accord.protocol.model import Unknown
from accord.session.content import Block, Text
from accord.session.entry import CompactionEntry, Entry, Message, Plan, TerminalEntry, ToolCall
from accord.session.event import PlanEntry
from accord.session.tool import Diff, Shown, TerminalView, ToolContent
from accord.session.transcript import Transcript

# The column of a tool call's outcome, if the subject is short enough.
OUTCOME_COLUMN = 46
DIFF_LINES = 12
OUTPUT_LINES = 10
LINE_COLUMNS = 100
SPEAKERS = {"user": own("You"), "agent": own("Agent"), "thought": own("Thought")}
DONE, OPEN = own("x"), own(" ")
PARAGRAPH = own("\n\n")


def headed_line(heading: SafeText, *parts: Span | SafeText) -> list[Span]:
    """A line that begins with a word for its kind."""
    return line_of(own("  "), Span(filled("{:<5}", heading), "cyan"), own(" "), *parts)


# --- tool calls


def tool_line(call: ToolCall, cwd: str, seconds: float | None = None) -> Line:
    """A call and its outcome; with `seconds` also its duration, in columns."""
    head = tool_head(call, cwd)
    spans = headed_line(head.kind, clipped(head.about, LINE_COLUMNS))
    if head.counts:
        spans += [Span(own("   ")), *head.counts]
    if seconds is None:
        return [*spans, Span(own("   ")), head.outcome]
    used = sum(width(span.text) for span in spans)
    spans.append(Span(filled("{:{}}", EMPTY, max(2, OUTCOME_COLUMN - used))))
    spans.append(Span(filled("{:<4}", head.outcome.text), head.outcome.style))
    return [*spans, Span(filled(" {}", duration(seconds)), "dim")]


def tool_lines(
    call: ToolCall, terminals: Mapping[str, TerminalEntry], cwd: str = "", *, diffs: bool = True
) -> Iterator[Line]:
    """The results of a call in lines; without `diffs` where they were shown before."""
    for item in call.content:
        if is_worth_showing(call, item) and (diffs or not isinstance(item, Diff)):
            yield from _result_lines(item, terminals)
    if call.status == "failed" and not call.content:
        yield from (line_of(INDENT, Span(clipped(value, LINE_COLUMNS), "dim")) for value in raw_values(call, cwd))


def _result_lines(item: ToolContent, terminals: Mapping[str, TerminalEntry]) -> Iterator[Line]:
    match item:
        case Diff():
            yield from diff_lines(item, DIFF_LINES)
        case TerminalView():
            yield from _terminal_lines(terminals.get(item.terminal_id))
        case Shown():
            yield from _last_lines(block_text(item.block))
        case Unknown():
            yield line_of(INDENT, json_text(item.payload))


def _terminal_lines(terminal: TerminalEntry | None) -> Iterator[Line]:
    if terminal is None:
        return
    yield from _last_lines(terminal.text)
    ending = terminal_ending(terminal)
    if ending is not None and terminal.exit is not None:
        yield line_of(INDENT, ending)


def _last_lines(text: str) -> Iterator[Line]:
    lines = safe_lines(printed(text.strip("\n")))
    if len(lines) > OUTPUT_LINES:
        yield line_of(INDENT, Span(hidden_before(len(lines) - OUTPUT_LINES), "dim"))
    for line in lines[-OUTPUT_LINES:]:
        yield line_of(Span(trimmed(joined([INDENT, line])), "dim"))


# --- plans and content blocks


def plan_lines(entries: Sequence[PlanEntry], columns: int) -> list[Line]:
    """One line where it fits, otherwise a line for each step."""
    steps = [plan_step(entry) for entry in entries]
    if not steps:
        return [headed_line(own("plan"), Span(own("none"), "dim"))]
    one = headed_line(own("plan"))
    for step in steps:
        one += [Span(EMPTY if step is steps[0] else own("  ")), *step]
    if sum(width(span.text) for span in one) <= columns:
        return [one]
    return [line_of(own("  "), Span(own("plan"), "cyan")), *([Span(INDENT), *step] for step in steps)]


def block_text(block: Block) -> SafeText:
    """The text of a block, or its label; a link is one of Markdown."""
    if isinstance(block, Text):
        return prose(block.text)
    label = block_label(block)
    if label.address:
        return filled("[{}]({})", label.name, label.address)
    return filled("[{} {}]", label.name, joined(label.facts, own(", ")))


def blocks_text(blocks: Iterable[Block]) -> SafeText:
    """The texts of several blocks, joined."""
    return joined(block_text(block) for block in blocks)


def thought_line(text: SafeText) -> Line:
    """The begin of a thought."""
    return headed_line(THOUGHT, Span(clipped(prose_line(text), LINE_COLUMNS), "dim"))


# --- whole conversations


def transcript_lines(transcript: Transcript, cwd: str, columns: int) -> Iterator[Line]:
    for entry in transcript.timeline:
        yield from _lines(entry, transcript, cwd, columns)


def _lines(entry: Entry, transcript: Transcript, cwd: str, columns: int) -> Iterator[Line]:
    match entry:
        case Message():
            yield from _message_lines(entry)
        case ToolCall():
            yield tool_line(entry, cwd)
            yield from tool_lines(entry, transcript.terminals, cwd)
        case Plan():
            yield from plan_lines(entry.entries, columns)
        case CompactionEntry():
            yield headed_line(own("compact"), *compaction_state(entry.status, entry.error))
            if entry.summary:
                yield line_of(INDENT, Span(prose_line(blocks_text(entry.summary)), "dim"))
        case _:
            yield headed_line(exact(entry.update.tag), json_text(entry.update.payload))


def _message_lines(message: Message) -> Iterator[Line]:
    text = blocks_text(message.content)
    if message.speaker == "thought":
        yield thought_line(text)
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
    place = filled("Session {} in {}.", markdown_code(exact(session_id)), markdown_code(exact(cwd)))
    parts = [filled("# {}", markdown_line(title)), place]
    parts += [_markdown(entry, transcript, cwd) for entry in transcript.timeline]
    return filled("{}\n", joined((part for part in parts if part), PARAGRAPH))


def _markdown(entry: Entry, transcript: Transcript, cwd: str) -> SafeText:
    match entry:
        case Message():
            return filled("## {}\n\n{}", SPEAKERS[entry.speaker], markdown_text(blocks_text(entry.content).strip()))
        case ToolCall():
            return joined(_markdown_tool(entry, transcript, cwd), PARAGRAPH)
        case Plan():
            steps = ((DONE if each.status == "completed" else OPEN, prose_line(each.content)) for each in entry.entries)
            return joined((filled("- [{}] {}", mark, markdown_line(step)) for mark, step in steps), own("\n"))
        case CompactionEntry():
            status, summary = markdown_line(exact(entry.status)), markdown_text(blocks_text(entry.summary))
            return trimmed(filled("*The context was compacted: {}.*\n\n{}", status, summary))
        case _:
            return markdown_block(json_text(entry.update.payload), own("json"))


def _markdown_tool(call: ToolCall, transcript: Transcript, cwd: str) -> Iterator[SafeText]:
    kind, subject, status = map(markdown_line, (exact(call.kind), about(call, cwd), exact(call.status)))
    yield filled("**{}** {} ({})", kind, subject, status)
    for item in call.content:
        if isinstance(item, Diff):
            lines = (joined(span.text for span in line if span.text != INDENT) for line in diff_lines(item))
            yield markdown_block(joined(lines, own("\n")).strip(), own("diff"))
        elif isinstance(item, TerminalView) and item.terminal_id in transcript.terminals:
            yield markdown_block(printed(transcript.terminals[item.terminal_id].text).strip())
