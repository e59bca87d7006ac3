"""What a v1 client serves for its agent: text files, and terminals."""

from typing import Any

from accord.protocol import v1
from accord.protocol.model import UNSET
from accord.session.agent_requests import (
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
from accord.session.dialect import Binding
from accord.session.editions.shared.bindings import bind, decoder, encoder, names
from accord.session.event import TerminalExit
from accord.session.unset import or_none, or_unset

__all__ = ["SERVICES"]

_READ = names("session_id", "path", "line", "limit")
_START = names("session_id", "command", "args", "cwd", "output_byte_limit")
_STARTED = names("terminal_id")
_TERMINAL = names("session_id", "terminal_id")


def _decode_read(params: v1.ReadTextFileRequest) -> ReadFile:
    # v1 rule 43: the schema lets a line 0 pass, which is where the file begins.
    line = or_none(params.line) or None
    return ReadFile(params.session_id, params.path, line, or_none(params.limit), params.meta or None)


def _encode_start(request: StartTerminal) -> v1.CreateTerminalRequest:
    params: v1.CreateTerminalRequest = encoder(v1.CreateTerminalRequest, _START)(request)
    params.env = [v1.EnvVariable(name, value) for name, value in request.env]
    return params


def _decode_start(params: v1.CreateTerminalRequest) -> StartTerminal:
    request: StartTerminal = decoder(StartTerminal, _START)(params)
    request.env = [(variable.name, variable.value) for variable in params.env]
    return request


def _encode_output(answer: TerminalRead) -> v1.TerminalOutputResponse:
    ended = answer.exit
    status: Any = UNSET
    if ended is not None:
        status = v1.TerminalExitStatus(or_unset(ended.code), or_unset(ended.signal), ended.meta or UNSET)
    return v1.TerminalOutputResponse(answer.output, answer.truncated, status, answer.meta or UNSET)


def _decode_output(result: v1.TerminalOutputResponse, _: object) -> TerminalRead:
    status = result.exit_status
    ended = TerminalExit(or_none(status.exit_code), or_none(status.signal), status.meta or None) if status else None
    return TerminalRead(result.output, result.truncated, ended, result.meta or None)


def _encode_ended(answer: TerminalEnded) -> v1.WaitForTerminalExitResponse:
    # The answer is the exit, so that their metadata is one.
    meta = {**(answer.exit.meta or {}), **(answer.meta or {})}
    return v1.WaitForTerminalExitResponse(or_unset(answer.exit.code), or_unset(answer.exit.signal), meta or UNSET)


def _decode_ended(result: v1.WaitForTerminalExitResponse, _: object) -> TerminalEnded:
    return TerminalEnded(TerminalExit(or_none(result.exit_code), or_none(result.signal)), result.meta or None)


def _decode_started(result: v1.CreateTerminalResponse, _: object) -> TerminalStarted:
    return TerminalStarted(result.terminal_id, result.meta or None)


def _decode_file(result: v1.ReadTextFileResponse, _: object) -> FileRead:
    return FileRead(result.content, result.meta or None)


SERVICES = (
    Binding(
        ReadFile,
        v1.FS_READ_TEXT_FILE,
        _decode_read,
        encoder(v1.ReadTextFileRequest, _READ),
        encoder(v1.ReadTextFileResponse, names("content")),
        _decode_file,
        needs="read_files",
    ),
    bind(WriteFile, v1.FS_WRITE_TEXT_FILE, names("session_id", "path", "content"), needs="write_files"),
    Binding(
        StartTerminal,
        v1.TERMINAL_CREATE,
        _decode_start,
        _encode_start,
        encoder(v1.CreateTerminalResponse, _STARTED),
        _decode_started,
        needs="terminals",
    ),
    Binding(
        ReadTerminal,
        v1.TERMINAL_OUTPUT,
        decoder(ReadTerminal, _TERMINAL),
        encoder(v1.TerminalOutputRequest, _TERMINAL),
        _encode_output,
        _decode_output,
        needs="terminals",
    ),
    Binding(
        AwaitTerminal,
        v1.TERMINAL_WAIT_FOR_EXIT,
        decoder(AwaitTerminal, _TERMINAL),
        encoder(v1.WaitForTerminalExitRequest, _TERMINAL),
        _encode_ended,
        _decode_ended,
        needs="terminals",
    ),
    bind(KillTerminal, v1.TERMINAL_KILL, _TERMINAL, needs="terminals"),
    bind(ReleaseTerminal, v1.TERMINAL_RELEASE, _TERMINAL, needs="terminals"),
)
