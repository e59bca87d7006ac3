"""The codec of stores: an event as one line of JSON, decoded to exactly the same event, records, and list cursors.

Decoders are made from the annotations of `session.event`, so a new kind of event needs no line here. A type without an
`Unknown` is converted by msgspec at once. msgspec accepts no class of ours beside the structs of a union, so the few
kinds that may hold an `Unknown` are read field by field.
"""

from __future__ import annotations

import base64
import functools
import json
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, Union, cast

import msgspec

from accord.errors import StoreError
from accord.jsonrpc.plain import plain_value
from accord.protocol.codec import STRUCT_LOCK
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.content import Block, Text
from accord.session.event import Event, MessageChanged, MessageChunk, Speaker
from accord.stores.interface import SessionPage, SessionRecord

__all__ = [
    "decode_cursor",
    "decode_event",
    "decode_events",
    "decode_page",
    "decode_record",
    "encode_cursor",
    "encode_event",
    "encode_events",
    "has_prompt",
    "is_prompt",
]

Read: TypeAlias = Callable[[Any], Any]

# The tag of an `Unknown`, whose own payload may have any tag or none.
_UNKNOWN_TAG = "unknown"
_TAG_FIELD = "type"


def encode_event(event: Event) -> bytes:
    """The event as JSON without a line feed.

    Raises:
        StoreError: `unwritable`: it holds a value that JSON cannot express.
    """
    try:
        text = _ENCODER.encode(event)
        # msgspec writes NaN as null without a word, and a raw part of a text as it is: look closer where one may be.
        if b"null" in text or b"\n" in text:
            text = _encode_slowly(event)
    except UnicodeEncodeError:
        # A lone surrogate, half of an emoji that a peer cut between two chunks: escaped, it can be kept.
        text = _encode_slowly(event)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _unwritable(event) from error
    return text


def encode_events(events: Sequence[Event]) -> bytes:
    """Events as JSON, a line for each, without a line feed at the end.

    In one call: with `encode_event` for each of them a stream of small events takes a tenth more CPU.

    Raises:
        StoreError: As `encode_event`.
    """
    try:
        lines = _ENCODER.encode_lines(events)
    except (TypeError, ValueError, OverflowError, RecursionError):
        lines = b""
    # What `encode_event` looks for: a null that may be a NaN, a line feed inside an event. `replace` counts line feeds
    # in a tenth of the time of `count`.
    if not lines or b"null" in lines or len(lines) - len(lines.replace(b"\n", b"")) != len(events):
        return b"\n".join(map(encode_event, events))
    return lines[:-1]


def decode_events(lines: Iterable[bytes], path: str, session_id: str) -> list[Event]:
    """The events of the lines of a session in a file, which an error names.

    Raises:
        StoreError: As of `decode_event`.
    """
    try:
        return [decode_event(line) for line in lines]
    except StoreError as error:
        raise StoreError(f"{path}: {error}", reason=error.reason, path=path, session_id=session_id) from error


def decode_event(text: bytes) -> Event:
    """The event of an encoded line.

    Raises:
        StoreError: `unreadable`: it is no event of this version, or was damaged.
    """
    if text.startswith(_MESSAGES):
        try:
            return _message(_PLAIN.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass  # it holds more than plain text: read field by field, as all the others
    try:
        value = _parse(text)
        read = _readers()[value["event"]]
        event: Event = read(value)
    except (ValueError, KeyError, TypeError, RecursionError, msgspec.ValidationError) as error:
        sentence = "a kept event cannot be read: a later version of Accord has written it, or it is damaged"
        raise StoreError(sentence, reason="unreadable") from error
    return event


def is_prompt(text: bytes) -> bool:
    """Whether an encoded event is a message of the user: a session that has one was prompted."""
    return text.startswith(_PROMPTS)


def has_prompt(lines: bytes) -> bool:
    """Whether one of the encoded events is a message of the user; a line for each."""
    return lines.startswith(_PROMPTS) or any(prompt in lines for prompt in _LATER_PROMPTS)


# Both ways of encoding write the tag first and then the fields in their order.
_PROMPTS = (b'{"event":"message_chunk","speaker":"user"', b'{"event":"message","speaker":"user"')
_LATER_PROMPTS = tuple(b"\n" + prompt for prompt in _PROMPTS)


class _PlainChunk(msgspec.Struct, tag_field="event", tag="message_chunk"):
    speaker: Speaker
    block: Text
    id: str | None = None
    meta: dict[str, Any] | None = None


class _PlainMessage(msgspec.Struct, tag_field="event", tag="message"):
    speaker: Speaker
    id: str
    content: list[Text] | msgspec.UnsetType | None = UNSET
    meta: dict[str, Any] | msgspec.UnsetType | None = UNSET


# Nearly every event of a long log is a message of plain text: decoded in one step it takes a seventh of the time.
_MESSAGES = (b'{"event":"message_chunk"', b'{"event":"message"')
_PLAIN = msgspec.json.Decoder(_PlainChunk | _PlainMessage)


def _message(plain: _PlainChunk | _PlainMessage) -> Event:
    if type(plain) is _PlainChunk:
        return MessageChunk(plain.speaker, plain.block, plain.id, plain.meta)
    assert isinstance(plain, _PlainMessage)  # noqa: S101 - there is no third
    return MessageChanged(plain.speaker, plain.id, cast("Maybe[list[Block]]", plain.content), plain.meta)


def _write_unknown(value: Any) -> Any:
    if isinstance(value, Unknown):
        return {_TAG_FIELD: _UNKNOWN_TAG, "tag": value.tag, "payload": value.payload}
    return plain_value(value)


_ENCODER = msgspec.json.Encoder(enc_hook=_write_unknown)


def _encode_slowly(event: Event) -> bytes:
    try:
        return json.dumps(msgspec.to_builtins(event, enc_hook=_write_unknown), separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise _unwritable(event) from error


def _unwritable(event: Event) -> StoreError:
    return StoreError(f"a {type(event).__name__} holds a value that cannot be written as JSON", reason="unwritable")


def _parse(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(text)  # which accepts NaN and lone surrogates


def _readers() -> dict[str, Read]:
    """By the tag of the event; made at the first use, which takes a few milliseconds, by one thread."""
    with STRUCT_LOCK:
        return _make_readers()


@functools.cache
def _make_readers() -> dict[str, Read]:
    kinds: tuple[type[msgspec.Struct], ...] = typing.get_args(Event)
    return {str(kind.__struct_config__.tag): _reader(kind) for kind in kinds}


def _reader(kind: Any) -> Read:
    if not _is_open(kind):
        # Not used: see `STRUCT_LOCK`.
        msgspec.json.Decoder(kind)
        return functools.partial(msgspec.convert, type=kind)
    if isinstance(kind, type):
        return _struct_reader(kind)
    if typing.get_origin(kind) is list:
        read_item = _reader(typing.get_args(kind)[0])
        return lambda items: [read_item(item) for item in items]
    return _union_reader(typing.get_args(kind))


def _struct_reader(kind: type[msgspec.Struct]) -> Read:
    hints = typing.get_type_hints(kind)
    readers = [(field.encode_name, field.name, _reader(hints[field.name])) for field in msgspec.structs.fields(kind)]

    def read(value: Any) -> Any:
        return kind(**{name: read_field(value[key]) for key, name, read_field in readers if key in value})

    return read


def _union_reader(members: tuple[Any, ...]) -> Read:
    values = [member for member in members if member not in (msgspec.UnsetType, types.NoneType)]
    if Unknown in values:
        read_value = _variant_reader([member for member in values if member is not Unknown])
    else:
        # The vocabulary has no other union with several members that may hold an `Unknown`.
        (kind,) = values
        read_value = _reader(kind)
    if types.NoneType not in members:
        return read_value
    return lambda value: None if value is None else read_value(value)


def _variant_reader(kinds: list[type[msgspec.Struct]]) -> Read:
    readers = {kind.__struct_config__.tag: _reader(kind) for kind in kinds}
    readers[_UNKNOWN_TAG] = lambda value: Unknown(value["tag"], value["payload"])
    return lambda value: readers[value[_TAG_FIELD]](value)


def _is_open(kind: Any) -> bool:
    """Whether a type may contain an `Unknown`."""
    if kind is Unknown:
        return True
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return any(map(_is_open, typing.get_type_hints(kind).values()))
    if typing.get_origin(kind) in (Union, types.UnionType, list):
        return any(map(_is_open, typing.get_args(kind)))
    return False


def decode_record(row: Sequence[Any], text: Callable[[Any], str]) -> SessionRecord:
    """The record of a row: the fields in the order of the tables; `text` decodes a text of the store.

    Raises:
        StoreError: `unreadable`: another program has written it, or it was damaged.
    """
    session_id, cwd, roots, title, created_at, updated_at, events, principal = row
    try:
        texts = {"id": text(session_id), "cwd": text(cwd), "title": title and text(title), "principal": text(principal)}
        numbers = {"created_at": created_at, "updated_at": updated_at, "events": events}
        return msgspec.convert({**texts, **numbers, "roots": json.loads(roots)}, SessionRecord)
    except (ValueError, TypeError, RecursionError) as error:
        sentence = "the record of a session cannot be read: it is damaged"
        raise StoreError(sentence, reason="unreadable", session_id=str(session_id)) from error


def decode_page(rows: Iterable[Sequence[Any]], limit: int, text: Callable[[Any], str]) -> SessionPage:
    """A page of as many rows, of which those that cannot be read are left out; no row behind the next is fetched."""
    page, place = SessionPage([], left_out=[]), None
    for row in rows:
        try:
            record = decode_record(row, text)
        except StoreError as error:
            page.left_out.append(str(error.session_id))
            continue
        if len(page.records) == limit:
            return msgspec.structs.replace(page, next_cursor=place)
        page.records.append(record)
        # The time as it is stored: the list goes on behind it also where it is shown as another.
        place = encode_cursor(float(row[5]), record.id)
    return page


def encode_cursor(updated_at: float, session_id: str) -> str:
    """The cursor for the sessions behind that one."""
    return base64.urlsafe_b64encode(json.dumps([updated_at, session_id]).encode("ascii")).decode("ascii")


def decode_cursor(cursor: str) -> tuple[float, str]:
    """The last session of the page before: when it was updated, and its id.

    Raises:
        StoreError: `bad_cursor`: it was not made by `encode_cursor`.
    """
    try:
        updated_at, session_id = json.loads(base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True))
        # Accepted only if `encode_cursor` gives exactly the same text: no other types, no further blanks.
        genuine = encode_cursor(float(updated_at), session_id) == cursor and isinstance(session_id, str)
    except (ValueError, TypeError, RecursionError):
        genuine = False
    if not genuine:
        raise StoreError("the cursor is not one that this list has given", reason="bad_cursor")
    return float(updated_at), session_id
