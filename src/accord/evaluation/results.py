"""Results of an evaluation, kept as JSON lines: one that is written is kept, also when the process is killed.

The first line names the format and its version. A last line that a kill cut in two is dropped by the next run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from accord.errors import AccordError

__all__ = ["EvaluationResult", "ResultsFile", "ResultsFileError", "read_results"]

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
            raise ResultsFileError(f"{path} is no file of results")
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
            raise ResultsFileError(f"{path} has version {record.version}; this Accord reads up to {FORMAT_VERSION}")
    return results, whole


class ResultsFile:
    """The file of a running evaluation; what was in it counts as done.

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
