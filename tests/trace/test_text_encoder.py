"""Texts as lines of a trace: many at once give the same lines as one by one, chunks of a stream among them."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, strategies as st

from accord.trace.chunks import ChunkTemplate, is_plain_chunk
from accord.trace.format import TextRecord
from accord.trace.redaction import Redactor
from accord.trace.text_encoder import TextEncoder
from tests.tables import rows

CROSSING = TextRecord(t=1.5, connection=2, source="agent", target="client", raw="", framing="headers")

WORDS_FIRST = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"content":{"text":"%b",'
    b'"type":"text"},"sessionUpdate":"agent_message_chunk"}}}'
)
WORDS_LAST = (
    b'{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "\xc3\xa4", "update": {"messageId": "m",'
    b' "sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "%b"}}}}'
)
PLAIN = [b"a word", b" and - its_neighbour", b"", b'\\n\\"quoted\\" \\u00e4', "ä€🌍".encode(), b"basic: K z J @ \x7f"]
SECRET = [
    b"say Bearer hidden1hidden1",
    b"BASIC aGlkZGVuMTpoaWRkZW4=",
    b"sk-hidden-1",
    b"ghp_hidden1hidden1hidden1hidden1",
    b"https://user:hidden-1@example.com",
    b"AKIAHIDDEN1HIDDEN1",
    b"AIzahidden1hidden1hidden1hidden1",
    b"eyJhidden1hidden1.eyJhidden1hidden1.hidden1",
    b"xoxb-hidden1hidden1",
]
# Two of them may be one valid string together.
BROKEN = [b'"', b"\\", b'","', b'"}}}}', b"\\u12", b"\\ud83d", b"\\ude00", b"\x01", b"\xff", b"\xc3", b"\xa4", b"a\tb"]
OTHERS = [b"", b"{}", b"banner", b"\xff", b'{"token":"hidden-1"}', WORDS_FIRST[:-40], WORDS_FIRST.replace(b'%b"', b"")]

chunks = st.builds(
    lambda chunk, words: chunk.replace(b"%b", words),
    st.sampled_from([WORDS_FIRST] * 5 + [WORDS_LAST]),
    st.sampled_from(PLAIN * 4 + SECRET + BROKEN) | st.text().map(lambda words: json.dumps(words)[1:-1].encode()),
)


reads_of_texts = st.lists(st.lists(chunks | st.sampled_from(OTHERS), max_size=40), max_size=3)


@given(reads_of_texts, st.sampled_from([None, Redactor()]))
def test_many_texts_give_the_lines_that_each_gives_alone(reads: list[list[bytes]], redactor: Redactor | None) -> None:
    encoder, other = TextEncoder(redactor), TextEncoder(redactor)
    for texts in reads:
        assert encoder.lines(CROSSING, texts) == b"".join(other.line(CROSSING, text) for text in texts)


@rows("other", [*OTHERS, WORDS_LAST, *(WORDS_FIRST.replace(b"%b", words) for words in BROKEN)])
def test_a_text_between_chunks_is_recorded_as_itself(other: bytes) -> None:
    texts = [WORDS_FIRST] * 30 + [other] + [WORDS_FIRST] * 10
    encoder = TextEncoder(Redactor())
    assert encoder.lines(CROSSING, texts) == b"".join(encoder.line(CROSSING, text) for text in texts)


@given(st.lists(st.sampled_from(PLAIN + SECRET), min_size=20, max_size=60))
def test_secrets_in_a_stream_are_masked_and_everything_else_stays(words: list[bytes]) -> None:
    texts = [WORDS_LAST.replace(b"%b", each) for each in words]
    records = TextEncoder(Redactor()).lines(CROSSING, texts).splitlines()
    assert len(records) == len(texts)
    for record, text, each in zip(map(json.loads, records), texts, words, strict=True):
        assert "hidden" not in record["raw"].lower()
        assert record.get("redacted", False) == (each in SECRET)
        assert each in SECRET or record["raw"].encode() == text


@rows("words", SECRET)
def test_a_chunk_with_a_secret_is_not_plain(words: bytes) -> None:
    assert not is_plain_chunk(WORDS_LAST.replace(b"%b", words))


@rows("chunk", [WORDS_FIRST, WORDS_LAST])
def test_a_template_is_the_bytes_around_the_words(chunk: bytes) -> None:
    before, _, after = chunk.partition(b"%b")
    assert ChunkTemplate.of(chunk.replace(b"%b", b'\\"text\\":\\"x\\"')) == (before, after)


@rows(
    "text",
    [
        b"{}",
        b"banner",
        WORDS_LAST.replace(b"%b", b"sk-hidden-1").replace(b'"text": "', b'"text":3, "'),
        # A key that is there twice: the last one counts.
        WORDS_FIRST.replace(b'"text":"%b"', b'"text":"a","text":"b"'),
        # The place is in another string.
        WORDS_FIRST.replace(b"%b", b"a").replace(b'"s-1"', b'"\\"text\\":\\"a\\""').replace(b'"text":"a"', b'"text":1'),
        WORDS_FIRST.replace(b"%b", b"a").replace(b"s-1", b"sk-hidden-1"),
        WORDS_FIRST.replace(b"%b", b"a").replace(b"s-1", b"\xff"),
        WORDS_FIRST.replace(b"%b", b"a").replace(b'"params":{', b'"params":{"_meta":{"token":"hidden"},'),
    ],
)
def test_a_text_without_a_safe_place_for_words_is_no_template(text: bytes) -> None:
    assert ChunkTemplate.of(text) is None


def test_a_stream_is_encoded_by_its_template(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [WORDS_FIRST.replace(b"%b", b"%d \\n" % number) for number in range(100)]
    expected = TextEncoder(None).lines(CROSSING, texts)
    monkeypatch.setattr(TextEncoder, "line", None)
    monkeypatch.setattr("accord.trace.text_encoder.is_plain_chunk", None)
    assert TextEncoder(Redactor()).lines(CROSSING, texts) == expected
    assert [msgspec.json.decode(line)["raw"].encode() for line in expected.splitlines()] == texts


@rows(
    ("text", "fault"),
    [
        (b'{"a":' * 500 + b"1" + b"}" * 500, None),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "too-deep"),
        (b"[" * 100_000 + b"]" * 100_000, "too-deep"),
        (b"[1,", "not-json"),
    ],
)
@rows("redactor", [None, Redactor()])
def test_a_text_that_is_nested_too_deeply_is_not_called_broken_json(
    text: bytes, fault: str | None, redactor: Redactor | None
) -> None:
    record = json.loads(TextEncoder(redactor).line(CROSSING, text))
    assert (record.get("fault"), record["raw"]) == (fault, text.decode())
