"""Commands and their output."""

from accord.protocol.model import UNSET, Extent, Int64, Lenient, Maybe, Metadata, Wire
from accord.protocol.v2.capabilities import TerminalCapabilities
from accord.protocol.v2.ids import AbsolutePath, SessionId, TerminalId


class CancelTerminalResponse(Wire):
    """The wish was taken, no more; an exitStatus proves the end."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalOutput(Wire):
    """Base64 of every byte to keep; all output known before is replaced."""

    data: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalExitStatus(Wire):
    """Its presence means the process ended; exitCode is empty if a signal ended it."""

    exit_code: Lenient[Maybe[Int64]] = UNSET
    signal: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalSize(Wire):
    """Width and height in character cells, as the program sees them."""

    cols: Extent
    rows: Extent
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalUpdate(Wire, tag_field="sessionUpdate", tag="terminal_update"):
    """Creates or patches a terminal of the agent; an exitStatus, even empty, means ended."""

    terminal_id: TerminalId
    command: Lenient[Maybe[str]] = UNSET
    cwd: Lenient[Maybe[AbsolutePath]] = UNSET
    output: Lenient[Maybe[TerminalOutput]] = UNSET
    exit_status: Lenient[Maybe[TerminalExitStatus]] = UNSET
    size: Lenient[Maybe[TerminalSize]] = UNSET
    capabilities: Lenient[Maybe[TerminalCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalOutputChunk(Wire, tag_field="sessionUpdate", tag="terminal_output_chunk"):
    """Bytes to append; decode each base64 alone, as a character may be split between two."""

    terminal_id: TerminalId
    data: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class CancelTerminalRequest(Wire):
    """Allowed only while the terminal's own cancel marker is set; else -32602."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET
