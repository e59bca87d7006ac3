"""The writer of traces: private files, parts, compression, a disk that fails."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from accord.trace import TraceWriter, open_trace
from accord.trace.format import part_path
from tests.limits import limit


def test_the_keys_are_those_of_the_format(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "a.jsonl", command=["agent", "--acp"], agent="agent")
    writer.start(7, ["agent"])
    writer.text("client", "agent", b'{"id":1}')
    writer.text("agent", "client", b"\xff", connection=2, framing="headers")
    writer.stderr(b"warm")
    writer.note("a remark")
    writer.end(-9)
    writer.close()

    header, start, text, odd, stderr, note, end = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
    assert list(header)[:4] == ["type", "format", "version", "t"]
    assert (header["format"], header["version"], header["ends"]) == ("accord-trace", 1, ["client", "agent"])
    assert header["command"] == ["agent", "--acp"]
    assert (start["pid"], start["from"]) == (7, "agent")
    assert {**text, "t": 0} == {"type": "text", "t": 0, "conn": 1, "from": "client", "to": "agent", "raw": '{"id":1}'}
    assert (odd["conn"], odd["enc"], odd["raw"], odd["fault"], odd["framing"]) == (
        2,
        "base64",
        "/w==",
        "not-utf8",
        "headers",
    )
    assert (stderr["raw"], note["text"]) == ("warm", "a remark")
    assert (end["signal"], end["texts"], end["lost"], "exit" in end) == (9, 2, 0, False)


def test_the_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        TraceWriter(tmp_path / "a.jsonl").close()
    finally:
        os.umask(before)
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o777 == 0o600


def test_neither_a_file_nor_a_link_is_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("a", "link"):
        with pytest.raises(FileExistsError):
            TraceWriter(tmp_path / name)
    assert not (tmp_path / "elsewhere").exists()


def test_what_was_flushed_is_in_the_file(tmp_path: Path) -> None:
    for compress in (False, True):
        path = tmp_path / f"{compress}.jsonl"
        writer = TraceWriter(path, compress=compress)
        writer.text("client", "agent", b"{}")
        assert [record.type for record in open_trace(path)] == ["header"]
        writer.flush()
        assert [record.type for record in open_trace(path)] == ["header", "text"]
        writer.close()


def test_a_compressed_trace_is_an_ordinary_gzip_file(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "a.jsonl.gz", compress=True)
    writer.text("client", "agent", b"{}")
    writer.close()
    with gzip.open(tmp_path / "a.jsonl.gz") as file:
        assert [json.loads(line)["type"] for line in file] == ["header", "text"]


def test_parts_have_headers_and_are_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = TraceWriter(path, max_bytes=2000)
    texts = [b'{"n":%d}' % number for number in range(100)]
    for text in texts:
        writer.text("client", "agent", text)
        writer.flush()
    writer.close()

    records = list(open_trace(path))
    assert [record.raw for record in records if record.type == "text"] == texts
    headers = [record for record in records if record.type == "header"]
    assert len(headers) == writer.part > 2
    assert json.loads(part_path(path, 2).read_text().splitlines()[0])["part"] == 2
    assert all(path.stat().st_size <= 2000 for path in open_trace(path).parts())


def test_no_part_is_larger_than_allowed_however_much_is_flushed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = TraceWriter(path, max_bytes=10_000)
    texts = [b'{"n":%d,"text":"%b"}' % (number, b"x" * (number * 37 % 900)) for number in range(2000)]
    writer.batch("client", "agent", texts)
    writer.close()

    assert [record.raw for record in open_trace(path).texts()] == texts
    sizes = [part.stat().st_size for part in open_trace(path).parts()]
    assert all(9_000 < size <= 10_000 for size in sizes[:-1])
    assert len(sizes) == writer.part > 50


def test_a_record_that_is_larger_than_a_part_may_be_has_one_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = TraceWriter(path, max_bytes=10)
    texts = [b"{}", b'"%b"' % (b"x" * 500), b"[]"]
    writer.batch("client", "agent", texts)
    writer.close()

    assert [record.raw for record in open_trace(path).texts()] == texts
    assert [record.type for record in open_trace(path)] == ["header", "text"] * 3


def test_a_part_that_cannot_be_made_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    part_path(path, 2).write_text("another's")
    writer = TraceWriter(path, max_bytes=10)
    for text in (b"{}", b"[]", b"0"):
        writer.text("client", "agent", text)
        writer.flush()
    writer.close()
    assert (writer.lost, writer.part) == (0, 1)
    assert [json.loads(line).get("raw") for line in path.read_text().splitlines()] == [None, "{}", "[]", "0"]
    assert writer.failure is not None
    assert part_path(path, 2).read_text() == "another's"


def test_a_full_disk_costs_whole_records_and_is_survived(tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "sys.dont_write_bytecode = True\n"
        "from accord.trace import TraceWriter\n"
        f"writer = TraceWriter({str(tmp_path / 'a.jsonl')!r})\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))\n"
        "for n in range(20): writer.text('client', 'agent', b'{\"n\":%d}' % n); writer.flush()\n"
        "lost, failure = writer.lost, writer.failure.errno\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))\n"
        "writer.text('client', 'agent', b'{\"n\":99}'); writer.end(0); writer.close()\n"
        "print(lost, failure)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=limit(30), check=True, env=os.environ
    )
    lost, failure = map(int, done.stdout.split())
    assert failure == errno.EFBIG
    records = list(open_trace(tmp_path / "a.jsonl"))
    assert {record.type for record in records} == {"header", "text", "end"}
    texts = [record.raw for record in records if record.type == "text"]
    assert texts == [b'{"n":%d}' % n for n in range(20 - lost)] + [b'{"n":99}']
    assert (records[-1].texts, records[-1].lost) == (21, lost)
    assert lost > 0


def test_a_disk_that_fills_up_in_the_middle_of_a_write_keeps_the_whole_lines_before(tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "sys.dont_write_bytecode = True\n"
        "from accord.trace import TraceWriter\n"
        f"writer = TraceWriter({str(tmp_path / 'a.jsonl')!r})\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))\n"
        "for n in range(20): writer.text('client', 'agent', b'{\"n\":%d}' % n)\n"
        "writer.flush()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))\n"
        "writer.note('after it'); writer.close()\n"
        "print(writer.lost)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=limit(30), check=True, env=os.environ
    )
    _, *texts, note = open_trace(tmp_path / "a.jsonl")
    assert (note.type, note.remark) == ("note", "after it")
    assert [record.raw for record in texts] == [b'{"n":%d}' % n for n in range(20 - int(done.stdout))]
    assert 0 < len(texts) < 20


def test_a_closed_writer_loses_and_does_not_raise(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "a.jsonl")
    writer.close()
    writer.text("client", "agent", b"{}")
    writer.close()
    assert writer.lost == 1


class Watched(TraceWriter):
    """Notes each change of its counters and of its clock that is not made under the lock."""

    unlocked: ClassVar[list[str]] = []

    def __setattr__(self, name: str, value: object) -> None:
        is_counter = name in {"texts", "lost", "_latest", "_held", "_held_bytes"}
        if is_counter and hasattr(self, "_file") and not self._lock.locked():
            self.unlocked.append(name)
        super().__setattr__(name, value)


def test_what_several_threads_count_is_counted_under_the_lock(tmp_path: Path) -> None:
    writer = Watched(tmp_path / "a.jsonl")
    # A first part is begun by the thread that makes the writer.
    writer.unlocked.clear()
    writer.text("client", "agent", b"{}")
    writer.batch("client", "agent", [b"{}", b"{}"])
    writer.stderr(b"line")
    writer.note("remark")
    writer.start(1, ["program"])
    writer.end(0)
    writer.lose()
    writer.flush()
    writer.close()
    writer.text("client", "agent", b"{}")
    writer.flush()
    assert (writer.texts, writer.lost) == (4, 2)
    assert writer.unlocked == []


def test_several_threads_write_whole_lines(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "a.jsonl")

    def write(side: str) -> None:
        for number in range(500):
            writer.text(side, "other", b'{"n":%d}' % number)
            writer.flush()

    threads = [Thread(target=write, args=(side,)) for side in ("client", "agent")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit(30))
    writer.close()
    for side in ("client", "agent"):
        found = [record.raw for record in open_trace(tmp_path / "a.jsonl").texts() if record.source == side]
        assert found == [b'{"n":%d}' % number for number in range(500)]
