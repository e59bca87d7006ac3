"""Commands and their output."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NullIsEmpty, UInt32, UInt64, Wire
from accord.protocol.v1.ids import SessionId, TerminalId
from accord.protocol.v1.mcp import EnvVariable


class CreateTerminalRequest(Wire):
    """The client starts the command; past outputByteLimit the oldest output is dropped."""

    session_id: SessionId
    command: str
    args: NullIsEmpty[list[str]] = []
    env: NullIsEmpty[list[EnvVariable]] = []
    cwd: Maybe[str] = UNSET
    output_byte_limit: Maybe[UInt64] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalOutputRequest(Wire):
    """Reads what is there so far without waiting for the process to end."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class ReleaseTerminalRequest(Wire):
    """Kills the process if it still runs and makes the id invalid; owed for every terminal."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class WaitForTerminalExitRequest(Wire):
    """Stays pending until the process ends; answered at once if it already has."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class KillTerminalRequest(Wire):
    """Stops the process but keeps the id for reading output; release is still owed."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class CreateTerminalResponse(Wire):
    """Comes as soon as the command is started; the id must be released later."""

    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalExitStatus(Wire):
    """Its presence means the process ended; exitCode is empty if a signal ended it."""

    exit_code: Lenient[Maybe[UInt32]] = UNSET
    signal: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalOutputResponse(Wire):
    """truncated means the beginning is missing; no exitStatus means still running."""

    output: str
    truncated: bool
    exit_status: Lenient[Maybe[TerminalExitStatus]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ReleaseTerminalResponse(Wire):
    """Empty; the id is dead, but tool calls that show the terminal keep its output."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class WaitForTerminalExitResponse(Wire):
    """The process has ended: exitCode is null after a signal, signal is null otherwise."""

    exit_code: Lenient[Maybe[UInt32]] = UNSET
    signal: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class KillTerminalResponse(Wire):
    """Empty; output and exit status can still be read until release."""

    meta: Lenient[Maybe[Metadata]] = UNSET


KillTerminalCommandRequest: TypeAlias = KillTerminalRequest  # its name in the 2025 text
KillTerminalCommandResponse: TypeAlias = KillTerminalResponse  # its name in the 2025 text
