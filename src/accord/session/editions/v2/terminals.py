"""Terminals in v2: the agent's own, their bytes in base64."""

import base64
import binascii

from accord.protocol import v2
from accord.protocol.model import UNSET, Maybe
from accord.session.event import Event, TerminalChanged, TerminalExit, TerminalOutput
from accord.session.unknown import unknown_update
from accord.session.unset import mapped, or_none, or_unset

__all__ = ["decode_output", "decode_terminal", "encode_output", "encode_terminal"]


def encode_terminal(event: TerminalChanged) -> v2.TerminalUpdate:
    """A terminal's change."""
    return v2.TerminalUpdate(
        event.id,
        command=event.command,
        cwd=event.cwd,
        output=mapped(_encode_bytes, event.output),
        exit_status=mapped(_encode_exit, event.exit),
        size=mapped(_encode_size, event.size),
        capabilities=_encode_capabilities(event),
        meta=event.meta,
    )


def _encode_bytes(data: bytes) -> v2.TerminalOutput:
    return v2.TerminalOutput(base64.b64encode(data).decode())


def _encode_exit(ended: TerminalExit) -> v2.TerminalExitStatus:
    return v2.TerminalExitStatus(or_unset(ended.code), or_unset(ended.signal), ended.meta or UNSET)


def _encode_size(size: tuple[int, int]) -> v2.TerminalSize:
    return v2.TerminalSize(*size)


def _encode_capabilities(event: TerminalChanged) -> Maybe[v2.TerminalCapabilities]:
    if event.cancellable is UNSET:
        return UNSET
    return v2.TerminalCapabilities(v2.TerminalCancelCapabilities()) if event.cancellable else None


def encode_output(event: TerminalOutput) -> v2.TerminalOutputChunk:
    """Bytes more."""
    return v2.TerminalOutputChunk(event.id, base64.b64encode(event.data).decode(), event.meta or UNSET)


def decode_terminal(update: v2.TerminalUpdate) -> Event:
    """A terminal's change; output that is no base64 counts as not sent, as every bad optional field does."""
    capabilities = update.capabilities
    return TerminalChanged(
        update.terminal_id,
        command=update.command,
        cwd=update.cwd,
        output=_decode_output_field(update.output),
        exit=mapped(_decode_exit, update.exit_status),
        size=mapped(_decode_size, update.size),
        # A marker counts when it is there, even empty.
        cancellable=UNSET if capabilities is UNSET else capabilities is not None and _is_there(capabilities.cancel),
        meta=update.meta,
    )


def _is_there(marker: object) -> bool:
    return marker is not UNSET and marker is not None


def _decode_output_field(output: Maybe[v2.TerminalOutput]) -> Maybe[bytes]:
    if output is UNSET or output is None:
        return output
    data = _decode_bytes(output.data)
    return UNSET if data is None else data


def _decode_bytes(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _decode_exit(status: v2.TerminalExitStatus) -> TerminalExit:
    return TerminalExit(or_none(status.exit_code), or_none(status.signal), status.meta or None)


def _decode_size(size: v2.TerminalSize) -> tuple[int, int]:
    return (size.cols, size.rows)


def decode_output(update: v2.TerminalOutputChunk) -> Event:
    """Bytes more. v2 rule 67: each chunk is decoded alone."""
    data = _decode_bytes(update.data)
    return unknown_update(update) if data is None else TerminalOutput(update.terminal_id, data, update.meta or None)
