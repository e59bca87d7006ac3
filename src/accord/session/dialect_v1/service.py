"""What a v1 client does for its agent: text files, and terminals."""

from collections.abc import Callable
from typing import Any, TypeVar

from accord.protocol import v1
from accord.protocol.model import UNSET
from accord.session.ask import (
    AwaitTerminal,
    FileRead,
    KillTerminal,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    StartTerminal,
    TerminalEnded,
    TerminalRead,
    TerminalStarted,
    WriteFile,
)
from accord.session.event import TerminalExit
from accord.session.presence import given, told

__all__ = [
    "ended_in",
    "ended_out",
    "file_read_in",
    "file_read_out",
    "output_in",
    "output_out",
    "read_in",
    "read_out",
    "start_in",
    "start_out",
    "started_in",
    "started_out",
    "terminal_in",
    "terminal_out",
    "write_in",
    "write_out",
]

T = TypeVar("T", ReadTerminal, AwaitTerminal, KillTerminal, ReleaseTerminal)


# --- files


def read_out(ask: ReadFile) -> v1.ReadTextFileRequest:
    """The text of a file."""
    return v1.ReadTextFileRequest(ask.session_id, ask.path, given(ask.line), given(ask.limit), ask.meta or UNSET)


def read_in(params: v1.ReadTextFileRequest) -> ReadFile:
    """The text of a file."""
    # v1 rule 43: the schema lets a line 0 pass, which is where the file begins.
    line = told(params.line) or None
    return ReadFile(params.session_id, params.path, line, told(params.limit), params.meta or None)


def file_read_out(answer: FileRead) -> v1.ReadTextFileResponse:
    """The text."""
    return v1.ReadTextFileResponse(answer.content, answer.meta or UNSET)


def file_read_in(result: v1.ReadTextFileResponse, _: object) -> FileRead:
    """The text."""
    return FileRead(result.content, result.meta or None)


def write_out(ask: WriteFile) -> v1.WriteTextFileRequest:
    """Another text for a file."""
    return v1.WriteTextFileRequest(ask.session_id, ask.path, ask.content, ask.meta or UNSET)


def write_in(params: v1.WriteTextFileRequest) -> WriteFile:
    """Another text for a file."""
    return WriteFile(params.session_id, params.path, params.content, params.meta or None)


# --- terminals


def start_out(ask: StartTerminal) -> v1.CreateTerminalRequest:
    """Run a command."""
    return v1.CreateTerminalRequest(
        ask.session_id,
        ask.command,
        ask.args,
        [v1.EnvVariable(name, value) for name, value in ask.env],
        given(ask.cwd),
        given(ask.output_byte_limit),
        ask.meta or UNSET,
    )


def start_in(params: v1.CreateTerminalRequest) -> StartTerminal:
    """Run a command."""
    return StartTerminal(
        params.session_id,
        params.command,
        params.args,
        [(variable.name, variable.value) for variable in params.env],
        told(params.cwd),
        told(params.output_byte_limit),
        params.meta or None,
    )


def started_out(answer: TerminalStarted) -> v1.CreateTerminalResponse:
    """It runs."""
    return v1.CreateTerminalResponse(answer.terminal_id, answer.meta or UNSET)


def started_in(result: v1.CreateTerminalResponse, _: object) -> TerminalStarted:
    """It runs."""
    return TerminalStarted(result.terminal_id, result.meta or None)


def terminal_out(kind: type[Any]) -> Callable[[T], Any]:
    """How something that names a terminal and nothing more is said."""
    return lambda ask: kind(ask.session_id, ask.terminal_id, ask.meta or UNSET)


def terminal_in(kind: type[T]) -> Callable[[Any], T]:
    """How something that names a terminal and nothing more is heard."""
    return lambda params: kind(params.session_id, params.terminal_id, params.meta or None)


def output_out(answer: TerminalRead) -> v1.TerminalOutputResponse:
    """What a command has written."""
    ended = answer.exit
    status = (
        UNSET if ended is None else v1.TerminalExitStatus(given(ended.code), given(ended.signal), ended.meta or UNSET)
    )
    return v1.TerminalOutputResponse(answer.output, answer.truncated, status, answer.meta or UNSET)


def output_in(result: v1.TerminalOutputResponse, _: object) -> TerminalRead:
    """What a command has written."""
    status = result.exit_status
    ended = TerminalExit(told(status.exit_code), told(status.signal), status.meta or None) if status else None
    return TerminalRead(result.output, result.truncated, ended, result.meta or None)


def ended_out(answer: TerminalEnded) -> v1.WaitForTerminalExitResponse:
    """How a command ended; the answer is the exit, so that their metadata is one."""
    meta = {**(answer.exit.meta or {}), **(answer.meta or {})}
    return v1.WaitForTerminalExitResponse(given(answer.exit.code), given(answer.exit.signal), meta or UNSET)


def ended_in(result: v1.WaitForTerminalExitResponse, _: object) -> TerminalEnded:
    """How a command ended."""
    return TerminalEnded(TerminalExit(told(result.exit_code), told(result.signal)), result.meta or None)
