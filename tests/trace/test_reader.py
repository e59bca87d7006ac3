"""The reader of traces: cut files, damaged lines, newer versions, and two older formats."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from accord.trace import TraceFileError, TraceWriter, open_trace, reader as reader_module
from accord.trace.conversion import plain_trace
from accord.trace.index import TraceIndex
from tests.tables import rows
from tests.trace.traces import handshake, header


def trace_of(path: Path, count: int = 5, *, compress: bool = False) -> bytes:
    writer = TraceWriter(path, compress=compress)
    for number in range(count):
        writer.text("client", "agent", b'{"n":%d}' % number)
        writer.flush()
    writer.close()
    return path.read_bytes()


@pytest.mark.parametrize("compress", [False, True])
def test_a_file_that_was_cut_anywhere_is_read_to_its_last_whole_line(tmp_path: Path, *, compress: bool) -> None:
    whole = trace_of(tmp_path / "whole", compress=compress)
    expected = [record.raw for record in open_trace(tmp_path / "whole").texts()]
    counts = []
    first = 200 if not compress else 190
    for end in range(first, len(whole) + 1):
        cut = tmp_path / "cut"
        cut.write_bytes(whole[:end])
        found = [record.raw for record in open_trace(cut).texts()]
        assert found == expected[: len(found)]
        counts.append(len(found))
    assert counts == sorted(counts)
    assert counts[-1] == 5


@rows("compress", [False, True])
def test_a_byte_order_mark_is_no_part_of_a_trace(tmp_path: Path, *, compress: bool) -> None:
    plain = trace_of(tmp_path / "whole")
    marked = tmp_path / "marked.jsonl"
    content = b"\xef\xbb\xbf" + plain
    marked.write_bytes(gzip.compress(content) if compress else content)
    trace = open_trace(marked)
    records = list(trace)
    assert trace.header.format == "accord-trace"
    assert [record.raw for record in records[1:]] == [b'{"n":%d}' % number for number in range(5)]
    assert all(content[each.offset :].startswith(b'{"type"') for each in records)
    again = next(trace.records(marked, offset=records[3].offset))
    assert again.raw == records[3].raw
    with plain_trace(marked) as copied, TraceIndex.open(copied.path, keep=False) as index:
        assert [index.record(row).raw for row in range(1, 6)] == [record.raw for record in records[1:]]


def test_each_record_says_where_it_is(tmp_path: Path) -> None:
    whole = trace_of(tmp_path / "a")
    trace = open_trace(tmp_path / "a")
    for record in trace:
        line = whole[record.offset : record.offset + record.length]
        assert json.loads(line)["type"] == record.type
        again = next(trace.records(tmp_path / "a", offset=record.offset))
        assert (again.offset, again.content) == (record.offset, record.content)


def test_unknown_keys_and_types_are_no_error_and_damaged_lines_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "a"
    trace_of(path, 1)
    with path.open("ab") as file:
        file.write(b'{"type":"text","t":1,"conn":1,"from":"agent","to":"client","raw":"{}","news":[1]}\n')
        file.write(b'{"type":"of-tomorrow","t":1}\nrubbish\n{"type":"text","t":"late"}\n')
    assert [record.type for record in open_trace(path)] == [
        "header", "text", "text", "of-tomorrow", "unreadable", "unreadable",
    ]  # fmt: skip


@rows(
    ("line", "word"),
    [
        ('{"type":"header","format":"accord-trace","version":2}', "update"),
        ('{"type":"header","format":"accord-trace","version":"1"}', "version"),
        ('{"type":"header","format":"accord-trace"}', "version"),
        ('{"type":"header","format":"something-else","version":1}', "no trace"),
        ("plain text", "no trace"),
        ("", "no trace"),
    ],
)
def test_a_newer_version_or_another_file_is_refused_in_a_sentence(tmp_path: Path, line: str, word: str) -> None:
    (tmp_path / "a").write_text(line + "\n")
    with pytest.raises(TraceFileError, match=word):
        open_trace(tmp_path / "a")


def test_lines_of_the_wire_output_and_of_probes_are_read(tmp_path: Path) -> None:
    (tmp_path / "wire").write_text(
        '{"t":1.5,"dir":"out","conn":2,"raw":"{\\"id\\":1}"}\n{"t":2,"dir":"in","conn":2,"raw":"debug: x"}\n'
        '{"t":3,"dir":["in"],"raw":"odd"}\n'
    )
    (tmp_path / "probe").write_text(
        '{"t":0,"dir":"note","msg":{"cmd":["a"]}}\n{"t":1,"dir":"c>a","msg":{"id":1}}\n{"t":2,"dir":"err","msg":"warm"}\n'
    )
    wire = [(r.type, r.t, r.connection, r.source, r.raw) for r in open_trace(tmp_path / "wire")]
    assert wire[:2] == [("text", 1.5, 2, "client", b'{"id":1}'), ("text", 2.0, 2, "agent", b"debug: x")]
    assert [kind for kind, *_ in wire[2:]] == ["note"]
    probe = [(r.type, r.source, r.raw or r.remark.encode()) for r in open_trace(tmp_path / "probe")]
    assert probe == [("note", "", b'{"cmd":["a"]}'), ("text", "client", b'{"id":1}'), ("stderr", "agent", b"warm")]


def test_joined_compressed_files_are_read_as_one(tmp_path: Path) -> None:
    lines = [header(), *handshake()]
    (tmp_path / "joined").write_bytes(gzip.compress(b"".join(lines[:3])) + gzip.compress(b"".join(lines[3:])))
    assert len(list(open_trace(tmp_path / "joined"))) == len(lines)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_line_without_an_end_takes_bounded_memory_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(reader_module, "MAX_LINE_BYTES", 1_000_000)
    first, *rest = [header(), *handshake()]
    path = tmp_path / "huge"
    path.write_bytes(pack(b"".join([first, b"x" * 12_000_000, b"\n", *rest])))
    tracemalloc.start()
    kinds = [record.type for record in open_trace(path)]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kinds == ["header", "unreadable", *["text"] * len(rest)]
    assert peak_bytes < 6_000_000
    offsets = [at for at, _ in reader_module.lines_of(path)]
    assert offsets[2] == len(first) + 12_000_001
