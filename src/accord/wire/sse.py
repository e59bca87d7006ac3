"""Server-sent events, by the rules of the WHATWG's HTML standard, section 9.2.

The meaning of events and the policy for reconnecting belong to the caller.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from accord.errors import LocalProtocolError
from accord.wire.reader import DEFAULT_MAX_BYTES, over_limit, strip_bom

if TYPE_CHECKING:
    from accord.errors import FrameError

__all__ = ["KEEPALIVE", "SseEvent", "SseReader", "serialize_event", "serialize_id"]

KEEPALIVE = b":\n\n"
"""A comment line, sent between two events to keep the connection alive; readers deliver no event for it."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_FIELD_BYTES = len(b"data: ")
_RETRY_DIGITS = 15


class SseEvent(NamedTuple):
    """One event.

    `data` is the bytes as they came: texts are for `jsonrpc` to judge. `id` is the last one the stream gave, also if an
    earlier event gave it. `retry` is in milliseconds.
    """

    event: str
    data: bytes
    id: str
    retry: int | None


class SseReader:
    """Cuts one stream into events.

    `last_id` and `retry` are for reconnecting; blocks without data, which are no events, may set them too. By the
    standard an event that the stream's end cuts off is none; `finish` gives what there is of it. `max_bytes` bounds one
    event's data, and any line by itself. `own_ids` says of each event of the last `feed` whether it had an id itself.
    """

    __slots__ = (
        "_after_cr",
        "_block_retry",
        "_data",
        "_event",
        "_held",
        "_id",
        "_is_own",
        "_max_bytes",
        "_opening",
        "fault",
        "last_id",
        "own_ids",
        "retry",
    )

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._opening: bytes | None = b""
        self._held = bytearray()
        self._after_cr = False
        self._data = bytearray()
        self._event = ""
        self._id = ""
        self._is_own = False
        self.own_ids: list[bool] = []
        self._block_retry: int | None = None
        self.last_id = ""
        self.retry: int | None = None
        self.fault: FrameError | None = None

    @property
    def pending_bytes(self) -> int:
        """The size of the unfinished line and of the data collected before it."""
        return len(self._held) + len(self._data) + len(self._opening or b"")

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that `data` completes. Never raises; empty for ever after a fault."""
        self.own_ids = []
        if self.fault is not None:
            return []
        if self._opening is not None:
            opening = strip_bom(self._opening + data)
            if opening is None:
                self._opening += data
                return []
            self._opening = None
            data = opening
        lines = self._with_one_line_end(data).split(b"\n")
        rest = lines.pop()
        if lines and self._held:
            self._held += lines[0]
            lines[0] = bytes(self._held)
            self._held.clear()
        events: list[SseEvent] = []
        for line in lines:
            self._read_line(line, events)
            if self.fault is not None:
                return events
        self._hold(rest)
        return events

    def finish(self) -> SseEvent | None:
        """The event that lacks its blank line when the stream ends, None if there is none; its last line may be cut."""
        if self.fault is not None:
            return None
        line = bytes(self._held or self._opening or b"")
        self._held.clear()
        self._opening = None
        events: list[SseEvent] = []
        if line:
            # A name that was cut is one of data: what is lost with it must not pass for nothing.
            self._read_line(b"data" if b"data".startswith(line) else line, events)
        if self.fault is None:
            self._dispatch(events)
        return events[0] if events else None

    def _with_one_line_end(self, data: bytes) -> bytes:
        if self._after_cr and data:
            # The CR ended its line when it came; this LF is the other half of the same end.
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" not in data:
            return data
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _hold(self, rest: bytes) -> None:
        self._held += rest
        collected_bytes = len(self._data) if self._held.startswith(b"data:") else 0
        if collected_bytes + len(self._held) > self._max_bytes + _FIELD_BYTES:
            self._fail()

    def _read_line(self, line: bytes, events: list[SseEvent]) -> None:
        if not line:
            self._dispatch(events)
            return
        if len(line) > self._max_bytes + _FIELD_BYTES:
            self._fail()
            return
        # A line that opens with a colon is a comment: a field without a name, which no case takes.
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._add_data(value)
            case b"event":
                self._event = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self._id, self._is_own = value.decode("utf-8", "replace"), bool(value)
            case b"retry" if value.isdigit() and len(value) <= _RETRY_DIGITS:
                self.retry = self._block_retry = int(value)

    def _add_data(self, value: bytes) -> None:
        if len(self._data) + len(value) > self._max_bytes:
            self._fail()
            return
        self._data += value
        self._data += b"\n"

    def _dispatch(self, events: list[SseEvent]) -> None:
        self.last_id = self._id
        if self._data:
            data = bytes(memoryview(self._data)[:-1])
            events.append(SseEvent(self._event or "message", data, self._id, self._block_retry))
            self.own_ids.append(self._is_own)
            self._data.clear()
        self._is_own = False
        self._event = ""
        self._block_retry = None

    def _fail(self) -> None:
        self._held.clear()
        self._data.clear()
        self.fault = over_limit(self._max_bytes)


def serialize_event(
    data: bytes | str,
    *,
    event: str = "",
    id: str | None = None,  # noqa: A002 - the field's own name
    retry: int | None = None,
) -> bytes:
    """One event as bytes. Every kind of line end in `data` arrives as LF.

    An `id` of `""` makes the reader forget the one it has; None leaves it. `retry` is in milliseconds.

    Raises:
        LocalProtocolError: A field that cannot be encoded: a line end in `event` or `id`, a NUL in `id`, a
            `retry` below 0.
    """
    lines: list[bytes] = []
    if event:
        lines.append(b"event: " + _one_line("event", event))
    if id is not None:
        lines.append(b"id: " + _one_line("id", id))
    if retry is not None:
        if retry < 0:
            raise LocalProtocolError("an event's retry is below zero", field="retry", expected="milliseconds")
        lines.append(b"retry: %d" % retry)
    lines += [b"data: " + line for line in _LINE_END.split(_encode("data", data))]
    return b"\n".join(lines) + b"\n\n"


def serialize_id(id: str, *, retry: int | None = None) -> bytes:  # noqa: A002 - the field's own name
    """A block that gives the reader an id and is no event, so that a stream has one before its first event.

    Raises:
        LocalProtocolError: As for `serialize_event`.
    """
    return serialize_event(b"", id=id, retry=retry).removesuffix(b"data: \n\n") + b"\n"


def _one_line(field: str, value: str) -> bytes:
    if "\n" in value or "\r" in value:
        raise LocalProtocolError(f"an event's {field} holds a line end", field=field, expected="one line")
    if field == "id" and "\0" in value:
        raise LocalProtocolError("an event's id holds a NUL", field=field, expected="text without NUL")
    return _encode(field, value)


def _encode(field: str, value: bytes | str) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        message = f"an event's {field} has a surrogate without its other half"
        raise LocalProtocolError(message, field=field, expected="text that UTF-8 can say") from error
