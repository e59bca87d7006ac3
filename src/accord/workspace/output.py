"""The result of a command: the tail of its output, beginning with a whole character, and its exit.

Output is kept as bytes and decoded at the end, so a character may come in two chunks.
"""

from __future__ import annotations

import codecs
import signal
from typing import NamedTuple

__all__ = ["CommandOutput", "Exit", "Tail", "exit_of"]

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_CONTINUATION = 0x80  # the first two bits of a byte that continues a character
_MAX_CONTINUATION_BYTES = 3


class CommandOutput(NamedTuple):
    """The kept output as text; `truncated` says that there was more before it."""

    text: str
    truncated: bool


class Tail:
    """The last `max_bytes` of a stream of bytes."""

    def __init__(self, max_bytes: int) -> None:
        if max_bytes < 0:
            raise ValueError("an output limit cannot be negative")
        self._max_bytes = max_bytes
        self._held = bytearray()
        self._truncated = False
        # How many bytes at the beginning may still belong to a character that was cut.
        self._torn_bytes = 0
        # Cutting at every chunk would move the whole tail each time.
        self._slack_bytes = max(max_bytes // 4, 64 * 1024)

    def feed(self, data: bytes) -> None:
        if len(data) > self._max_bytes:
            self._held.clear()
            self._mark_cut()
            data = data[len(data) - self._max_bytes :]
        self._held += data
        if len(self._held) > self._max_bytes + self._slack_bytes:
            self._cut()

    def limit(self, max_bytes: int) -> None:
        """Keep so much from now on; dropped bytes stay dropped."""
        self._max_bytes = max_bytes
        self._slack_bytes = max(max_bytes // 4, 64 * 1024)
        if len(self._held) > max_bytes:
            self._cut()
            self._held = bytearray(self._held)  # a bytearray that was cut keeps its memory

    def data(self) -> bytes:
        """The bytes that are kept."""
        self._cut()
        return bytes(self._held)

    def output(self, *, ended: bool) -> CommandOutput:
        """The kept text, without an incomplete last character, unless the stream has ended.

        Bytes that are no UTF-8 are replaced. Replacements are longer than the bytes: the text is cut again, so that it
        takes no more than the limit when it is encoded.
        """
        self._cut()
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(self._held, final=ended)
        truncated = self._truncated
        if _REPLACEMENT in text:
            encoded = text.encode()
            if len(encoded) > self._max_bytes:
                truncated = True
                kept = encoded[len(encoded) - self._max_bytes :]
                text = kept[_leading_continuation_bytes(kept) :].decode()
        return CommandOutput(text, truncated)

    def _cut(self) -> None:
        excess_bytes = len(self._held) - self._max_bytes
        if excess_bytes > 0:
            del self._held[:excess_bytes]
            self._mark_cut()
        # Once for each cut: bytes that are no UTF-8 would otherwise be dropped at each call.
        torn_bytes = _leading_continuation_bytes(self._held[: self._torn_bytes])
        del self._held[:torn_bytes]
        self._torn_bytes = 0 if self._held else self._torn_bytes - torn_bytes

    def _mark_cut(self) -> None:
        self._truncated = True
        self._torn_bytes = _MAX_CONTINUATION_BYTES


def _leading_continuation_bytes(data: bytes | bytearray) -> int:
    """The number of bytes at the beginning that continue an earlier character."""
    return next((index for index, byte in enumerate(data) if byte & 0xC0 != _CONTINUATION), len(data))


class Exit(NamedTuple):
    """The exit of a process, by a code or a signal. Both are None where the system does not report it."""

    code: int | None
    signal: str | None


def exit_of(status: int | None) -> Exit:
    """The exit of a status; a negative one is a signal, as in `subprocess`."""
    if status is None:
        return Exit(None, None)
    if status >= 0:
        return Exit(status, None)
    try:
        return Exit(None, signal.Signals(-status).name)
    except ValueError:
        # The real-time signals between the first and the last have no names.
        return Exit(None, f"SIG{-status}")
