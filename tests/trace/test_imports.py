"""Recordings of other tools: recognised by content, read as the same conversation, and refused with a sentence."""

import gzip
import itertools
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from accord.trace import TraceFileError
from accord.trace.conversion import plain_trace
from accord.trace.direction import DirectionFinder, Ends
from accord.trace.imports import source as source_module
from accord.trace.imports.lisp import LispError, read_lisp_values
from accord.trace.imports.recognition import IMPORTERS, NATIVE, recognise
from accord.trace.imports.source import TraceSource
from accord.trace.reader import TraceRecord, open_trace
from tests.tables import rows

SAMPLES = Path(__file__).parent / "samples"
CONVERSATION: list[tuple[tuple[str, str], dict[str, Any]]] = [
    ((ends[0], ends[1]), message) for ends, message in json.loads((SAMPLES / "conversation.json").read_bytes())
]
# A sample of each format, and the format's name.
FORMATS = {
    "accord.jsonl": NATIVE,
    "acp-el.traffic": "acp.el",
    "acpx.stream.ndjson": "acpx",
    "bare.ndjson": "ndjson",
    "conductor-debug.log": "conductor-debug",
    "conductor.jsons": "conductor",
    "devtools.json": "acp-devtools",
    "devtools.sql": "acp-devtools-database",
    "fsharp.jsonl": "acp-inspector-fsharp",
    "inspector-bridge.jsonl": "acp-inspector-trace",
    "inspector.jsonl": "acp-inspector-trace",
    "probe.jsonl": "probe",
    "tee-raw.log": "sacp-tee-raw",
    "tee.jsonl": "sacp-tee",
    "thinkwell.jsonl": "thinkwell",
    "toad.log": "toad",
    "wire.jsonl": "wire",
    "zed.json": "zed",
}
WITH_STDERR = {"accord.jsonl", "conductor-debug.log", "probe.jsonl", "toad.log", "zed.json"}


def import_records(path: Path) -> Iterator[TraceRecord]:
    return IMPORTERS[recognise(path)].read(TraceSource(path))


def sample(name: str, folder: Path) -> Path:
    """A sample; the database is made of its statements."""
    if not name.endswith(".sql"):
        return SAMPLES / name
    path = folder / "captures.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((SAMPLES / name).read_text(encoding="utf-8"))
    return path


def expected(name: str) -> list[tuple[tuple[str, str], Any]]:
    """The conversation as a format can tell it."""
    found: list[tuple[tuple[str, str], Any]] = []
    for ends, message in CONVERSATION:
        if name == "conductor-debug.log":
            found.append((tuple("conductor" if end == "agent" else end for end in ends), message))  # type: ignore[arg-type]
        elif name == "tee.jsonl" and "error" in message:
            found.append((ends, {**message, "error": {"code": -32603, "message": message["error"]["message"]}}))
        else:
            found.append((ends, message))
    return found


def test_every_format_has_a_sample() -> None:
    assert {NATIVE, *IMPORTERS} == set(FORMATS.values())


@rows("name", FORMATS)
def test_a_format_is_recognised_by_its_content_alone(name: str, tmp_path: Path) -> None:
    path = sample(name, tmp_path)
    copy = tmp_path / "without-a-suffix"
    copy.write_bytes(path.read_bytes())
    assert recognise(copy) == FORMATS[name]


@rows("name", FORMATS)
def test_a_sample_is_read_as_the_same_conversation_and_survives_the_round_trip(name: str, tmp_path: Path) -> None:
    with plain_trace(sample(name, tmp_path)) as trace:
        records = list(open_trace(trace.path))
        texts = [
            ((each.source, each.target), json.loads(each.raw))
            for each in records
            if each.type == "text" and not each.fault
        ]
        assert texts == expected(name)
        assert records[0].type == "header"
        assert all(one.t <= other.t for one, other in itertools.pairwise(records[1:]))
        assert (b"warming up" in [each.raw for each in records if each.type == "stderr"]) == (name in WITH_STDERR)
        # Ours, once more: nothing changes.
        with plain_trace(trace.path) as again:
            assert again.path == trace.path
            assert (again.times, again.verbatim) == (trace.times, trace.verbatim)
    assert trace.is_original == (name == "accord.jsonl")
    assert trace.path.exists() == trace.is_original


@rows("name", [name for name in FORMATS if not name.endswith(".sql")])
def test_a_compressed_sample_is_read_too(name: str, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress((SAMPLES / name).read_bytes()))
    with plain_trace(packed) as trace:
        count = sum(record.type == "text" and not record.fault for record in open_trace(trace.path))
    assert (trace.format, count) == (FORMATS[name], len(CONVERSATION))


def test_the_texts_of_a_verbatim_format_are_the_same_bytes(tmp_path: Path) -> None:
    raw = [json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() for _, message in CONVERSATION]
    for name, format_ in FORMATS.items():
        if format_ == NATIVE or IMPORTERS[format_].verbatim:
            with plain_trace(sample(name, tmp_path)) as trace:
                texts = [record.raw for record in open_trace(trace.path) if record.type == "text" and not record.fault]
            assert texts == raw, name


def test_the_names_of_a_chain_are_ours_and_an_old_event_is_a_note() -> None:
    records = list(import_records(SAMPLES / "conductor-chain.jsons"))
    ends = [(record.source, record.target) for record in records if record.type == "text"]
    assert ends == [("client", "proxy:0"), ("proxy:0", "agent"), ("agent", "proxy:0"), ("proxy:0", "client")]
    assert json.loads(records[3].raw)["error"]["code"] == -32603
    assert records[4].type == "note"


def test_each_session_of_a_database_is_a_connection(tmp_path: Path) -> None:
    path = sample("devtools.sql", tmp_path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("insert into sessions (id, started_at) values ('s2', 9999999999999)")
        database.execute(
            "insert into messages (session_id, seq, timestamp, direction, raw) values ('s2', 1, 1, ?, ?)",
            ("editor-to-agent", '{"jsonrpc":"2.0","id":0,"method":"initialize"}'),
        )
        database.commit()
    connections = [record.connection for record in import_records(path) if record.type == "text"]
    assert connections == [1] * len(CONVERSATION) + [2]


# --- directions


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


OUT, IN, UNKNOWN = Ends("client", "agent"), Ends("agent", "client"), Ends("?", "?")


def test_an_answer_that_two_requests_wait_for_belongs_to_the_one_that_it_fits() -> None:
    finder = DirectionFinder()
    finder.find(line(id=7, method="session/prompt", params={"sessionId": "s", "prompt": []}))
    finder.find(line(id=7, method="fs/read_text_file", params={"sessionId": "s", "path": "/a"}))
    assert finder.find(line(id=7, result={"content": "text"})) == OUT
    assert finder.find(line(id=7, result={"stopReason": "end_turn"})) == IN


def test_an_answer_that_fits_neither_or_an_error_for_both_has_no_direction() -> None:
    finder = DirectionFinder()
    finder.find(line(id=7, method="session/prompt", params={"sessionId": "s", "prompt": []}))
    finder.find(line(id=7, method="fs/read_text_file", params={"sessionId": "s", "path": "/a"}))
    assert finder.find(line(id=7, error={"code": 1, "message": "no"})) == UNKNOWN
    assert finder.find(line(id=8, result={})) == UNKNOWN


def test_ids_of_different_types_are_different_ids() -> None:
    finder = DirectionFinder()
    finder.find(line(id=1, method="session/prompt", params={"sessionId": "s", "prompt": []}))
    assert finder.find(line(id="1", result={"stopReason": "end_turn"})) == UNKNOWN
    assert finder.find(line(id=1, result={"stopReason": "end_turn"})) == IN


def test_an_extension_method_has_no_direction() -> None:
    assert DirectionFinder().find(line(method="_vendor/news")) == UNKNOWN


# --- damaged and hostile files


@rows(
    "content",
    [
        b"",
        b"  \n\n",
        b"hello\nworld\n",
        b"\x00\xff" * 100,
        b"{}",
        b"[1, 2, 3]",
        b'{"format": "accord-trace", "version": 2}\n',
        b'{"format": "accord-trace", "version": "1"}\n',
        b'{"type":"header","format":"acp-inspector-trace","version":2}\n',
        b'{"version":2,"tool":{},"session":{},"messages":[]}',
        b'{"version":1,"tool":{},"session":{},"messages":[{"seq":',
        b'[{"_direction":"incoming", ',
        b"(((:direction . incoming)",
        b"(" * 100_000,
        b"(a . )",
        b")",
        b'("unended',
        b"SQLite format 3\x00 and nothing else",
        b"\x1f\x8b\x08 broken",
        b'{"a":' * 100_000,
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_one_sentence(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(TraceFileError) as raised, plain_trace(path) as trace:
        list(open_trace(trace.path))
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


@rows("name", ["devtools.json", "zed.json"])
def test_a_document_with_half_of_a_surrogate_pair_is_whole(name: str, tmp_path: Path) -> None:
    content = sample(name, tmp_path).read_bytes()
    path = tmp_path / "half.json"
    path.write_bytes(content.replace(b'"params"', b'"half":"\\ud800","params"'))
    with plain_trace(path) as trace:
        count = sum(record.type == "text" for record in open_trace(trace.path))
    assert path.read_bytes() != content
    assert count >= len(CONVERSATION)


@pytest.mark.parametrize("name", FORMATS)
def test_a_sample_that_is_cut_anywhere_is_read_or_refused_and_never_fails_otherwise(name: str, tmp_path: Path) -> None:
    whole = sample(name, tmp_path).read_bytes()
    path = tmp_path / "cut"
    for size in range(1, len(whole), max(1, len(whole) // 15)):
        path.write_bytes(whole[:size])
        try:
            with plain_trace(path) as trace:
                count = sum(record.type == "text" for record in open_trace(trace.path))
        except TraceFileError:
            continue
        assert count <= len(CONVERSATION) + 1


def test_lines_between_that_cannot_be_read_are_notes(tmp_path: Path) -> None:
    for name in ("conductor.jsons", "fsharp.jsonl", "inspector.jsonl", "tee.jsonl", "thinkwell.jsonl", "wire.jsonl"):
        first, *rest = (SAMPLES / name).read_bytes().splitlines(keepends=True)
        path = tmp_path / name
        path.write_bytes(first + b'{"broken": \n[]\n{"type":"request"}\n' + b"".join(rest))
        records = list(import_records(path))
        assert sum(record.type == "note" for record in records) == (2 if name == "conductor.jsons" else 3), name


ODD_LINES: dict[str, list[Any]] = {
    "conductor.jsons": [
        {"type": ["request"], "ts": 1, "from": "Client", "to": "Agent"},
        {"type": "request", "ts": 1, "from": "\ud800", "to": {"\udfff": 1}, "id": 1, "method": "x"},
    ],
    "thinkwell.jsonl": [{"source": "\ud800", "target": ["\udfff"], "message": {"dispatch": {"method": "x"}}}],
    "inspector-bridge.jsonl": [{"direction": "client -> agent", "frame": "{}", "connection": ["a", {}]}],
}


@rows("name", ODD_LINES)
def test_lines_with_members_of_any_type_are_read_or_are_notes(name: str, tmp_path: Path) -> None:
    odd = [json.dumps(line).encode() + b"\n" for line in ODD_LINES[name]]
    path = tmp_path / name
    path.write_bytes((SAMPLES / name).read_bytes() + b"".join(odd))
    with plain_trace(SAMPLES / name) as whole, plain_trace(path) as trace:
        assert len(list(open_trace(trace.path))) == len(list(open_trace(whole.path))) + len(odd)


def test_a_line_that_no_message_can_have_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "long"
    path.write_bytes(b'{"jsonrpc":"2.0","method":"a","params":{}}\n' + b"x" * 2000 + b"\n")
    with pytest.raises(TraceFileError):
        list(import_records(path))


def test_a_document_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_DOCUMENT_BYTES", 1000)
    for name in ("zed.json", "devtools.json", "acp-el.traffic"):
        with pytest.raises(TraceFileError):
            list(import_records(SAMPLES / name))


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = sample("devtools.sql", tmp_path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma user_version = 5")
    with pytest.raises(TraceFileError):
        list(import_records(path))


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table sessions (id)")
        database.commit()
    with pytest.raises(TraceFileError):
        list(import_records(path))


# --- Lisp


def test_lisp_data_is_read() -> None:
    assert read_lisp_values('1 -2 2.5 "a\\"b\\n\\u00e4" nil') == [1, -2, 2.5, 'a"b\nä', None]
    assert read_lisp_values("; a remark\n[1 [2]] ; another\n 3") == [[1, [2]], 3]


@rows("text", ["(", "(]", ")", ". a", '"open', "(a . b"])
def test_what_is_no_lisp_is_refused(text: str) -> None:
    with pytest.raises(LispError):
        read_lisp_values(text)
