"""Texts to values and back: what is refused, what is forgiven, and that nothing torn is ever written."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest

from accord.errors import LocalProtocolError
from accord.protocol import v1, v2
from accord.protocol.codec import (
    Codec,
    Misfit,
    decoder_for,
    encode,
    encode_into,
    encode_small,
    parse_json,
)
from accord.protocol.model import Unknown
from tests.tables import rows

CHUNK = b'{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}'
PREFIX = b"before"


def nested(depth: int, inside: Any = None) -> Any:
    value = inside
    for _ in range(depth):
        value = [value]
    return value


def test_a_clean_text_is_read_by_the_fast_decode_and_counts_nothing() -> None:
    codec = Codec()
    value = codec.decode(v1.SessionNotification, CHUNK)
    assert value == v1.SessionNotification(
        session_id="s", update=v1.AgentMessageChunk(content=v1.TextContent(text="hi"))
    )
    assert encode(value) == CHUNK
    assert (codec.dropped, codec.unknown) == (0, 0)


@rows("text", [CHUNK, memoryview(CHUNK), msgspec.Raw(CHUNK)])
@rows("strict", [False, True])
def test_a_text_may_be_bytes_or_a_view_or_raw(text: Any, strict: bool) -> None:  # noqa: FBT001 - a case, not an option
    assert Codec(strict=strict).decode(v1.SessionNotification, text).session_id == "s"


def test_a_decoder_is_built_once() -> None:
    assert decoder_for(v2.Cost) is decoder_for(v2.Cost)


def test_counts_grow_over_the_life_of_a_connection() -> None:
    codec = Codec()
    for expected in (1, 2):
        codec.decode(v1.LogoutRequest, b'{"_meta":5}')
        codec.decode(v1.ContentBlock, b'{"type":"hologram"}')
        assert (codec.dropped, codec.unknown) == (expected, expected)


def test_what_was_counted_before_a_misfit_stays_counted() -> None:
    codec = Codec()
    with pytest.raises(Misfit):
        codec.decode(v1.NewSessionRequest, b'{"mcpServers":[{"type":"pigeon"}],"_meta":1}')
    assert codec.unknown + codec.dropped == 0  # `cwd` is read first and missing
    with pytest.raises(Misfit):
        codec.decode(v1.NewSessionRequest, b'{"cwd":"/","mcpServers":[{"type":"pigeon"},5]}')
    assert codec.unknown == 1


@rows(
    "text",
    [
        b"",
        b"{",
        b"{}{}",
        b'{"_meta":{"a":NaN}}',
        b'{"_meta":{"a":Infinity}}',
        b'{"_meta":{"a":-Infinity}}',
        b'{"_meta":{"a":1e400}}',
        b'{"_meta":{"a":-1e400}}',
        b'{"_meta":{"a":"\xff"}}',
        b'{"_meta":{"a":"\xc3"}}',
        '{"_meta":{}}'.encode("utf-16"),
        '{"_meta":{}}'.encode("utf-16-le"),
        b'{"_meta":{"a":' + b"9" * 5000 + b"}}",
        b'{"_meta":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"_meta":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    ],
)
@rows("strict", [False, True])
def test_what_is_not_json_is_a_misfit_in_our_words(text: bytes, strict: bool) -> None:  # noqa: FBT001
    with pytest.raises(Misfit) as caught:
        Codec(strict=strict).decode(v1.LogoutRequest, text)
    assert (caught.value.field, caught.value.expected) == ("", "JSON that can be read")


def test_a_value_too_deep_to_walk_is_a_misfit(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(*_: object) -> Any:
        raise RecursionError

    monkeypatch.setattr("accord.protocol.salvage.Salvage.read", too_deep)
    with pytest.raises(Misfit) as caught:
        Codec().decode(v1.LogoutRequest, b'{"_meta":5}')
    assert caught.value.expected == "a value that is nested less deeply"


def test_a_byte_order_mark_before_a_value_is_passed_over() -> None:
    assert Codec().decode(v1.LogoutRequest, b"\xef\xbb\xbf{}") == v1.LogoutRequest()


@rows("depth", [1, 10, 100, 400])
def test_what_is_nested_within_reason_survives(depth: int) -> None:
    value = v1.LogoutRequest(meta={"a": nested(depth, "null")})
    assert Codec().decode(v1.LogoutRequest, encode(value)) == value


def test_every_depth_is_written_whole_or_refused() -> None:
    for depth in range(300, 1500, 7):
        text = bytearray(PREFIX)
        try:
            encode_into(nested(depth), text)
        except LocalProtocolError:
            expected = PREFIX
        else:
            expected = PREFIX + b"[" * depth + b"null" + b"]" * depth
        assert text == expected


@rows("number", [2**63 - 1, -(2**63), 2**64 - 1, 2**64, 2**70, -(2**70)])
def test_big_integers_keep_every_digit(number: int) -> None:
    text = b'{"_meta":{"n":%d}}' % number
    value = Codec().decode(v1.LogoutRequest, text)
    assert value.meta == {"n": number}
    assert encode(value) == text
    cut = v1.LogoutRequest(meta={"n": number, "cut": "\ud83d"})
    assert Codec().decode(v1.LogoutRequest, encode(cut)) == cut


def test_a_count_beyond_64_bits_is_read() -> None:
    usage = Codec().decode(v1.UsageUpdate, b'{"used":%d,"size":1}' % 2**70)
    assert usage.used == 2**70


@rows("text", ["\ud83d", "a\udc00b"])
def test_half_an_emoji_survives_escaped(text: str) -> None:
    value = v1.TextContent(text=text, meta={text: None})
    written = encode(value)
    assert written.isascii()
    assert Codec().decode(v1.TextContent, written) == value


def test_half_an_emoji_in_broken_utf_8_is_read_as_well() -> None:
    value = Codec().decode(v1.TextContent, b'{"type":"text","text":"\xed\xa0\xbd"}')
    assert value.text == "\ud83d"


@rows("number", [math.nan, math.inf, -math.inf])
@rows(
    "around",
    [
        lambda number: number,
        lambda number: {"a": [1.5, {"b": number}]},
        lambda number: {"a": (None, number)},
        lambda number: v1.Cost(amount=number, currency="EUR"),
        lambda number: v1.LogoutRequest(meta={"a": number}),
        lambda number: Unknown("a", {"type": "a", "n": number}),
        lambda number: {"cut": "\ud83d", "n": number},
    ],
)
def test_what_is_no_number_is_refused_and_nothing_is_written(number: float, around: Any) -> None:
    text = bytearray(PREFIX)
    with pytest.raises(LocalProtocolError):
        encode_into(around(number), text)
    assert text == PREFIX


def test_a_null_that_is_meant_is_written() -> None:
    assert encode({"a": None, "b": [1.5, "null"]}) == b'{"a":null,"b":[1.5,"null"]}'


@pytest.mark.parametrize("cut", ["whole", "\ud83d"])
def test_what_json_has_no_words_for_is_refused_and_nothing_is_written(cut: str) -> None:
    cycle: list[Any] = [cut]
    cycle.append(cycle)
    for value in (object(), cycle, nested(100_000), v1.LogoutRequest(meta={"a": object()})):
        text = bytearray(PREFIX)
        with pytest.raises(LocalProtocolError):
            encode_into([cut, value], text)
        assert text == PREFIX


def test_a_refusal_names_no_value() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        encode({"password": object()})
    assert "password" not in str(caught.value)


def test_texts_are_appended_one_after_the_other() -> None:
    text = bytearray(PREFIX)
    encode_into(1, text)
    encode_into("\ud83d", text)
    encode_into(None, text)
    assert text == PREFIX + b'1"\\ud83d"null'


def test_an_unknown_variant_is_written_as_it_came() -> None:
    text = b'{"type":"hologram","_meta":null,"depth":[1,2.50,"\\u00e9"]}'
    codec = Codec()
    value = codec.decode(v1.ContentBlock, text)
    assert value == Unknown("hologram", {"type": "hologram", "_meta": None, "depth": [1, 2.5, "é"]})
    assert json.loads(encode(value)) == json.loads(text)
    assert codec.unknown == 1


def test_a_value_read_by_json_is_converted_alike() -> None:
    codec = Codec()
    assert codec.convert(v1.SessionNotification, json.loads(CHUNK)) == codec.decode(v1.SessionNotification, CHUNK)


def test_plain_json_is_parsed_as_the_slow_path_does() -> None:
    assert parse_json(b'{"a":[1,2.5,"\\ud83d",null]}') == {"a": [1, 2.5, "\ud83d", None]}
    assert parse_json(memoryview(b"[]")) == []


# --- many at once


def test_a_small_value_is_encoded_between_two_texts() -> None:
    assert encode_small(b"<", [v1.TextContent("a\nb")], b">") == [b"<" + encode(v1.TextContent("a\nb")) + b">"]


@rows("bad", ["null", math.nan, object(), "\ud83d", "x" * 100_000])
def test_a_value_that_needs_a_closer_look_is_not_encoded_as_a_small_one(bad: Any) -> None:
    assert encode_small(b"<", [bad], b">") is None
    assert encode_small(b"<", ["fine", bad], b">") is None


def test_several_small_values_become_a_text_each() -> None:
    chunks = [v1.TextContent("a\nb"), v1.TextContent("c")]
    assert encode_small(b"<", chunks, b">") == [b"<" + encode(chunk) + b">" for chunk in chunks]
