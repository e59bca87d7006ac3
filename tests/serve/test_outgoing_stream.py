"""The streams of messages to a client, and the events that they become: without a loop."""

from accord.serve.event_link import events_of
from accord.serve.outgoing_stream import READ_BYTES, OutgoingStream
from tests.tables import rows


def test_one_write_has_no_more_than_it_should() -> None:
    stream = OutgoingStream()
    texts = [bytes([number]) * (READ_BYTES // 2) for number in range(5)]
    stream.extend(texts, sum(map(len, texts)))
    assert stream.take() == (1, texts[:2])
    assert stream.take() == (3, texts[2:4])
    assert (stream.waiting_bytes, stream.kept_bytes) == (READ_BYTES // 2, 2 * READ_BYTES)
    assert stream.take() == (5, texts[4:])
    assert stream.take() == (6, [])
    assert stream.rewind(3)
    assert stream.take() == (4, texts[3:])


@rows("end", [b"\n", b"\r", b"\r\n"])
def test_a_text_with_line_ends_is_one_line_of_its_event(end: bytes) -> None:
    spaces = b" " * len(end)
    assert events_of(7, [b"{}", b'{"a":' + end + b"1}"]) == (
        b'id: 7\ndata: {}\n\nid: 8\ndata: {"a":' + spaces + b"1}\n\n"
    )
