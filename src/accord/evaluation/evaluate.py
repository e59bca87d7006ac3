"""`accord.evaluate`: a list of prompts against several agents, with limits, and results that survive a kill.

Results are kept as JSON lines; the first names the format and its version. A written result survives a kill of the
process: a last line that a kill cut in two is dropped by the next run.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import msgspec

from accord.client import Deadlines, InProcessAgent, PermissionCallback, Policy, Session, StrPath, Turn, connect
from accord.errors import AccordError, ConnectionLost, DeadlineExceeded
from accord.evaluation.copies import FolderCopies, open_copies, patch_of, run_trials
from accord.session.event import Cost, ToolChanged
from accord.session.tool import FileChange

__all__ = [
    "AgentCommand",
    "EvaluationResult",
    "ProgressBar",
    "ResultsFile",
    "ResultsFileError",
    "Task",
    "TaskLimits",
    "evaluate",
    "read_results",
]


FORMAT_VERSION = 1


class ResultsFileError(AccordError):
    """A file of results cannot be used: it is something else, or of a newer version."""


class EvaluationResult(msgspec.Struct, kw_only=True, omit_defaults=True, tag="result", tag_field="type"):
    """The result of one task with one agent."""

    task: str
    """The name of the task."""
    agent: str
    """The name of the agent."""
    repetition: int = 0
    """Which repetition it is, from 0."""
    prompt: str = ""
    """The prompt."""
    answer: str = ""
    """The last whole message of the agent."""
    text: str = ""
    """All messages of the agent."""
    stop_reason: str | None = None
    """Why the turn ended; None where it failed."""
    error: str | None = None
    """The class of the exception, where it failed; `limit` where a limit of the evaluation ended it."""
    message: str | None = None
    """A sentence about the failure."""
    exit: int | None = None
    """The exit status of the agent's program, where it ended by itself."""
    seconds: float = 0.0
    """How long the turn took."""
    token_usage: dict[str, int | None] | None = None
    """The tokens of the turn, where the agent reported them."""
    cost: dict[str, Any] | None = None
    """`amount` and `currency`, where the agent reported them."""
    tool_calls: list[dict[str, str]] = []
    """`title`, `kind` and `status` of each tool call."""
    changes: list[dict[str, str]] = []
    """`path` and `operation` of each file that is different in the copy."""
    patch: str = ""
    """The changes as a patch."""

    @property
    def key(self) -> tuple[str, str, int]:
        """The names by which a result is found again: a run goes on with those that are missing."""
        return self.task, self.agent, self.repetition


class _Header(msgspec.Struct, tag="evaluation", tag_field="type"):
    version: int


_LINE = msgspec.json.Decoder(_Header | EvaluationResult)


def read_results(path: str | os.PathLike[str]) -> list[EvaluationResult]:
    """The results of a file, in the order in which they were written.

    Raises:
        ResultsFileError: It is no such file, or of a newer version.
        OSError: It cannot be read.
    """
    return _read(Path(path))[0]


def _read(path: Path) -> tuple[list[EvaluationResult], int]:
    """The results, and how many bytes of the file are whole lines."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()
    if not lines:
        if data and not b'{"type":"evaluation"'.startswith(data[:20]):
            raise ResultsFileError(f"{path} is no file of results; name another file")
        return [], 0
    results: list[EvaluationResult] = []
    for number, line in enumerate(lines, 1):
        try:
            record = _LINE.decode(line)
        except msgspec.DecodeError as error:
            raise ResultsFileError(f"{path}, line {number}: {error}") from error
        if isinstance(record, EvaluationResult) == (number == 1):
            raise ResultsFileError(f"{path}, line {number}: the first line, and only that, names the format")
        if isinstance(record, EvaluationResult):
            results.append(record)
        elif record.version > FORMAT_VERSION:
            raise ResultsFileError(
                f"{path} has version {record.version}; this Accord reads up to {FORMAT_VERSION}: update Accord"
            )
    return results, whole


class ResultsFile:
    """The file of a running evaluation; the results that it has already count as done.

    Raises:
        ResultsFileError: It is something else.
        OSError: It cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.results: list[EvaluationResult] = []
        whole = 0
        if path.exists():
            self.results, whole = _read(path)
        self._file = path.open("ab")
        self._file.truncate(whole)
        if whole == 0:
            self._write(_Header(FORMAT_VERSION))

    def add(self, result: EvaluationResult) -> None:
        """Keep a result; on the disk when this returns."""
        self.results.append(result)
        self._write(result)

    def close(self) -> None:
        self._file.close()

    def _write(self, record: msgspec.Struct) -> None:
        self._file.write(msgspec.json.encode(record) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


_INSIDE = [
    *(f"allow {kind}:**" for kind in ("read", "search", "edit", "delete", "move")),
    "allow think",
    "allow execute",
]
"""The rules without `permission`: an agent may do everything in its copy, and commands."""

log = logging.getLogger("accord.evaluation")

AgentCommand: TypeAlias = StrPath | Sequence[StrPath] | InProcessAgent
"""An agent to evaluate: a program, its argv, or an agent in this process."""


@dataclass(frozen=True)
class Task:
    """A prompt with a name of its own, by which its results are found again."""

    name: str
    prompt: str


@dataclass(frozen=True)
class TaskLimits:
    """The limits of one task with one agent; None is no limit."""

    seconds: float | None = 600.0
    """For the turn."""
    tool_calls: int | None = None
    """How many tool calls it may make."""


@dataclass(frozen=True)
class _Trial:
    task: Task
    name: str
    agent: AgentCommand
    repetition: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.task.name, self.name, self.repetition


async def evaluate(  # noqa: PLR0913 - each is an option of the user
    tasks: Sequence[str | Task],
    agents: Mapping[str, AgentCommand],
    *,
    results: StrPath,
    folder: StrPath = ".",
    repetitions: int = 1,
    parallel: int = 2,
    limits: TaskLimits | None = None,
    permission: PermissionCallback | None = None,
    progress: Callable[[int, int, int], object] | None = None,
) -> list[EvaluationResult]:
    """Give every task to every agent, each in a fresh copy of the folder, and keep the results in a file.

    `results` gets a line of JSON for each task, agent and repetition as soon as it is known. A call with the same file
    goes on where an earlier one ended or was killed: a result in the file is not made again. A task that is a text is
    named by it.

    `parallel` of them run at a time. `permission` answers the agents; unless it is given, commands and everything
    inside the copy are allowed, and everything else is denied. `progress`, for example `ProgressBar()`, is called with
    the numbers of results, of all, and of failures.

    **The copies are no sandbox.** An agent's program runs as you, and can read and write everything that you can. Run
    agents that you do not trust in a container.

    Returns:
        All results of the file, those of earlier calls too.

    Raises:
        ValueError: Two tasks have one name, or a number is less than 1.
        ResultsFileError: The file is something else.
        OSError: The folder cannot be copied, or the file not be written.
    """
    named = [task if isinstance(task, Task) else Task(task, task) for task in tasks]
    if len({task.name for task in named}) < len(named):
        raise ValueError("two tasks have the same name")
    if repetitions < 1 or parallel < 1:
        raise ValueError("repetitions and parallel are at least 1")
    trials = [
        _Trial(task, name, agent, number)
        for number in range(repetitions)
        for task in named
        for name, agent in agents.items()
    ]
    file = ResultsFile(Path(results))
    try:
        evaluation = _Evaluation(file, trials, limits or TaskLimits(), permission, progress)
        if evaluation.left:
            place = Path(os.path.realpath(folder))  # noqa: ASYNC240 - for its name
            async with open_copies(place, "evaluate") as copies:
                await evaluation.run(copies, parallel)
    finally:
        file.close()
    return file.results


class _Evaluation:
    def __init__(
        self,
        file: ResultsFile,
        trials: list[_Trial],
        limits: TaskLimits,
        permission: PermissionCallback | None,
        progress: Callable[[int, int, int], object] | None,
    ) -> None:
        done = {result.key for result in file.results}
        wanted = {trial.key for trial in trials}
        self._file = file
        self._limits = limits
        self._permission = permission
        self._progress = progress
        self._total = len(trials)
        self._counted = [result for result in file.results if result.key in wanted]
        self.left = [trial for trial in trials if trial.key not in done]
        self._show()

    async def run(self, copies: FolderCopies, parallel: int) -> None:
        async def trial(trial: _Trial, folder: Path) -> EvaluationResult:
            return await self._run(trial, copies, folder)

        await run_trials(copies, self.left, trial, self._take, parallel=parallel)

    def _take(self, _: _Trial, result: EvaluationResult, changes: list[FileChange]) -> None:
        result.changes = [{"path": change.path, "operation": change.operation} for change in changes]
        result.patch = "".join(map(patch_of, changes))
        self._file.add(result)
        self._counted.append(result)
        self._show()

    def _show(self) -> None:
        if self._progress is not None:
            failed = sum(result.stop_reason != "end_turn" for result in self._counted)
            self._progress(len(self._counted), self._total, failed)

    async def _run(self, trial: _Trial, copies: FolderCopies, folder: Path) -> EvaluationResult:
        result = EvaluationResult(
            task=trial.task.name, agent=trial.name, repetition=trial.repetition, prompt=trial.task.prompt
        )
        begun = time.monotonic()
        try:
            async with connect(
                *_target(trial.agent),
                program_cwd=folder,
                env=copies.environment,
                permission=self._permission or Policy(_INSIDE, default="deny"),
                deadlines=Deadlines(turn_seconds=self._limits.seconds),
            ) as agent:
                session = await agent.new_session(folder)
                turn = session.prompt(trial.task.prompt)
                begun = time.monotonic()
                try:
                    await self._watch(turn, result)
                finally:
                    result.seconds = round(time.monotonic() - begun, 3)
                    _note(result, turn, session)
        except AccordError as error:
            log.info("%s with %s failed: %s", trial.task.name, trial.name, error)
            result.error = "limit" if isinstance(error, DeadlineExceeded) else type(error).__name__
            result.message = str(error)
            result.exit = error.exit_status if isinstance(error, ConnectionLost) else None
            result.stop_reason = None
        return result

    async def _watch(self, turn: Turn, result: EvaluationResult) -> None:
        calls: set[str] = set()
        async with turn:
            async for event in turn:
                if isinstance(event, ToolChanged):
                    calls.add(event.id)
                    if self._limits.tool_calls is not None and len(calls) > self._limits.tool_calls:
                        result.error, result.message = "limit", f"more than {self._limits.tool_calls} tool calls"
                        turn.cancel()


def _target(agent: AgentCommand) -> tuple[Any, ...]:
    return tuple(agent) if isinstance(agent, Sequence) and not isinstance(agent, str) else (agent,)


def _note(result: EvaluationResult, turn: Turn, session: Session) -> None:
    result.text, result.answer, result.stop_reason = turn.text, turn.answer, turn.stop_reason
    result.tool_calls = [
        {"title": call.title or call.name or call.id, "kind": call.kind, "status": call.status}
        for call in turn.tool_calls
    ]
    usage, cost = turn.token_usage, None if session.transcript.usage is None else session.transcript.usage.cost
    if usage is not None:
        result.token_usage = {name: getattr(usage, name) for name in usage.__struct_fields__}
    if isinstance(cost, Cost):
        result.cost = {"amount": cost.amount, "currency": cost.currency}


# --- progress

_WIDTH = 30


class ProgressBar:
    """A bar with counts and the time that is left, for `evaluate(progress=…)`; on stderr unless a stream is given."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._begun = time.monotonic()
        self._first: int | None = None

    def __call__(self, done: int, total: int, failed: int) -> None:
        """Show the numbers; called before the first and after each result."""
        if self._first is None:
            self._first = done
        filled = _WIDTH * done // max(total, 1)
        left = ""
        if done > self._first and done < total:
            seconds = (time.monotonic() - self._begun) / (done - self._first) * (total - done)
            left = f", about {seconds:.0f} s left"
        bar = "█" * filled + "·" * (_WIDTH - filled)
        self._stream.write(f"\r{bar} {done}/{total}, {failed} failed{left}\033[K" + ("\n" if done == total else ""))
        self._stream.flush()
