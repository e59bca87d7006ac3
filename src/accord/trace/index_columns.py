"""The columns of a trace's index, and the loop that fills them from lines.

One row per line of the file: its place, its time, its sender, its kind, method and session, and the row of its request
or answer. A row takes 50 bytes. The loop decodes the few fields that it needs and nothing else (msgspec skips
the rest without building it), which is what makes 50 MB/s possible; lines that this decode refuses take a slow path.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from accord.jsonrpc.message import named_id

__all__ = ["COLUMNS", "FAULT", "NO_PARTNER", "IndexColumns", "IndexState", "RecordKind"]


class RecordKind(IntEnum):
    """The kind of a record in the index: of a message its form, of everything else its type."""

    OTHER = 0
    """A record of an unknown type."""
    REQUEST = 1
    """A request."""
    NOTIFICATION = 2
    """A notification."""
    RESULT = 3
    """An answer with a result."""
    ERROR = 4
    """An answer with an error."""
    BROKEN = 5
    """A text that is no message."""
    BATCH = 6
    """A text with several messages."""
    STDERR = 7
    """A line of an agent's stderr."""
    START = 8
    """The start of a process."""
    END = 9
    """The end of a process or a connection."""
    NOTE = 10
    """A remark of the recorder."""
    HEADER = 11
    """The first line of a file or of its next part."""


FAULT: Final = 1
REDACTED: Final = 2
NO_PARTNER: Final = -1
MAX_OPEN = 100_000
"""Open requests beyond that are forgotten, the oldest first."""
MAX_WORDS = 200_000
"""Different methods and sessions beyond that are all the word `…`."""
MAX_WORD_CHARACTERS = 200

MAX_SECONDS = 1e12
"""A time beyond that is no time, and counts as 0: it cannot be converted."""

COLUMNS: dict[str, str] = {
    "offset": "Q",
    "length": "I",
    "size": "I",
    "time": "d",
    "kind": "B",
    "flags": "B",
    "connection": "I",
    "direction": "I",
    "method": "I",
    "session": "I",
    "update": "I",
    "partner": "i",
}
"""The columns with their type codes (module `array`)."""

_KIND_OF_TYPE = {
    "stderr": RecordKind.STDERR,
    "start": RecordKind.START,
    "end": RecordKind.END,
    "note": RecordKind.NOTE,
    "header": RecordKind.HEADER,
}


class _Line(msgspec.Struct, gc=False, rename={"from_": "from"}):
    type: str = ""
    t: float = 0.0
    conn: int = 0
    from_: str | None = ""
    to: str | None = ""
    raw: str = ""
    enc: str | None = None
    fault: str | None = None
    redacted: bool | None = None
    size: int = 0


class _Update(msgspec.Struct, gc=False):
    sessionUpdate: str = ""  # noqa: N815 - the name on the wire


class _Params(msgspec.Struct, gc=False):
    sessionId: str = ""  # noqa: N815
    update: _Update | None = None


class _Outcome(msgspec.Struct, gc=False):
    sessionId: str = ""  # noqa: N815


class _Message(msgspec.Struct, gc=False):
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: _Params | UnsetType | None = UNSET
    result: _Outcome | UnsetType | None = UNSET
    error: msgspec.Raw | UnsetType = UNSET


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_NO_MESSAGE = _Message()
_UINT32 = 2**32
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class IndexState:
    """The words of an index and the requests that are open at its end: what the next line needs to be indexed."""

    def __init__(self) -> None:
        self.words: list[str] = [""]
        self.ends: list[tuple[str, str]] = []
        self.open: dict[tuple[int, int, Any], int] = {}
        """By connection, direction of the request, and id: the row of the request."""
        self._word_ids: dict[str, int] = {"": 0}
        self._end_ids: dict[tuple[str, str], int] = {}
        self.reverse: list[int] = []
        """For each direction the opposite one."""

    def word(self, text: str) -> int:
        """The number of a word; of too many words, that of `…`."""
        found = self._word_ids.get(text)
        if found is not None:
            return found
        if len(text) > MAX_WORD_CHARACTERS:
            return self.word(text[: MAX_WORD_CHARACTERS - 1] + "…")
        if len(self.words) >= MAX_WORDS and text != "…":
            return self.word("…")
        self._word_ids[text] = number = len(self.words)
        self.words.append(text)
        return number

    def direction(self, source: str, target: str) -> int:
        """The number of a pair of ends."""
        found = self._end_ids.get((source, target))
        if found is not None:
            return found
        pair = (source[:MAX_WORD_CHARACTERS], target[:MAX_WORD_CHARACTERS])
        if len(self.ends) >= MAX_WORDS:
            return 0
        number = self._end_ids[source, target] = len(self.ends)
        self.ends.append(pair)
        self.reverse.append(number)
        if source != target:
            other = self.direction(target, source)
            self.reverse[number], self.reverse[other] = other, number
        return number

    def word_id(self, text: str) -> int | None:
        """The number of a word that occurs; None where it does not."""
        return self._word_ids.get(text)

    @classmethod
    def of(cls, words: Sequence[str], ends: Sequence[tuple[str, str]], open_: Sequence[Sequence[Any]]) -> IndexState:
        """A state that was kept."""
        state = cls()
        state.words = list(words)
        state._word_ids = {word: number for number, word in enumerate(state.words)}
        state.ends = [(source, target) for source, target in ends]
        state._end_ids = {pair: number for number, pair in enumerate(state.ends)}
        state.reverse = [
            state._end_ids.get((target, source), number) for number, (source, target) in enumerate(state.ends)
        ]
        state.open = {(connection, direction, id_): row for connection, direction, id_, row in open_}
        return state


class IndexColumns:
    """The columns of an index in memory; `add` appends the rows of lines."""

    def __init__(self, state: IndexState | None = None) -> None:
        self.state = IndexState() if state is None else state
        self.offset = array("Q")
        self.length = array("I")
        self.size = array("I")
        """The size of the text on the wire, in bytes."""
        self.time = array("d")
        self.kind = array("B")
        self.flags = array("B")
        self.connection = array("I")
        self.direction = array("I")
        self.method = array("I")
        self.session = array("I")
        self.update = array("I")
        self.partner = array("i")
        self.changed: set[int] = set()
        """Earlier rows that got a partner or a session since the index was kept."""

    def __len__(self) -> int:
        return len(self.offset)

    def columns(self) -> dict[str, array[Any]]:
        return {name: getattr(self, name) for name in COLUMNS}

    def add(self, lines: Sequence[bytes], offset: int) -> int:  # noqa: C901, PLR0915 - one loop, a million times
        """Append a row for each line; returns the offset behind the last one. Each line counts one byte for its end."""
        # Local names: one look-up less per use is a sixth of the time of this loop.
        state, decode_line, decode_message = self.state, _decode_line, _decode_message
        word_ids, end_ids, open_requests = state._word_ids, state._end_ids, state.open  # noqa: SLF001 - the same module
        put_offset, put_length, put_time = self.offset.append, self.length.append, self.time.append
        put_kind, put_flags, put_connection = self.kind.append, self.flags.append, self.connection.append
        put_direction, put_method, put_session = self.direction.append, self.method.append, self.session.append
        put_update, put_partner, put_size = self.update.append, self.partner.append, self.size.append
        request, notification = int(RecordKind.REQUEST), int(RecordKind.NOTIFICATION)
        row = len(self.offset)
        for text in lines:
            size = len(text)
            try:
                line = decode_line(text)
                is_plain = line.type == "text" and not line.enc and not line.fault and 0 <= line.conn < _UINT32
                message = decode_message(line.raw) if is_plain else _NO_MESSAGE
            except _REFUSED:
                message = _NO_MESSAGE
            method = message.method
            if method is UNSET or message.id is None:
                self._add_slowly(text, offset, row)
                offset += size + 1
                row += 1
                continue
            put_offset(offset)
            put_length(size)
            raw = line.raw
            put_size(len(raw) if raw.isascii() else len(raw.encode()))
            t = line.t
            put_time(t if -MAX_SECONDS < t < MAX_SECONDS else 0.0)
            put_flags(REDACTED if line.redacted else 0)
            connection = line.conn
            put_connection(connection)
            ends = (line.from_ or "", line.to or "")
            direction = end_ids.get(ends)
            if direction is None:
                direction = state.direction(*ends)
            put_direction(direction)
            number = word_ids.get(method)
            put_method(state.word(method) if number is None else number)
            session = update = 0
            params = message.params
            if params:
                name = params.sessionId
                if name:
                    found = word_ids.get(name)
                    session = state.word(name) if found is None else found
                if params.update is not None:
                    name = params.update.sessionUpdate
                    found = word_ids.get(name)
                    update = state.word(name) if found is None else found
            put_session(session)
            put_update(update)
            put_partner(NO_PARTNER)
            if message.id is UNSET:
                put_kind(notification)
            else:
                put_kind(request)
                open_requests.setdefault((connection, direction, message.id), row)
                if len(open_requests) > MAX_OPEN:
                    del open_requests[next(iter(open_requests))]
            offset += size + 1
            row += 1
        return offset

    # --- answers, records that are no messages, and everything unusual

    def _add_slowly(self, text: bytes, offset: int, row: int) -> None:
        try:
            line = _decode_line(text)
        except _REFUSED:
            line = _salvaged_line(text)
        direction = self.state.direction(line.from_ or "", line.to or "")
        connection = line.conn if 0 <= line.conn < _UINT32 else 0
        self.offset.append(offset)
        self.length.append(min(len(text), _UINT32 - 1))
        self.size.append(min(_wire_bytes(line), _UINT32 - 1))
        self.time.append(line.t if abs(line.t) < MAX_SECONDS else 0.0)
        self.flags.append((FAULT if line.fault else 0) | (REDACTED if line.redacted else 0))
        self.connection.append(connection)
        self.direction.append(direction)
        for column in (self.method, self.session, self.update):
            column.append(0)
        self.partner.append(NO_PARTNER)
        if line.type != "text":
            self.kind.append(_KIND_OF_TYPE.get(line.type, RecordKind.OTHER))
            return
        self.kind.append(RecordKind.BROKEN)
        messages, is_batch = _messages(line.raw) if not line.enc else ([], False)
        for message in messages:
            self._add_message(row, connection, direction, message)
        if is_batch:
            self.kind[row] = RecordKind.BATCH
        elif not messages:
            self.flags[row] |= FAULT

    def _add_message(self, row: int, connection: int, direction: int, message: _Message) -> None:
        state = self.state
        if message.method is not UNSET:
            self.method[row] = state.word(message.method)
            if message.params:
                self.session[row] = state.word(message.params.sessionId)
                self.update[row] = state.word(message.params.update.sessionUpdate if message.params.update else "")
            if message.id is UNSET:
                self.kind[row] = RecordKind.NOTIFICATION
            else:
                self.kind[row] = RecordKind.REQUEST
                state.open.setdefault((connection, direction, message.id), row)
                if len(state.open) > MAX_OPEN:
                    del state.open[next(iter(state.open))]
            return
        self.kind[row] = RecordKind.ERROR if message.error is not UNSET else RecordKind.RESULT
        asked = state.open.pop((connection, state.reverse[direction], message.id), None)
        if asked is not None:
            self._pair(asked, row, message)

    def _pair(self, asked: int, row: int, message: _Message) -> None:
        self.partner[asked] = row
        self.partner[row] = asked
        self.method[row] = self.method[asked]
        if not self.session[asked] and message.result:
            self.session[asked] = self.state.word(message.result.sessionId)
        self.session[row] = self.session[asked]
        self.changed.add(asked)


def _salvaged_line(text: bytes) -> _Line:
    """The line as far as it can be read; an empty one where it is no object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _Line()
    if not isinstance(value, dict):
        return _Line()
    fields: dict[str, Any] = {}
    for key, kinds in (
        ("type", str),
        ("t", (int, float)),
        ("conn", int),
        ("to", str),
        ("raw", str),
        ("fault", str),
        ("size", int),
    ):
        found = value.get(key)
        if isinstance(found, kinds) and not isinstance(found, bool):
            fields[key] = found
    fields["t"] = _seconds(fields.get("t", 0.0))
    source = value.get("from")
    return _Line(
        **fields,
        from_=source if isinstance(source, str) else "",
        enc="?" if value.get("enc") else None,
        redacted=value.get("redacted") is True,
    )


def _wire_bytes(line: _Line) -> int:
    if line.size > 0:
        return line.size
    if line.enc == "base64":
        return len(line.raw) * 3 // 4 - line.raw[-2:].count("=")
    return len(line.raw.encode("utf-8", "surrogatepass"))


def _seconds(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return 0.0


def _messages(raw: str) -> tuple[list[_Message], bool]:
    """The messages of a text, and whether it is a batch."""
    try:
        found = _decode_message(raw)
    except (*_REFUSED, UnicodeEncodeError):
        return _judged(raw)
    is_message = found.method is not UNSET or found.result is not UNSET or found.error is not UNSET
    return ([found] if is_message else []), False


def _judged(raw: str) -> tuple[list[_Message], bool]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return [], False
    if isinstance(value, list):
        return [each for item in value if (each := _judged_message(item)) is not None], bool(value)
    message = _judged_message(value)
    return ([] if message is None else [message]), False


def _judged_message(value: Any) -> _Message | None:
    """A message with fields of unexpected types; those are left out."""
    if not isinstance(value, dict):
        return None
    id_ = named_id(value.get("id", UNSET))
    message = _Message(id=id_ if id_ is UNSET or id_ is None or type(id_) in (int, str) else UNSET)
    if isinstance(value.get("method"), str):
        message.method = value["method"]
        params = value.get("params")
        if isinstance(params, dict):
            message.params = _Params(sessionId=_text(params, "sessionId"))
            if isinstance(params.get("update"), dict):
                message.params.update = _Update(sessionUpdate=_text(params["update"], "sessionUpdate"))
        return message
    if value.get("error") is not None:
        message.error = msgspec.Raw(b"")
        return message
    if "result" not in value:
        return None
    message.result = (
        _Outcome(sessionId=_text(value["result"], "sessionId")) if isinstance(value["result"], dict) else None
    )
    return message


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
