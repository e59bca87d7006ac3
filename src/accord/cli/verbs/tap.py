"""`accord tap`: a relay between an editor and an agent, which passes every byte unchanged and records it.

Everything that only the recorder needs is imported after the start of the agent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from accord.cli.options import Parser, count_of, split_command
from accord.cli.status import UsageFailure, remark, spelled
from accord.display import exact, filled
from accord.errors import ConnectFailed

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from accord.trace.writer import TraceWriter

USAGE = "accord tap [-w FILE] [--raw] [--gzip] [--max-bytes N] [--keep N] [-v] -- COMMAND..."
EXAMPLES = """\
  accord tap -- gemini --acp
  accord tap -w talk.jsonl -- my-agent --acp
  accord tap --gzip --keep 20 -- npx some-agent

An editor starts this line instead of the agent. Every byte passes unchanged, both ways, and is recorded afterwards. The
file is for its owner alone; secrets are masked in it, prompts and file contents are not. Without -w it is in the
folder accord/traces of your state folder, one for each start. A file that exists already is not touched: the next
free name beside it is taken. A folder, a device or a pipe is refused.

The exit code is that of the agent; 128 plus the number of the signal that ended it.
"""
DEFAULT_KEEP = 100
DEFAULT_MAX_BYTES = 256 * 1024 * 1024


def _parser() -> Parser:
    parser = Parser("tap", USAGE, "Record the messages between an agent and its client.", EXAMPLES)
    parser.add_argument("-w", "--write", metavar="FILE", help="record into this file")
    parser.add_argument("--raw", action="store_true", help="record every byte as it is, secrets too")
    parser.add_argument("--gzip", action="store_true", help="compress the file")
    parser.add_argument(
        "--max-bytes", type=count_of, metavar="N", help="go on in a new file from this size on; 256 MiB unless given"
    )
    parser.add_argument(
        "--keep", type=count_of, metavar="N", help="how many traces the state folder keeps; 100 unless given"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name the file on stderr")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Relay until the agent ends; its exit status."""
    before, command = split_command(arguments)
    options = _parser().read(before)
    if command is None:
        raise UsageFailure("the agent's command is missing", advice="It comes behind --: accord tap -- my-agent --acp")
    if options.write:
        _check_target(options.write)
    if sys.stdin is not None and sys.stdin.isatty():
        line = f"accord tap {spelled(arguments)}"
        _report(f"an editor starts this line, and speaks on its stdin; to try it: accord run hello -- {line}")
    from accord.trace.tap import run_tap  # noqa: PLC0415 - not for the help

    # The recorder is another process; the file is named after this one.
    pid = os.getpid()
    try:
        return run_tap(command, lambda: _open(options, command, pid), _report)
    except ConnectFailed as error:
        from accord.cli.fault import failure_of  # noqa: PLC0415 - only when something is wrong

        raise failure_of(error, "start") from error


def _check_target(path: str) -> None:
    from accord.trace.new_file import check_target  # noqa: PLC0415 - not for the help

    try:
        check_target(path)
    except OSError as error:
        advice = "To record nothing, start the agent without accord tap"
        raise UsageFailure(f"-w {path}: {error.strerror}", advice=advice) from error


def _report(sentence: str) -> None:
    try:
        remark(filled("tap: {}", exact(sentence)))
    except OSError:
        return  # our stderr is closed, and the conversation goes on all the same


def _open(options: argparse.Namespace, command: Sequence[str], pid: int) -> TraceWriter:
    from pathlib import Path  # noqa: PLC0415 - the agent starts first

    from accord.trace.new_file import create_writer  # noqa: PLC0415

    agent = Path(command[0]).name
    wanted = Path(options.write) if options.write else _default_path(agent, pid, options)
    if options.gzip and wanted.suffix != ".gz":
        wanted = wanted.with_name(f"{wanted.name}.gz")
    writer = create_writer(
        wanted,
        raw=options.raw,
        max_bytes=options.max_bytes or DEFAULT_MAX_BYTES,
        compress=options.gzip,
        command=command,
        agent=agent,
    )
    if options.verbose:
        _report(f"recording into {writer.path}")
    return writer


def _default_path(agent: str, pid: int, options: argparse.Namespace) -> Path:
    import time  # noqa: PLC0415 - the agent starts first

    from accord.config.paths import ConfigPaths  # noqa: PLC0415
    from accord.stores.folder import make_folder, safe_name  # noqa: PLC0415

    folder = ConfigPaths.here().state / "traces"
    make_folder(folder)
    _remove_old(folder, DEFAULT_KEEP if options.keep is None else options.keep)
    moment = time.strftime("%Y%m%dT%H%M%S", time.localtime())
    return folder / f"{moment}-{safe_name(agent)}-{pid}.jsonl"


def _remove_old(folder: Path, keep: int) -> None:
    """Remove the oldest traces, with their parts; those of running taps stay."""
    traces: dict[str, list[Path]] = {}
    for path in folder.iterdir():
        traces.setdefault(path.name.partition(".")[0], []).append(path)
    # The names begin with the time. The new one counts too.
    for name in sorted(traces)[: max(0, len(traces) + 1 - max(keep, 1))]:
        if not _runs(name.rpartition("-")[2]):
            for path in traces[name]:
                path.unlink(missing_ok=True)


def _runs(pid: str) -> bool:
    if not pid.isdecimal() or sys.platform == "win32":
        return False
    try:
        os.kill(int(pid), 0)
    except (OSError, OverflowError):
        return False
    return True
