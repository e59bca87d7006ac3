"""The export to Markdown, for a person or a model: facts, conversations, and everything that went wrong.

Foreign text is code, in a line or in a quoted fence, so that nothing in it is Markdown or HTML; long texts are cut, and
say so. (Escapes would hide secrets from the masking, which comes after.)
"""

from __future__ import annotations

from collections.abc import Iterator

from accord.display import exact, markdown_block, markdown_code, markdown_line, own, prose
from accord.session.entry import Entry, Message, Plan, ToolCall
from accord.session.transcript import Transcript
from accord.trace.exports.selection import ExportSelection, Put
from accord.trace.fold import TraceTranscripts
from accord.trace.index_columns import RecordKind
from accord.trace.statistics import TraceStatistics, percentile, statistics_of

__all__ = ["write_markdown"]

MAX_TEXT_CHARACTERS = 20_000
MAX_LISTED = 50
_LINE_CHARACTERS = 300
_SPEAKERS = {"user": "User", "agent": "Agent", "thought": "Thought"}


def write_markdown(selection: ExportSelection, put: Put) -> None:
    """A document with a part for each session among the selected rows."""
    index = selection.index
    counts = statistics_of(index, selection.rows)

    def say(text: str) -> None:
        put(selection.masked_text(text) + "\n")

    say(f"# {markdown_line(exact(selection.name, _LINE_CHARACTERS))}\n")
    seconds = counts.end - counts.begin
    say(
        f"{counts.messages} messages, {counts.size_bytes} bytes, {seconds:.3f} s, {counts.connections} connections, "
        f"{counts.sessions} sessions. Prompts, file contents and answers are in this document.\n"
    )
    for line in _method_lines(counts):
        say(line)
    last = selection.rows[-1] if len(selection.rows) else 0
    transcripts = TraceTranscripts(index)
    for session in dict.fromkeys(index.session(row) for row in selection.rows):
        if session:
            say(f"\n## Session {_code(session)}\n")
            for line in _transcript_lines(transcripts.at(last, session, is_last=True)):
                say(line)
    for line in _fault_lines(selection, counts):
        say(line)


def _code(text: str) -> str:
    return markdown_code(exact(text, _LINE_CHARACTERS))


def _quoted(text: str) -> str:
    shown = prose(text)
    cut = f"\n[cut: {len(shown)} characters in all]" if len(shown) > MAX_TEXT_CHARACTERS else ""
    block = markdown_block(shown[:MAX_TEXT_CHARACTERS] + cut, own("text"))
    return "\n".join(f"> {line}" for line in block.split("\n"))


def _method_lines(counts: TraceStatistics) -> Iterator[str]:
    yield "| from | method | count | errors | p50 ms | p99 ms |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for each in counts.methods[:MAX_LISTED]:
        middle, high = percentile(each.latencies, 0.5), percentile(each.latencies, 0.99)
        times = " | ".join("" if value is None else f"{value * 1000:.1f}" for value in (middle, high))
        source, method = (_code(name).replace("|", "\\|") for name in (each.source, each.method))
        yield f"| {source} | {method} | {each.count} | {each.errors or ''} | {times} |"


def _transcript_lines(transcript: Transcript) -> Iterator[str]:
    for entry in transcript:
        yield from _entry_lines(entry)
    reason = f", stop reason {_code(str(transcript.stop_reason))}" if transcript.stop_reason else ""
    yield f"_State: {_code(transcript.state)}{reason}._"


def _entry_lines(entry: Entry) -> Iterator[str]:
    match entry:
        case Message():
            yield f"**{_SPEAKERS.get(entry.speaker) or _code(entry.speaker)}**\n"
            yield _quoted(entry.text) + "\n"
        case ToolCall():
            where = ", ".join(_code(place.path) for place in entry.locations)
            name, kind, status = _code(entry.title or entry.id), _code(entry.kind), _code(entry.status)
            yield f"- tool {name} ({kind}): **{status}** {where}\n"
        case Plan():
            for step in entry.entries:
                yield f"- plan: {_code(getattr(step, 'content', ''))} ({_code(getattr(step, 'status', ''))})"
            yield ""
        case _:
            yield f"- {type(entry).__name__}\n"


def _fault_lines(selection: ExportSelection, counts: TraceStatistics) -> Iterator[str]:
    index = selection.index
    errors = [row for row in selection.rows if index.kind(row) == RecordKind.ERROR]
    parts = (
        ("Error answers", errors),
        ("Faulty texts", counts.faults),
        ("Requests without an answer", counts.open_requests),
    )
    for title, rows in parts:
        if rows:
            yield f"\n## {title}: {len(rows)}\n"
            for row in rows[:MAX_LISTED]:
                record = selection.record(row)
                text = _code(record.raw.decode("utf-8", "replace"))
                ends = f"{_code(record.source)} → {_code(record.target)}"
                yield f"- message {row + 1}, {_code(index.method(row))}, {ends}: {text}"
    lines = [row for row in selection.rows if index.kind(row) == RecordKind.STDERR]
    if lines:
        yield f"\n## stderr: the last {min(len(lines), MAX_LISTED)} of {len(lines)} lines\n"
        raws = (selection.record(row).raw for row in lines[-MAX_LISTED:])
        yield _quoted("\n".join(raw.decode("utf-8", "replace") for raw in raws))
