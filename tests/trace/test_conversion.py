"""Traces of the real writer as one plain file: in parts, compressed, cut by a kill, and while they are written."""

import json
import os
from pathlib import Path

import pytest

from accord.trace import TraceFileError, TraceIndex, TraceWriter, plain_trace
from accord.trace.index_columns import RecordKind
from tests.tables import rows
from tests.trace.traces import chunk, request, result


def record(writer: TraceWriter, count: int) -> None:
    for number in range(count):
        writer.text("client", "agent", json.dumps(request(number, "session/prompt", sessionId="s", prompt=[])).encode())
        writer.text("agent", "client", json.dumps(chunk("s", f"word {number}")).encode())
        writer.text("agent", "client", json.dumps(result(number, stopReason="end_turn")).encode())
        writer.flush()


@rows("compress", [False, True])
@rows("max_bytes", [None, 500])
def test_a_trace_in_parts_or_compressed_is_indexed_as_one(
    tmp_path: Path,
    compress: bool,  # noqa: FBT001 - a parameter of the test
    max_bytes: int | None,
) -> None:
    path = tmp_path / "talk.jsonl"
    writer = TraceWriter(path, compress=compress, max_bytes=max_bytes)
    record(writer, 30)
    writer.close()
    assert (writer.part > 1) == (max_bytes is not None)
    with plain_trace(path) as trace, TraceIndex.open(trace.path, keep=trace.is_original) as index:
        asked = [row for row in range(len(index)) if index.kind(row) == RecordKind.REQUEST]
        assert len(asked) == 30
        assert all(index.partner(row) is not None for row in asked)
    assert trace.is_original == (not compress and max_bytes is None)
    assert trace.redacted


def test_the_index_follows_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    writer = TraceWriter(path)
    with TraceIndex.open(path) as index:
        assert len(index) == 1
        for turn in range(5):
            record(writer, 2)
            assert index.update() == 6
            assert index.partner(6 * turn + 1) == 6 * turn + 3
    writer.close()


@rows("compress", [False, True])
def test_a_trace_whose_end_is_missing_is_read_to_its_last_whole_line(tmp_path: Path, compress: bool) -> None:  # noqa: FBT001
    path = tmp_path / "talk.jsonl"
    writer = TraceWriter(path, compress=compress)
    record(writer, 10)
    os.truncate(path, path.stat().st_size - 30)
    with plain_trace(path) as trace, TraceIndex.open(trace.path, keep=False) as index:
        assert 20 <= len(index) < 31
        assert all(json.loads(index.line(row)) for row in range(len(index)))
    writer.close()


def test_a_part_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b'{"type":"header","t":1.0,"format":"accord-trace","version":2,"tool":"x"}\n')
    with pytest.raises(TraceFileError), plain_trace(path):
        pass


def test_the_temporary_copy_is_private_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    writer = TraceWriter(path, compress=True)
    record(writer, 1)
    writer.close()
    with plain_trace(path) as trace:
        copy = trace.path
        assert copy.stat().st_mode & 0o777 == 0o600
        assert copy.parent.stat().st_mode & 0o777 == 0o700
    assert not copy.parent.exists()
