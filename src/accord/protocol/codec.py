"""The codec of typed values and JSON texts: fast for valid messages, tolerant for others.

Decoding tries msgspec first. Only when that fails does the slow path (`json` and `salvage`) decide whether the value is
tolerable. Encoding is atomic: it gives a whole text or a `LocalProtocolError`, and values that JSON cannot represent
(NaN, a cyclic value) are refused rather than sent as something else.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

from accord.errors import LocalProtocolError
from accord.jsonrpc.plain import plain, plain_value
from accord.protocol.model import Unknown, UntaggedUnion
from accord.protocol.salvage import Misfit, Salvage

__all__ = [
    "SMALL_BYTES",
    "STRUCT_LOCK",
    "UNWRITABLE",
    "Codec",
    "Misfit",
    "decode_json",
    "decoder_for",
    "encode",
    "encode_between",
    "encode_into",
    "encode_json",
    "encode_small",
    "encode_unchecked",
]


def _write_unknown(value: Any) -> Any:
    if isinstance(value, Unknown):
        return value.payload
    return plain_value(value)


def _read_untagged(kind: UntaggedUnion, value: Any) -> Any:
    # Annotations contain no other classes.
    chosen = kind.choose(value)
    if chosen is None or chosen is Unknown:
        message = "not a shape that the fast decode knows"
        raise ValueError(message)
    decoder_for(chosen)  # not used: see `STRUCT_LOCK`
    return msgspec.convert(value, chosen, dec_hook=_read_untagged)


_ENCODER = msgspec.json.Encoder(enc_hook=_write_unknown)
_append = _ENCODER.encode_into
encode_unchecked = _ENCODER.encode
"""The JSON text of a value, in one call, in which NaN is null; raises one of `UNWRITABLE`."""
UNWRITABLE = (TypeError, ValueError, OverflowError, RecursionError)
SMALL_BYTES = 64 * 1024
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}

STRUCT_LOCK = threading.RLock()
"""Held where a struct may be used for the first time.

msgspec (0.22) describes a struct when it is first used, and where a second thread uses it meanwhile, the process ends
with a segmentation fault. To make a decoder describes every struct that it may meet.
"""


def decoder_for(kind: Any) -> msgspec.json.Decoder[Any]:
    """The fast decoder of a type; built at its first use, because building one costs more than using it."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        with STRUCT_LOCK:
            decoder = _DECODERS[kind] = msgspec.json.Decoder(kind, dec_hook=_read_untagged)
    return decoder


def encode(value: Any) -> bytes:
    """The JSON text of a value.

    Raises:
        LocalProtocolError: JSON cannot represent it.
    """
    text = bytearray()
    encode_into(value, text)
    return bytes(text)


def encode_json(value: Any) -> bytes:
    """The JSON text of a value that never goes over the wire, such as an author's state; lone surrogates are escaped.

    Raises:
        TypeError, ValueError, OverflowError, RecursionError: It is no JSON value.
    """
    try:
        return msgspec.json.encode(value, enc_hook=plain_value)
    except UnicodeEncodeError:
        return json.dumps(plain(value), separators=(",", ":")).encode("ascii")


def decode_json(text: bytes) -> Any:
    """The value of a text that `encode_json` wrote.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(text)


def encode_into(value: Any, text: bytearray) -> None:
    """Append the JSON text of a value; on failure `text` is unchanged.

    Raises:
        LocalProtocolError: JSON cannot represent it.
    """
    start = len(text)
    try:
        _append(value, text, -1)
        # msgspec silently writes NaN and the infinities as null. Searching for `null` in a large text costs more than
        # checking the few values that it mostly consists of.
        suspect = len(text) - start > SMALL_BYTES or text.rfind(b"null", start) >= 0
        holds_no_number = suspect and _holds_no_number(value)
    except UnicodeEncodeError:
        # A lone surrogate, as JavaScript peers make when they cut an emoji between two chunks: escaped, it may go.
        del text[start:]
        text += _encode_escaped(value)
    except UNWRITABLE as error:
        del text[start:]
        _refuse(error)
    else:
        if holds_no_number:
            del text[start:]
            raise LocalProtocolError("NaN and infinity cannot be written as JSON", expected="a finite number")


def encode_between(head: bytes, value: Any, tail: bytes) -> bytearray:
    """The JSON text of a value between two others, as a bytearray: a copy of a large text costs more than encoding it.

    Raises:
        LocalProtocolError: JSON cannot represent it.
    """
    text = bytearray(head)
    encode_into(value, text)
    text += tail
    return text


def encode_small(head: bytes, values: Sequence[Any], tail: bytes) -> list[bytes] | None:
    """`encode_between` for several small values; None if one of them needs its closer check."""
    try:
        texts = [encode_unchecked(value) for value in values]
    except UNWRITABLE:
        return None
    # One search in all of them takes half the time of a search in each; `rpartition` is the fastest search.
    together = b"".join(texts)
    if len(together) > SMALL_BYTES or together.rpartition(b"null")[1]:
        return None
    return [head + text + tail for text in texts]


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=_write_unknown)


def _encode_escaped(value: Any) -> bytes:
    try:
        return json.dumps(_plain(value), separators=(",", ":"), allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        _refuse(error)


def _refuse(error: Exception) -> NoReturn:
    raise LocalProtocolError(f"the value cannot be written as JSON: {type(error).__name__}") from error


def _holds_no_number(value: Any) -> bool:
    # Without recursion: a value that the encoder could still write may be too deep for Python's own stack.
    waiting = [_plain(value)]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += inner.values()
        elif isinstance(inner, list | tuple):
            waiting += inner
        elif isinstance(inner, float) and not math.isfinite(inner):
            return True
    return False


def _no_constant(_: str) -> NoReturn:
    message = "NaN and Infinity are not JSON"
    raise ValueError(message)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        message = "a number beyond all doubles"
        raise ValueError(message)
    return number


def parse_json(text: bytes | memoryview) -> Any:
    """Read JSON as the slow path does: lone surrogates pass; NaN and numbers too large for a double do not.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply.
    """
    # Not left to `json`, which would also read UTF-16.
    read = bytes(text).decode("utf-8-sig", "surrogatepass")
    return json.loads(read, parse_constant=_no_constant, parse_float=_finite)


class Codec:
    """Decodes for one connection and keeps its counts.

    `dropped` counts values that leniency dropped, `unknown` the variants and values that were kept unread.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.dropped = 0
        self.unknown = 0

    def decode(self, kind: Any, text: bytes | memoryview | msgspec.Raw) -> Any:
        """The typed value of a JSON text.

        Raises:
            Misfit: The value does not fit, and no mark of the schema excuses it.
        """
        if not self.strict:
            try:
                return decoder_for(kind).decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass
        return self._salvage(kind, bytes(memoryview(text)))

    def convert(self, kind: Any, value: Any) -> Any:
        """The typed value of a value that `json` has read already.

        Raises:
            Misfit: As in `decode`.
        """
        salvage = Salvage(strict=self.strict)
        try:
            return salvage.read(kind, value)
        finally:
            self.dropped += salvage.dropped
            self.unknown += salvage.unknown

    def _salvage(self, kind: Any, text: bytes) -> Any:
        try:
            value = parse_json(text)
        except (ValueError, RecursionError):
            raise Misfit("", "JSON that can be read") from None
        try:
            return self.convert(kind, value)
        except RecursionError:
            raise Misfit("", "a value that is nested less deeply") from None
