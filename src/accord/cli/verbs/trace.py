"""`accord trace`: shows, filters, counts, judges and converts a recording of the wire."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from accord.cli.options import Parser
from accord.cli.show.line import Span
from accord.cli.show.screen import Progress, TextScreen, is_terminal, put, stdout_screen
from accord.cli.status import Status, UsageFailure, remark, spelled
from accord.cli.trace_lines import message_line, statistics_lines
from accord.cli.whole_file import whole_file
from accord.display import filled, own, prose, safe_lines
from accord.trace.conversion import PlainTrace, plain_trace
from accord.trace.exports.selection import EXPORTS, ExportSelection
from accord.trace.format import TraceFileError, part_path
from accord.trace.index import RowFilter, TraceIndex
from accord.trace.statistics import statistics_of

USAGE = """accord trace FILE [--session S] [--method M] [--from END] [--grep RE] [--errors]
       accord trace FILE --stats | --validate | --follow
       accord trace FILE --as FORMAT [-o FILE] [--raw]"""
EXAMPLES = """\
  accord trace run.jsonl
  accord trace run.jsonl --method session/prompt
  accord trace zed-messages.json --errors
  accord trace run.jsonl --stats
  accord trace run.jsonl --validate
  accord trace run.jsonl --as devtools -o run.json
  accord trace run.jsonl --as ndjson --from client
"""
POLL_SECONDS = 0.2
_MEGABYTE = 1_000_000


def _parser() -> Parser:
    parser = Parser("trace", USAGE, "Show, filter, count, judge and convert a recording of the wire.", EXAMPLES)
    parser.add_argument("file", metavar="FILE", help="a trace, or the recording of another tool: it is recognised")
    which = parser.add_argument_group("which records")
    which.add_argument(
        "--session", metavar="S", default="", help="of this session; the beginning or the end of its id is enough"
    )
    which.add_argument(
        "--method", metavar="M", default="", help="of this method or kind of update; * at the end is any rest"
    )
    which.add_argument("--from", dest="source", metavar="END", default="", help="sent by client, agent, proxy:0, ...")
    which.add_argument("--grep", metavar="RE", default="", help="whose text this regular expression matches")
    which.add_argument("--errors", action="store_true", help="error answers and faulty texts")
    what = parser.add_argument_group("what is done").add_mutually_exclusive_group()
    what.add_argument("--stats", action="store_true", help="counts, sizes and latencies by method")
    what.add_argument(
        "--validate", action="store_true", help="judge each message by its edition, and the conversation by the rules"
    )
    what.add_argument("--follow", action="store_true", help="show new records as they are recorded")
    what.add_argument("--as", dest="form", choices=tuple(EXPORTS), help="write it in another format")
    parser.add_argument("-o", "--output", metavar="FILE", help="with --as: where to; stdout unless given")
    parser.add_argument("--raw", action="store_true", help="with --as: do not mask secrets that the recording has")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run the verb; returns 0, 1 where `--validate` found something, 2 for a file that cannot be used."""
    if arguments[:1] == ["show"] and len(arguments) > 1 and not Path("show").exists():
        raise UsageFailure("accord trace shows by itself", advice=f"Type: accord trace {spelled(arguments[1:])}")
    given = _parser().read(arguments)
    _check(given)
    progress = Progress(sys.stderr, shown=True)
    try:
        with ExitStack() as stack:
            # A trace that grows is followed from part to part: a copy of all of them would end with the last one.
            path = Path(given.file)
            trace = stack.enter_context(plain_trace(path, _copying(progress), is_joined=not given.follow))
            index = stack.enter_context(_index(trace, progress))
            progress.erase()
            return _done(given, trace, index, progress)
    except TraceFileError as error:
        raise UsageFailure(str(error)) from error
    finally:
        progress.stop()


def _check(given: argparse.Namespace) -> None:
    if given.output and not given.form:
        raise UsageFailure("-o needs a format", advice=f"Name one with --as: {', '.join(EXPORTS)}")
    if given.raw and not given.form:
        raise UsageFailure("--raw is for --as")
    if given.grep:
        try:
            re.compile(given.grep)
        except re.error as error:
            raise UsageFailure(f"--grep is no regular expression: {error}") from error


def _copying(progress: Progress) -> Callable[[int], None]:
    return lambda count: progress.show(filled("reading, {} records", count))


def _index(trace: PlainTrace, progress: Progress) -> TraceIndex:
    def show(done: int, total: int) -> None:
        progress.show(filled("indexing, {} of {} MB", done // _MEGABYTE, total // _MEGABYTE))

    return TraceIndex.open(trace.path, keep=trace.is_original, progress=show)


def _done(given: argparse.Namespace, trace: PlainTrace, index: TraceIndex, progress: Progress) -> int:
    wanted = _filter(given, index)
    if given.validate:
        from accord.cli.trace_findings import show_findings  # noqa: PLC0415 - the rules are many modules

        return show_findings(stdout_screen(progress), progress, index, trace, index.select(wanted))
    if given.form:
        return _export(given, trace, index, wanted)
    screen = stdout_screen(progress)
    if given.stats:
        screen.lines(statistics_lines(index, statistics_of(index, index.select(wanted))))
    elif given.follow:
        if not trace.is_original:
            raise UsageFailure(f"{given.file} cannot be followed: only one uncompressed accord-trace file can")
        _follow(screen, index, wanted)
    else:
        _show(screen, trace, index, wanted)
    screen.flush()
    return Status.DONE


def _filter(given: argparse.Namespace, index: TraceIndex) -> RowFilter:
    pattern = re.compile(given.grep) if given.grep else None
    return RowFilter(_session(given.session, index), given.method, pattern, given.source, given.errors)


def _session(part: str, index: TraceIndex) -> str:
    if not part:
        return ""
    found = [session for session in index.sessions if session.startswith(part) or session.endswith(part)]
    if part in found or not found:
        return part
    if len(found) > 1:
        raise UsageFailure(f"{len(found)} sessions begin or end with {part}", advice="Give more of the id")
    return found[0]


def _show(screen: TextScreen, trace: PlainTrace, index: TraceIndex, wanted: RowFilter) -> None:
    if trace.times == "none":
        screen.line([Span(filled("{} records no times: those below are equal steps", trace.format), "dim")])
    begin = index.begin
    for row in index.select(wanted):
        screen.results([message_line(index, row, begin)])


def _export(given: argparse.Namespace, trace: PlainTrace, index: TraceIndex, wanted: RowFilter) -> int:
    rows = index.select(wanted)
    selection = ExportSelection(
        index,
        rows if isinstance(rows, range) else list(rows),
        is_masked=trace.redacted or given.raw,
        name=Path(given.file).name,
        format_=trace.format,
    )
    with export_output(Path(given.output) if given.output else None, Path(given.file)) as put:
        EXPORTS[given.form].write(selection, put)
    return Status.DONE


def _follow(screen: TextScreen, index: TraceIndex, wanted: RowFilter) -> None:
    """Show the present records and new ones, also of later parts, until the user stops it."""
    begin = 0.0
    first, part, shown = index.path, 1, 0
    remark(own("following; stop with Ctrl-C"))
    while True:
        begin = begin or index.begin
        for row in index.select(wanted, shown):
            screen.line(message_line(index, row, begin))
        shown = len(index)
        screen.flush()
        if not part_path(first, part + 1).is_file():
            time.sleep(POLL_SECONDS)
        following = part_path(first, part + 1)
        # Before the last look at this part, to which nothing is added once the next one is there.
        is_continued = following.is_file()
        if index.update():
            continue
        if is_continued:
            index.close()
            index = TraceIndex.open(following)
            part, shown = part + 1, 0


# --- the place of an export


@contextmanager
def export_output(path: Path | None, source: Path) -> Iterator[Callable[[str], object]]:
    """A function that takes the pieces of an export; a file is there at the end, whole, or not at all.

    Raises:
        UsageFailure: The file cannot be written, or is the trace itself.
    """
    if path is None:
        yield _shown if is_terminal(sys.stdout) else _piped
        sys.stdout.flush()
        return
    if path.exists() and path.samefile(source):
        raise UsageFailure(f"{path} is the trace itself", advice="Name another file with -o")
    if path.is_dir() or not path.name:
        raise UsageFailure(f"cannot write {path}: it is a directory", advice="Name a file with -o")
    try:
        with whole_file(path) as file:
            yield lambda piece: file.write(piece.encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise UsageFailure(f"cannot write {path}: {error.strerror}") from error


def _piped(piece: str) -> None:
    sys.stdout.buffer.write(piece.encode("utf-8", "surrogatepass"))


def _shown(piece: str) -> None:
    for line in safe_lines(prose(piece)):
        put(line)
