"""The frames of a WebSocket as our server reads and writes them, beside those of the library `websockets`."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, strategies as st
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from accord.serve.socket_frames import FrameFault, FrameReader, close_frame, closing, frames_of
from tests.tables import rows

MAX_BYTES = 4096
TEXT, BINARY, CONTINUATION, CLOSE, PING = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT, Opcode.CLOSE, Opcode.PING)

payloads = st.binary(max_size=300) | st.text(max_size=200).map(str.encode) | st.integers(0, 5000).map(bytes)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """One frame of a client; sometimes one that no client may send."""
    opcode = draw(st.sampled_from([TEXT, TEXT, TEXT, CONTINUATION, BINARY, PING, Opcode.PONG]))
    frame = Frame(opcode, draw(payloads)[: 125 if opcode in (PING, Opcode.PONG) else None], fin=draw(st.booleans()))
    written = bytearray(raw(frame))
    if draw(st.integers(0, 9)) == 0:
        written[draw(st.integers(0, 1))] ^= 1 << draw(st.integers(4, 7))
    return bytes(written)


def raw(frame: Frame, *, masked: bool = True) -> bytes:
    """A frame as it is sent; the library refuses to write a control frame with fragments, so the bit is set here."""
    written = bytearray(Frame(frame.opcode, frame.data, fin=True).serialize(mask=masked))
    if not frame.fin:
        written[0] &= 0x7F
    return bytes(written)


def read_by_ours(pieces: list[bytes]) -> tuple[list[tuple[int, bytes]], int | None]:
    reader = FrameReader(MAX_BYTES)
    found: list[tuple[int, bytes]] = []
    for piece in pieces:
        found += reader.feed(piece)
        if reader.fault is not None:
            break
    return found, None if reader.fault is None else reader.fault.code


def read_by_the_library(data: bytes) -> tuple[list[tuple[int, bytes]], int | None]:
    """The messages and control frames that the library finds, and the code with which it closes."""
    protocol = ServerProtocol(state=OPEN, max_size=MAX_BYTES)
    protocol.receive_data(data)
    found: list[tuple[int, bytes]] = []
    begun: tuple[int, bytes] | None = None
    for event in protocol.events_received():
        assert isinstance(event, Frame)
        if event.opcode in (PING, Opcode.PONG, CLOSE):
            found.append((event.opcode, bytes(event.data)))
            continue
        opcode, before = (event.opcode, b"") if begun is None else begun
        begun = (opcode, before + bytes(event.data))
        if event.fin:
            # Whether a text is UTF-8 is left by the library to who reads it.
            if begun[0] == TEXT and not is_utf_8(begun[1]):
                return found, 1007
            found.append(begun)
            begun = None
    sent = protocol.close_sent
    return found, None if sent is None else sent.code


def is_utf_8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def ends_within_a_frame(data: bytes) -> bool:
    place = 0
    while place + 1 < len(data):
        second = data[place + 1]
        more = {126: 2, 127: 8}.get(second & 0x7F, 0)
        length = int.from_bytes(data[place + 2 : place + 2 + more], "big") if more else second & 0x7F
        place += 2 + more + (4 if second & 0x80 else 0) + length
    return place != len(data)


@given(st.lists(frames(), max_size=6), st.lists(st.integers(0, 3000), max_size=8))
@example([raw(Frame(TEXT, b"", fin=False)), b"\x01\x90\x00\x00\x00\x00"], [])
def test_frames_that_are_cut_anywhere_are_read_as_the_library_reads_them(written: list[bytes], cuts: list[int]) -> None:
    data = b"".join(written)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    ours, code = read_by_ours([data[start:end] for start, end in pairwise(places)])
    theirs, their_code = read_by_the_library(data)
    assert ours == theirs
    # We judge a frame by its head; the library waits for the whole of it.
    assert (code is None) == (their_code is None) or (code is not None and ends_within_a_frame(data))


@rows(
    ("data", "code"),
    [
        pytest.param(raw(Frame(TEXT, b"x"), masked=False), 1002, id="not masked"),
        pytest.param(b"\xc1" + raw(Frame(TEXT, b"x"))[1:], 1002, id="a reserved bit"),
        pytest.param(b"\x83" + raw(Frame(TEXT, b"x"))[1:], 1002, id="an unknown opcode"),
        pytest.param(raw(Frame(PING, b"x", fin=False)), 1002, id="a ping in fragments"),
        pytest.param(raw(Frame(CONTINUATION, b"x")), 1002, id="nothing is continued"),
        pytest.param(raw(Frame(TEXT, b"x", fin=False)) + raw(Frame(TEXT, b"y")), 1002, id="two messages at once"),
        pytest.param(raw(Frame(TEXT, b"x" * (MAX_BYTES + 1)))[:8], 1009, id="too large, by its head alone"),
        pytest.param(
            raw(Frame(TEXT, b"x" * MAX_BYTES, fin=False)) + raw(Frame(CONTINUATION, b"y")),
            1009,
            id="too large in parts",
        ),
        pytest.param(raw(Frame(TEXT, b"\xff")), 1007, id="no UTF-8"),
    ],
)
def test_a_frame_that_breaks_the_rules_closes_with_its_code(data: bytes, code: int) -> None:
    assert read_by_ours([data])[1] == code
    assert read_by_ours([bytes([byte]) for byte in data])[1] == code


@given(
    st.lists(st.text(max_size=70_000) | st.sampled_from(["x" * 125, "x" * 126, "x" * 65_535, "x" * 65_536]), max_size=3)
)
def test_what_is_written_is_what_the_library_reads(texts: list[str]) -> None:
    from websockets.client import ClientProtocol  # noqa: PLC0415
    from websockets.uri import parse_uri  # noqa: PLC0415

    client = ClientProtocol(parse_uri("ws://127.0.0.1/"), state=OPEN)
    client.receive_data(frames_of(text.encode(errors="replace") for text in texts))
    read = [bytes(event.data).decode() for event in client.events_received() if isinstance(event, Frame)]
    assert read == [text.encode(errors="replace").decode() for text in texts]


@given(st.binary(max_size=130))
def test_a_close_frame_is_read_as_the_library_reads_it(payload: bytes) -> None:
    try:
        wanted: tuple[int, str] | None = (
            None if not payload else (Close.parse(payload).code, Close.parse(payload).reason)
        )
        Close.parse(payload).check()
    except Exception:  # noqa: BLE001 - of several kinds
        wanted = None
    read = closing(payload)
    if not payload:
        assert read == (1005, "")
    else:
        assert (None if isinstance(read, FrameFault) else read) == wanted


def test_the_reason_of_a_close_is_cut_where_a_character_ends() -> None:
    frame = close_frame(1008, "ä" * 100)
    assert len(frame) <= 2 + 125
    assert closing(frame[2:]) == (1008, "ä" * 61)
