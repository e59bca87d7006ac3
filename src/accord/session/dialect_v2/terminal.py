"""Terminals in v2: the agent's own, their bytes in base64."""

import base64
import binascii

from accord.protocol import v2
from accord.protocol.model import UNSET, Maybe
from accord.session.event import Event, TerminalChanged, TerminalExit, TerminalOutput
from accord.session.presence import given, mapped, told
from accord.session.unheard import unheard

__all__ = ["output_in", "output_out", "terminal_in", "terminal_out"]


def terminal_out(event: TerminalChanged) -> v2.TerminalUpdate:
    """A terminal's change."""
    return v2.TerminalUpdate(
        event.id,
        command=event.command,
        cwd=event.cwd,
        output=mapped(_bytes_out, event.output),
        exit_status=mapped(_exit_out, event.exit),
        size=mapped(_size_out, event.size),
        capabilities=_capabilities_out(event),
        meta=event.meta,
    )


def _bytes_out(data: bytes) -> v2.TerminalOutput:
    return v2.TerminalOutput(base64.b64encode(data).decode())


def _exit_out(ended: TerminalExit) -> v2.TerminalExitStatus:
    return v2.TerminalExitStatus(given(ended.code), given(ended.signal), ended.meta or UNSET)


def _size_out(size: tuple[int, int]) -> v2.TerminalSize:
    return v2.TerminalSize(*size)


def _capabilities_out(event: TerminalChanged) -> Maybe[v2.TerminalCapabilities]:
    if event.cancellable is UNSET:
        return UNSET
    return v2.TerminalCapabilities(v2.TerminalCancelCapabilities()) if event.cancellable else None


def output_out(event: TerminalOutput) -> v2.TerminalOutputChunk:
    """Bytes more."""
    return v2.TerminalOutputChunk(event.id, base64.b64encode(event.data).decode(), event.meta or UNSET)


def terminal_in(update: v2.TerminalUpdate) -> Event:
    """A terminal's change; output that is no base64 counts as not sent, as every bad optional field does."""
    capabilities = update.capabilities
    return TerminalChanged(
        update.terminal_id,
        command=update.command,
        cwd=update.cwd,
        output=_output_in(update.output),
        exit=mapped(_exit_in, update.exit_status),
        size=mapped(_size_in, update.size),
        # A marker counts when it is there, even empty.
        cancellable=UNSET if capabilities is UNSET else capabilities is not None and _is_there(capabilities.cancel),
        meta=update.meta,
    )


def _is_there(marker: object) -> bool:
    return marker is not UNSET and marker is not None


def _output_in(output: Maybe[v2.TerminalOutput]) -> Maybe[bytes]:
    if output is UNSET or output is None:
        return output
    data = _bytes_in(output.data)
    return UNSET if data is None else data


def _bytes_in(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _exit_in(status: v2.TerminalExitStatus) -> TerminalExit:
    return TerminalExit(told(status.exit_code), told(status.signal), status.meta or None)


def _size_in(size: v2.TerminalSize) -> tuple[int, int]:
    return (size.cols, size.rows)


def output_in(update: v2.TerminalOutputChunk) -> Event:
    """Bytes more. v2 rule 67: each chunk is decoded alone."""
    data = _bytes_in(update.data)
    return unheard(update) if data is None else TerminalOutput(update.terminal_id, data, update.meta or None)
