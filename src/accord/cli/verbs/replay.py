"""`accord replay`: one side of a recorded conversation against a live other."""

from __future__ import annotations

import argparse
import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accord.cli.fault import phase
from accord.cli.options import Parser, count_of, seconds_of, split_command
from accord.cli.show.screen import put
from accord.cli.status import Status, UsageFailure, remark, spelled
from accord.display import SafeText, filled
from accord.trace import TraceFileError, open_trace
from accord.trace.replay.agent import RecordedAgent
from accord.trace.replay.client import ANSWER_SECONDS, RecordedClient
from accord.trace.replay.conversation import MAX_DEPTH, RecordedConversation
from accord.trace.replay.report import Deviation, ReplayReport, deviation_lines

if TYPE_CHECKING:
    from collections.abc import Callable

USAGE = """accord replay TRACE --as agent [--speed S] [--ignore KEY] [--conn N]
       accord replay TRACE --as client [--cwd DIR] [options] -- COMMAND..."""
EXAMPLES = """\
  accord replay talk.jsonl --as client -- my-agent --acp
  accord run "hello" -- accord replay talk.jsonl --as agent
  accord replay talk.jsonl --as client --speed 1 --ignore cwd -- my-agent --acp

As agent it speaks on stdin and stdout: an editor or `accord run` starts it. As client it starts the command behind
`--`. Messages are matched by method and session, not by position; ids, times and counts of tokens are not compared.

exit codes: 0 all is as recorded, 1 there are deviations, 2 usage, or a file that is no trace
"""


def speed_of(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0 <= speed < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed: 0 is at once, 1 as recorded")
    return speed


def _parser() -> Parser:
    parser = Parser("replay", USAGE, "Play one side of a recorded conversation against a live other.", EXAMPLES)
    parser.add_argument("trace", metavar="TRACE", help="a trace: of `accord tap`, or the lines of `-o wire`")
    parser.add_argument(
        "--as", dest="role", choices=("agent", "client"), required=True, help="the recorded side to play"
    )
    parser.add_argument(
        "--speed", type=speed_of, default=0.0, metavar="S", help="0 at once (the default), 1 as recorded"
    )
    parser.add_argument("--conn", type=count_of, metavar="N", help="the connection; the longest one unless given")
    parser.add_argument(
        "--cwd", metavar="DIR", help="as client, in place of the recorded directory; this one if that does not exist"
    )
    parser.add_argument("--ignore", action="append", default=[], metavar="KEY", help="a key that is not compared")
    parser.add_argument("--timeout", type=seconds_of, metavar="S", help="how long an answer may take; 60 unless given")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Play the side to its end; the status says whether the other side deviated."""
    before, command = split_command(arguments)
    options = _parser().read(before)
    if (options.role == "client") != (command is not None):
        raise UsageFailure(
            "the recorded client needs the command of an agent, the recorded agent none",
            advice="accord replay TRACE --as client -- COMMAND...",
        )
    try:
        conversation = RecordedConversation.of(open_trace(Path(options.trace)), options.conn)
    except TraceFileError as error:
        raise UsageFailure(str(error), advice=_conversion(options.trace)) from error
    except OSError as error:
        raise UsageFailure(f"cannot read {options.trace}: {error.strerror or 'it is no file'}") from error
    _name_deep_texts(conversation)
    # As agent, stdout is the protocol's.
    show_line = remark if command is None else put
    report = ReplayReport(lambda deviation: _show(deviation, show_line))
    if command is None:
        asyncio.run(_be_agent(conversation, options, report))
    else:
        asyncio.run(_be_client(conversation, options, report, command))
    count = len(report.deviations)
    show_line(filled("replayed: {} messages found in the recording, {} deviations", report.matched, count))
    return Status.FAILED if count else Status.DONE


def _name_deep_texts(conversation: RecordedConversation) -> None:
    deep = [step.index + 1 for step in conversation.steps if step.is_too_deep]
    if deep:
        text = filled("{} recorded texts (the first is #{}) are nested more than", len(deep), deep[0])
        remark(filled("{} {} levels deep: replayed byte by byte, without live ids, and not compared", text, MAX_DEPTH))


def _conversion(path: str) -> str:
    """The advice to convert a recording that only `accord trace` reads; "" for any other file."""
    from accord.trace.imports.recognition import NATIVE, recognise  # noqa: PLC0415 - only when something is wrong

    try:
        is_ours = recognise(Path(path)) in {NATIVE, "wire", "probe"}
    except (TraceFileError, OSError):
        return ""
    return "" if is_ours else f"Convert it first: accord trace {spelled([path])} --as accord-trace -o FILE"


def _show(deviation: Deviation, show_line: Callable[[SafeText], None]) -> None:
    for line in deviation_lines(deviation):
        show_line(line)


async def _be_agent(conversation: RecordedConversation, options: argparse.Namespace, report: ReplayReport) -> None:
    from accord.transport import open_stdio  # noqa: PLC0415 - only here

    player = RecordedAgent(conversation, speed=options.speed, ignore=options.ignore, report=report)
    await player.serve(open_stdio())


async def _be_client(
    conversation: RecordedConversation, options: argparse.Namespace, report: ReplayReport, command: Sequence[str]
) -> None:
    from accord.transport import spawn  # noqa: PLC0415 - only here

    with phase("start"):
        link = await spawn(*command)
    player = RecordedClient(
        conversation,
        speed=options.speed,
        ignore=options.ignore,
        cwd=_directory(options.cwd, conversation.cwd),
        answer_seconds=options.timeout or ANSWER_SECONDS,
        report=report,
    )
    try:
        await player.play(link)
    finally:
        await link.close()


def _directory(given: str | None, recorded: str) -> str | None:
    if given is not None:
        return str(Path(given).absolute())
    path = Path(recorded)
    return None if path.is_absolute() and path.is_dir() else str(Path.cwd())
