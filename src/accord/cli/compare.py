"""`accord run --compare`: one prompt for several agents, each in a copy of the folder, and a report of the results.

Every agent runs in a process of its own (`compare_child`), and the copies are removed afterwards. The report has each
agent's answer and diff, then a table; or it is records.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from accord.cli import compare_child
from accord.cli.options import AgentOptions
from accord.cli.session_index import SessionIndex
from accord.cli.show.diff import counts, diff_lines
from accord.cli.show.line import Span, duration, table_lines
from accord.cli.show.screen import Progress, TextScreen, put, stdout_screen
from accord.cli.signals import Interrupts
from accord.cli.status import CommandFailure, Status, UsageFailure
from accord.cli.target import Target, approve, target_of
from accord.cli.terminal import Questions, UserTerminal, is_interactive
from accord.display import EMPTY, SafeText, exact, filled, joined, json_line, own, prose, safe_lines
from accord.errors import StoreError
from accord.evaluation.copies import CopyFailed, FolderCopies, open_copies, patch_of, run_trials
from accord.session.tool import Diff, FileChange
from accord.time_scale import scaled
from accord.transport.interpreter import environment_of, own_command

TICK_SECONDS = 0.1
# How long an agent may take to stop when the comparison is stopped.
STOP_SECONDS = scaled(10.0)
_LINE_BYTES = 64 * 1024 * 1024
_MIN, _MAX = 2, 8


def targets_of(names: str) -> list[Target]:
    """The agents that `--compare a,b` names.

    Raises:
        UsageFailure: There are too few, too many, or one twice.
        CommandFailure: One is not known.
    """
    typed = [each.strip() for each in names.split(",")]
    if len(typed) < _MIN or len(typed) > _MAX or not all(typed):
        raise UsageFailure(f"--compare {names}: expected {_MIN} to {_MAX} agents, as in --compare demo,gemini")
    if len(set(typed)) < len(typed):
        raise UsageFailure(f"--compare {names}: name each agent once")
    return [target_of(each, None) for each in typed]


def checked_options(options: AgentOptions) -> AgentOptions:
    """The options as they are in a copy: files that they name are those of this folder.

    Raises:
        UsageFailure: One cannot hold for several agents.
    """
    if options.last or options.session is not None:
        raise UsageFailure("--compare begins new sessions: leave -c and -s out")
    if options.dirs:
        raise UsageFailure("--compare copies this folder only: leave --dir out")
    rules = [(name, str(Path(text).absolute()) if name == "rules" else text) for name, text in options.rules]
    return replace(options, rules=tuple(rules), mcp=tuple(str(Path(each).absolute()) for each in options.mcp))


async def compare(targets: Sequence[Target], options: AgentOptions, form: str, content: Sequence[str | Path]) -> int:
    """Send the same prompt to all agents at the same time, and show the result of each.

    Raises:
        CommandFailure: The folder cannot be copied, or an agent may not be started.
    """
    questions = Questions(UserTerminal(), lambda _: False) if is_interactive() else None
    yes = None if questions is None else questions.yes
    approved = [await approve(each, trust=options.trust, yes=yes) for each in targets]
    progress = Progress(sys.stderr, shown=form == "text")
    output: CompareOutput = CompareText(stdout_screen(progress)) if form == "text" else CompareEvents()
    interrupts = Interrupts(progress.erase)
    try:
        with interrupts.caught():
            return await _compare(approved, options, content, progress, output)
    except asyncio.CancelledError:
        if not interrupts.count:
            raise
        return Status.INTERRUPTED
    finally:
        progress.stop()


async def _compare(
    targets: list[Target],
    options: AgentOptions,
    content: Sequence[str | Path],
    progress: Progress,
    output: CompareOutput,
) -> int:
    source = Path.cwd()
    async with _opened(source, progress) as copies:
        results = {each.key: ComparedRun(each.entry.name) for each in targets}

        async def run(target: Target, folder: Path) -> None:
            job = compare_child.Job(str(folder), _moved(target, source, folder), options, content)
            await _run(job, copies, results[target.key], output)

        def note(target: Target, _: None, changes: list[FileChange]) -> None:
            results[target.key].changes = changes

        ticking = asyncio.ensure_future(_tick(progress, results))
        try:
            with _copying(CopyFailed):
                await run_trials(copies, targets, run, note, parallel=len(targets))
        finally:
            ticking.cancel()
            progress.erase()
            _forget(targets, results)
        for each in targets:
            output.compared(results[each.key])
        output.summary(list(results.values()))
    return next((result.status for result in results.values() if result.status), int(Status.DONE))


def _moved(target: Target, source: Path, copy: Path) -> Target:
    """The entry with its directory moved into the copy, where it is inside this folder."""
    cwd = target.entry.cwd
    if cwd is None or not Path(cwd).is_relative_to(source):
        return target
    return replace(target, entry=replace(target.entry, cwd=str(copy / Path(cwd).relative_to(source))))


async def _run(job: compare_child.Job, copies: FolderCopies, result: ComparedRun, output: CompareOutput) -> None:
    argv = own_command("accord.cli.compare_child")
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True, limit=_LINE_BYTES, env=environment_of(argv, os.environ, copies.environment),
    )  # fmt: skip
    try:
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(compare_child.encoded(job))
        result.begun = time.monotonic()
        async for line in process.stdout:
            record = json.loads(line)
            result.take(record)
            output.happened(result, record)
        status = await process.wait()
        result.status = status if status >= 0 else int(Status.NO_AGENT)
    finally:
        await asyncio.shield(_stopped(process))
        result.seconds = time.monotonic() - result.begun
        result.status = Status.INTERRUPTED if result.status is None else result.status


async def _stopped(process: asyncio.subprocess.Process) -> None:
    """End the process: by SIGINT, as Ctrl+C would, and at last by SIGKILL."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _forget(targets: Sequence[Target], results: dict[str, ComparedRun]) -> None:
    """Drop the records of the sessions: their folders are gone."""
    with SessionIndex() as index, contextlib.suppress(CommandFailure):
        for each in targets:
            session = results[each.key].session
            if session is not None:
                for record in index.all(everywhere=True, agent=each.key):
                    if record.session_id == session:
                        index.forget(record)


async def _tick(progress: Progress, results: dict[str, ComparedRun]) -> None:
    while True:
        parts = [
            filled("{} {}", exact(each.name), own("done") if each.seconds is not None else
                   duration(time.monotonic() - each.begun))
            for each in results.values()
        ]  # fmt: skip
        progress.show(filled("{}  (Ctrl+C stops them)", joined(parts, own(" · "))))
        await asyncio.sleep(TICK_SECONDS)


# --- the copies


@contextlib.asynccontextmanager
async def _opened(source: Path, progress: Progress) -> AsyncIterator[FolderCopies]:
    files = 0

    def on_file(number: int) -> None:
        nonlocal files
        files = number

    async def show() -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            progress.show(filled("copying the folder: {} files  (Ctrl+C stops it)", files))

    async with contextlib.AsyncExitStack() as stack:
        showing = asyncio.ensure_future(show())
        try:
            with _copying(OSError):
                copies = await stack.enter_async_context(open_copies(source, "compare", on_file))
        finally:
            showing.cancel()
        yield copies


@contextlib.contextmanager
def _copying(failures: type[OSError]) -> Iterator[None]:
    """Turn a failure to copy the folder into a failure of the command."""
    try:
        yield
    except StoreError as error:
        raise CommandFailure(Status.FAILED, "start", str(error), cause="StoreError") from error
    except failures as error:
        where = "" if error.filename is None else f"{error.filename}: "
        message = f"the folder cannot be copied: {where}{error.strerror or error}"
        raise CommandFailure(Status.FAILED, "start", message, cause=type(error).__name__) from error


HEADS = (own("agent"), own("exit"), own("time"), own("cost"), own("files"), own("lines"), own("end"))
DIFF_LINES = 200


@dataclass
class ComparedRun:
    """The result of one agent."""

    name: str
    begun: float = field(default_factory=time.monotonic)
    seconds: float | None = None
    status: int | None = None
    end: dict[str, Any] | None = None
    """The record `end`, if the run reached it."""
    error: str = ""
    changes: list[FileChange] = field(default_factory=list)
    session: str | None = None

    def take(self, record: dict[str, Any]) -> None:
        self.session = record.get("session") or self.session
        if record.get("type") == "end":
            self.end = record
        elif record.get("type") == "error":
            self.error = str(record.get("message"))


class CompareOutput:
    """The base of the forms of output; it writes nothing."""

    def happened(self, result: ComparedRun, record: dict[str, Any]) -> None:
        """A record of one of the runs."""

    def compared(self, result: ComparedRun) -> None:
        """A run is over, with its changes; called in the order of the line, when all are over."""

    def summary(self, results: list[ComparedRun]) -> None:
        """All runs are over."""


class CompareText(CompareOutput):
    def __init__(self, screen: TextScreen) -> None:
        self._screen = screen

    def compared(self, result: ComparedRun) -> None:
        screen = self._screen
        screen.line([Span(filled("── {} ", exact(result.name)), "bold")])
        answer = "" if result.end is None else str(result.end.get("answer", ""))
        for line in safe_lines(prose(answer.strip())) if answer.strip() else []:
            screen.line([Span(line)])
        if result.error:
            screen.line([Span(prose(result.error), "red")])
        for change in result.changes:
            screen.line([Span(filled("  {}  {}", exact(change.operation), exact(change.path)), "cyan")])
            if change.old is None and change.new is None:
                screen.line([Span(own("    no text, or more than 1 MiB"), "dim")])
            else:
                screen.lines(diff_lines(Diff([change]), DIFF_LINES))
        screen.flush()

    def summary(self, results: list[ComparedRun]) -> None:
        rows = [
            [
                exact(each.name), filled("{}", each.status or 0), duration(each.seconds or 0.0), _cost(each),
                filled("{}", len(each.changes)), _lines(each),
                exact(str((each.end or {}).get("stop_reason", "")) or "failed"),
            ]
            for each in results
        ]  # fmt: skip
        self._screen.line([Span(EMPTY)])
        self._screen.lines(table_lines(HEADS, rows))
        self._screen.flush()


class CompareEvents(CompareOutput):
    """The records of every run, with the agent's name, and `compared` for each at the end."""

    def happened(self, result: ComparedRun, record: dict[str, Any]) -> None:
        put(json_line({**record, "compare": result.name}))
        sys.stdout.flush()

    def compared(self, result: ComparedRun) -> None:
        end = result.end or {}
        record = {
            "type": "compared",
            "t": time.time(),
            "session": result.session,
            "compare": result.name,
            "code": result.status,
            "seconds": round(result.seconds or 0.0, 3),
            "stop_reason": end.get("stop_reason"),
            "answer": end.get("answer"),
            "cost": (end.get("usage") or {}).get("cost"),
            "changes": [{"path": each.path, "operation": each.operation} for each in result.changes],
            "patch": "".join(map(patch_of, result.changes)),
        }
        put(json_line(record))
        sys.stdout.flush()


def _lines(result: ComparedRun) -> SafeText:
    added, removed = counts(Diff(result.changes))
    return filled("+{} -{}", added, removed)


def _cost(result: ComparedRun) -> SafeText:
    cost = ((result.end or {}).get("usage") or {}).get("cost")
    return EMPTY if not cost else filled("{:.4g} {}", float(cost["amount"]), exact(str(cost["currency"])))
