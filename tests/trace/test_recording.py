"""The recorder of a stream: any cuts give the same records, texts over the limit are cut, failures stay inside."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

from accord.trace import TraceRecord, TraceWriter, open_trace
from accord.trace.recording import CUT_BYTES, LineRecorder, SafeRecorder, TextRecorder

LINES = b'banner\n{"id":1}\r\n\n{"id":2}\nrubbish \xff\n{"id":3}'
FRAMES = b'Content-Length: 8\r\n\r\n{"id":1}Content-Length: 8\r\n\r\n{"id":2}'


class Memory:
    """A writer that keeps records as tuples."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, ...]] = []
        self.lost = 0
        self.failure = None
        self.path = Path("memory")

    def now(self) -> float:
        return 0.0

    def batch(self, source: str, target: str, texts: list[bytes], *, framing: str, **_: Any) -> None:
        for text in texts:
            self.text(source, target, text, framing=framing, fault="", size=0)

    def text(self, _source: str, _target: str, text: bytes, *, framing: str, fault: str, size: int, **_: Any) -> None:
        self.found.append((text, framing, fault, size))

    def stderr(self, line: bytes, *, fault: str, size: int, **_: Any) -> None:
        self.found.append((line, fault, size))

    def flush(self) -> None: ...

    def lose(self) -> None:
        self.lost += 1


def recorded(data: bytes, cuts: list[int], max_bytes: int = 1000) -> list[tuple[Any, ...]]:
    memory: Any = Memory()
    recorder = TextRecorder(memory, "client", "agent", max_bytes=max_bytes)
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, stop in pairwise(places):
        recorder.feed(data[start:stop])
    recorder.finish()
    found: list[tuple[Any, ...]] = memory.found
    return found


@given(st.sampled_from([LINES, FRAMES, LINES * 3]), st.lists(st.integers(0, 10_000), max_size=12))
def test_any_cuts_give_the_same_records(data: bytes, cuts: list[int]) -> None:
    # While a banner is all that there is, nothing shows the framing.
    cut, whole = ([(text, *rest[text == b"banner" :]) for text, *rest in recorded(data, at)] for at in (cuts, []))
    assert cut == whole


@given(st.lists(st.integers(0, 10_000), max_size=20), st.integers(0, 3))
def test_a_text_over_the_limit_is_its_begin_and_its_size_and_the_next_ones_follow(cuts: list[int], before: int) -> None:
    large = b'{"t":"' + b"x" * 9000 + b'"}'
    data = b'{"n":1}\n' * before + large + b'\n{"n":2}\n' + large + b"\n" + b'{"n":3}\n'
    found = recorded(data, cuts, max_bytes=500)

    assert [(text, size) for text, _, fault, size in found if not fault] == [(b'{"n":1}', 0)] * before + [
        (b'{"n":2}', 0),
        (b'{"n":3}', 0),
    ]
    cut = [(text, size) for text, _, fault, size in found if fault == "too-long"]
    assert [size for _, size in cut] == [len(large)] * 2
    assert all(large.startswith(text) and 0 < len(text) <= CUT_BYTES for text, _ in cut)


def test_a_frame_over_the_limit_does_not_stop_the_recording() -> None:
    frame = b'Content-Length: 8\r\n\r\n{"id":2}'
    large = b"Content-Length: 20000\r\n\r\n" + b"x" * 20_000
    ends = [len(large) + len(frame) * count for count in range(4)]
    found = recorded(large + frame * 4, [*range(0, 20_000, 300), *ends], max_bytes=500)
    assert found[0][2] == "too-long"
    # The frame right behind it may be taken for its end.
    assert [each[:2] for each in found[-2:]] == [(b'{"id":2}', "headers")] * 2


def test_lines_of_stderr_are_recorded_with_their_last_half(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "a")
    recorder = LineRecorder(writer, max_bytes=2000)
    for piece in (b"one\ntw", b"o\n", b"y" * 3000, b"\nlast"):
        recorder.feed(piece)
    recorder.finish()
    writer.close()

    found: list[TraceRecord] = [record for record in open_trace(tmp_path / "a") if record.type == "stderr"]
    assert [record.raw for record in found[:2]] == [b"one", b"two"]
    assert (found[2].fault, found[2].size) == ("too-long", 3000)
    assert (found[3].raw, found[3].fault) == (b"last", "no-newline-at-end")


def test_a_recorder_that_crashes_reports_once_and_never_raises() -> None:
    class Broken(Memory):
        def text(self, *_: Any, **__: Any) -> None:
            raise ZeroDivisionError

    memory: Any = Broken()
    reports: list[str] = []
    recorder = SafeRecorder(TextRecorder(memory, "client", "agent"), memory, reports.append)
    for _ in range(3):
        recorder.feed(b"{}\n")
    recorder.finish()

    assert len(reports) == 1
    assert "ZeroDivisionError" in reports[0]
    assert memory.lost == 4
