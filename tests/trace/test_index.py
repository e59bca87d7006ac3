"""The index of a trace: pairs, sessions, times, filters; kept beside the file, grown with it, made again when stale."""

import json
import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from accord.trace import TraceFileError, index as index_module
from accord.trace.index import RowFilter, TraceIndex, message_at
from accord.trace.index_columns import MAX_WORDS, IndexColumns, IndexState, RecordKind
from accord.trace.index_file import BLOCK_ROWS, IndexFile, index_path
from tests.trace.traces import (
    AGENT,
    CLIENT,
    SAMPLES,
    chunk,
    error,
    handshake,
    header,
    request,
    result,
    text,
    turns,
    write,
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "talk.jsonl", header(), *handshake(), *turns(3, 5))


def facts(index: TraceIndex) -> list[tuple[object, ...]]:
    return [
        (
            index.kind(row),
            index.time(row),
            index.method(row),
            index.session(row),
            index.update_kind(row),
            index.ends(row),
            index.partner(row),
            index.size(row),
            index.line(row),
        )
        for row in range(len(index))
    ]


def test_a_request_and_its_answer_are_partners_and_the_answer_has_its_method_session_and_latency(trace: Path) -> None:
    with TraceIndex.open(trace) as index:
        prompt = next(row for row in range(len(index)) if index.method(row) == "session/prompt")
        answer = index.partner(prompt)
        assert answer is not None
        assert index.partner(answer) == prompt
        assert (index.method(answer), index.session(answer)) == ("session/prompt", "s1")
        assert index.latency(answer) == pytest.approx(0.505)
        assert index.latency(prompt) is None


def test_an_opening_belongs_to_the_session_that_it_opened(trace: Path) -> None:
    with TraceIndex.open(trace) as index:
        assert [index.session(row) for row in range(5)] == ["", "", "", "s1", "s1"]
        assert index.sessions == ["s1"]


def test_an_answer_goes_to_the_request_of_the_other_direction_although_both_have_its_id(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        header(),
        text(CLIENT, request(7, "session/prompt", sessionId="s", prompt=[])),
        text(AGENT, request(7, "fs/read_text_file", sessionId="s", path="/a")),
        text(CLIENT, result(7, content="")),
        text(AGENT, result(7, stopReason="end_turn")),
    )
    with TraceIndex.open(path) as index:
        assert [index.partner(row) for row in range(1, 5)] == [4, 3, 2, 1]
        assert [index.method(row) for row in (3, 4)] == ["fs/read_text_file", "session/prompt"]


def test_ids_of_another_connection_or_another_type_pair_nothing(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        header(),
        text(CLIENT, request(1, "initialize")),
        text(AGENT, result(1), connection=2),
        text(AGENT, result("1")),
        text(AGENT, error(1, -32600)),
    )
    with TraceIndex.open(path) as index:
        assert [index.partner(row) for row in range(1, 5)] == [4, None, None, 1]
        assert index.kind(4) == RecordKind.ERROR


def test_an_answer_under_the_same_number_that_is_written_with_a_fraction_is_a_partner(tmp_path: Path) -> None:
    answer = '{"jsonrpc":"2.0","id":1.0,"result":{}}'
    with TraceIndex.open(write(tmp_path / "t", header(), text(CLIENT, request(1, "x")), text(AGENT, answer))) as index:
        assert [index.partner(row) for row in range(1, 3)] == [2, 1]


def test_an_id_that_is_used_again_pairs_again(tmp_path: Path) -> None:
    again = [text(CLIENT, request(1, "a")), text(AGENT, result(1))]
    with TraceIndex.open(write(tmp_path / "t", header(), *again, *again)) as index:
        assert [index.partner(row) for row in range(1, 5)] == [2, 1, 4, 3]


def test_a_batch_pairs_with_the_batch_of_its_answers(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        header(),
        text(CLIENT, [request(1, "a"), request(2, "b")]),
        text(AGENT, [result(1), result(2)]),
    )
    with TraceIndex.open(path) as index:
        assert [index.kind(row) for row in (1, 2)] == [RecordKind.BATCH] * 2
        assert [index.partner(row) for row in (1, 2)] == [2, 1]


def test_everything_that_is_no_message_has_its_kind(tmp_path: Path) -> None:
    lines = [
        header(),
        text(AGENT, "Loaded cached credentials.", fault="not-json"),
        text(AGENT, "[1, 2]"),
        text(AGENT, "{}"),
        text(AGENT, "null"),
        b'{"type":"stderr","t":1.0,"conn":1,"from":"agent","raw":"warm"}\n',
        b'{"type":"note","t":1.0,"conn":1,"text":"a remark"}\n',
        b'{"type":"start","t":1.0,"conn":1,"from":"agent","pid":1,"command":[]}\n',
        b'{"type":"end","t":1.0,"conn":1,"from":"agent","texts":1,"lost":0,"exit":0}\n',
        b'{"type":"of a later version","t":1.0}\n',
        b"rubbish\n",
        b'{"type":"text","t":"1","conn":true,"from":5,"to":null,"raw":7}\n',
        b'{"type":"text","t":1,"conn":1,"from":"agent","to":"client","enc":"base64","raw":"/w==","fault":"not-utf8"}\n',
        text(AGENT, '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","a":"\\ud83d"}}'),
        text(AGENT, '{"jsonrpc":"2.0","method":"a","params":[1]}'),
        text(AGENT, '{"jsonrpc":"2.0","method":"b","params":{"sessionId":5}}'),
        text(AGENT, '{"jsonrpc":"2.0","id":null,"method":"c"}'),
    ]
    with TraceIndex.open(write(tmp_path / "t", *lines)) as index:
        kinds = [index.kind(row).name for row in range(len(index))]
        methods = [index.method(row) for row in range(13, 17)]
        faulty = [row for row in range(len(index)) if index.has_fault(row)]
        assert index.session(13) == "s"
    assert kinds == [
        *("HEADER", "BROKEN", "BATCH", "BROKEN", "BROKEN", "STDERR", "NOTE", "START", "END", "OTHER", "OTHER"),
        *("BROKEN", "BROKEN", "NOTIFICATION", "NOTIFICATION", "NOTIFICATION", "REQUEST"),
    ]
    assert methods == ["session/update", "a", "b", "c"]
    assert faulty == [1, 3, 4, 11, 12]


def test_a_line_that_is_not_complete_yet_is_indexed_when_it_is(trace: Path) -> None:
    further = text(AGENT, chunk("s1", "more"))
    with TraceIndex.open(trace) as index:
        before = len(index)
        with trace.open("ab") as file:
            file.write(further[:40])
            file.flush()
            assert index.update() == 0
            file.write(further[40:])
            file.flush()
        assert index.update() == 1
        assert json.loads(index.line(before))["raw"].count("more") == 1


def test_lines_may_be_longer_than_what_is_read_at_once(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with TraceIndex.open(trace, keep=False) as index:
        expected = facts(index)
    for size in (1, 7, 100, 1000):
        monkeypatch.setattr(index_module, "CHUNK_BYTES", size)
        with TraceIndex.open(trace, keep=False) as index:
            assert facts(index) == expected


def test_an_index_that_grew_line_by_line_is_the_same_as_one_made_at_once(tmp_path: Path) -> None:
    lines = [header(), *handshake(), *turns(4, 3)]
    path = tmp_path / "growing"
    path.touch()
    for number, line in enumerate(lines):
        with path.open("ab") as file:
            file.write(line)
        with TraceIndex.open(path) as index:
            assert len(index) == number + 1
            grown = facts(index)
    with TraceIndex.open(path, keep=False) as index:
        assert facts(index) == grown


def test_an_answer_that_comes_after_the_index_was_kept_changes_the_kept_request(tmp_path: Path) -> None:
    path = write(tmp_path / "t", header(), text(CLIENT, request(1, "session/new", cwd="/")))
    TraceIndex.open(path).close()
    with path.open("ab") as file:
        file.write(text(AGENT, result(1, sessionId="s9")))
    TraceIndex.open(path).close()
    with TraceIndex.open(path) as index:
        assert (index.partner(1), index.session(1)) == (2, "s9")


def test_the_kept_index_is_used_and_private(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with TraceIndex.open(trace) as index:
        made = facts(index)
    assert stat.S_IMODE(index_path(trace).stat().st_mode) == 0o600

    def refuse(*_: object) -> int:
        pytest.fail("the file was read again")

    monkeypatch.setattr(IndexColumns, "add", refuse)
    with TraceIndex.open(trace) as index:
        assert facts(index) == made


CASES = (
    "other trace",
    "trace changed within",
    "shorter trace",
    "other version",
    "rubbish",
    "no blocks",
    "cut block",
    "other values",
    "other words",
)


@pytest.mark.parametrize("case", CASES)
def test_an_index_that_does_not_fit_is_made_again(case: str, trace: Path) -> None:
    if case == "trace changed within":
        write(trace, header(), *handshake(), *turns(20, 20))
    with TraceIndex.open(trace) as index:
        made = facts(index)
    path = index_path(trace)
    if case == "other trace":
        write(trace, header(agent="other"), *handshake(), *turns(3, 5))
    elif case == "trace changed within":
        # As long as before, and the same at both ends.
        content = trace.read_bytes()
        place = content.index(b"agent_message_chunk", len(content) // 2)
        content = content[:place] + b"agent_thought_chunk" + content[place + 19 :]
        before = trace.stat().st_mtime_ns
        trace.write_bytes(content)
        os.utime(trace, ns=(before, before + 1_000_000))
    elif case == "shorter trace":
        write(trace, header(), *handshake())
    elif case == "rubbish":
        path.write_bytes(b"SQLite format 3\x00 rubbish" * 100)
    else:
        statement = {
            "other version": "pragma user_version = 99",
            "no blocks": "delete from block",
            "cut block": "update block set time = x'00'",
            "other values": "update block set method = zeroblob(length(method))",
            "other words": "update state set value = replace(value, 'session/prompt', 'session/cancel')",
        }[case]
        with closing(sqlite3.connect(path)) as database:
            database.execute(statement)
            database.commit()
    with TraceIndex.open(trace) as index, TraceIndex.open(trace, keep=False) as fresh:
        assert facts(index) == facts(fresh)
        if "trace" not in case:
            assert facts(index) == made


def test_another_programs_file_beside_the_trace_is_left_alone(trace: Path) -> None:
    path = index_path(trace)
    for content in (b"my own notes", None):
        if content is None:
            path.unlink()
            with closing(sqlite3.connect(path)) as database:
                database.execute("create table notes (a)")
                database.commit()
        else:
            path.write_bytes(content)
        before = path.read_bytes()
        with TraceIndex.open(trace) as index:
            assert len(index) > 5
        assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written_to_is_no_error(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with TraceIndex.open(trace) as index:
        assert len(index) > 5
        assert not index.save()
    assert not index_path(trace).exists()


def test_two_processes_that_keep_the_same_index_do_not_mix_their_rows(trace: Path) -> None:
    one, other = TraceIndex.open(trace), TraceIndex.open(trace)
    with trace.open("ab") as file:
        file.write(b"".join(turns(1, 3, "s2")))
    one.update()
    other.update()
    with trace.open("ab") as file:
        file.write(b"".join(turns(1, 3, "s3")))
    other.update()
    other.close()
    one.close()
    with TraceIndex.open(trace) as index, TraceIndex.open(trace, keep=False) as fresh:
        assert facts(index) == facts(fresh)


def test_rows_beyond_one_block_are_found_by_number_without_loading_the_index(tmp_path: Path) -> None:
    count = BLOCK_ROWS + 100
    path = write(tmp_path / "t", header(), *(text(AGENT, chunk("s", str(number))) for number in range(count)))
    with TraceIndex.open(path) as index:
        assert len(index) == count + 1
    for row in (1, BLOCK_ROWS - 1, BLOCK_ROWS, count):
        record = message_at(path, row)
        assert record is not None
        assert json.loads(record.raw)["params"]["update"]["content"]["text"] == str(row - 1)
    assert message_at(path, count + 1) is None
    assert IndexFile(path).read_place(10 * BLOCK_ROWS) is None


def test_filters_hold_together(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        header(),
        *handshake(),
        text(AGENT, chunk("s1", "apple")),
        text(AGENT, chunk("s2", "apple")),
        text(AGENT, chunk("s1", "pear")),
        text(CLIENT, request(5, "session/prompt", sessionId="s1", prompt=[])),
        text(AGENT, error(5, -32603)),
        text(AGENT, "apple, but no JSON", fault="not-json"),
    )
    with TraceIndex.open(path) as index:

        def rows(**wanted: object) -> list[int]:
            return list(index.select(RowFilter(**wanted)))  # type: ignore[arg-type]

        assert rows() == list(range(len(index)))
        assert rows(session="s1") == [3, 4, 5, 7, 8, 9]
        assert rows(session="nobody") == []
        assert rows(method="session/update") == rows(method="agent_message_chunk") == [5, 6, 7]
        assert rows(method="session/*") == [3, 4, 5, 6, 7, 8, 9]
        assert rows(method="session/") == []
        assert rows(grep=re.compile('"text":"app')) == [5, 6]
        assert rows(grep=re.compile("apple"), session="s1") == [5]
        assert rows(errors=True) == [9, 10]
        assert rows(source="client") == [1, 3, 8]
        assert list(index.select(RowFilter(session="s1"), start=6)) == [7, 8, 9]


def test_a_hostile_file_cannot_make_the_index_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.trace.index_columns.MAX_WORDS", 10)
    monkeypatch.setattr("accord.trace.index_columns.MAX_OPEN", 10)
    columns = IndexColumns()
    lines = [text(CLIENT, request(number, f"m{number}" * 300)).rstrip() for number in range(100)]
    columns.add(lines, 0)
    assert len(columns.state.words) <= 11
    assert max(map(len, columns.state.words)) <= 200
    assert len(columns.state.open) <= 10
    assert MAX_WORDS > 10


def test_requests_in_batches_cannot_make_the_index_large_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.trace.index_columns.MAX_OPEN", 10)
    columns = IndexColumns()
    columns.add([text(CLIENT, [request(number, "m") for number in range(100)]).rstrip()], 0)
    assert [id_ for _, _, id_ in columns.state.open] == list(range(90, 100))


def test_a_line_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(index_module, "CHUNK_BYTES", 100)
    with pytest.raises(TraceFileError):
        TraceIndex.open(write(tmp_path / "t", header(), b"x" * 2000))


def test_a_direction_has_its_opposite() -> None:
    state = IndexState()
    there, back, alone = state.direction("a", "b"), state.direction("b", "a"), state.direction("a", "a")
    assert (state.reverse[there], state.reverse[back], state.reverse[alone]) == (back, there, alone)


def test_the_sample_is_indexed_whole() -> None:
    with TraceIndex.open(SAMPLES / "accord.jsonl", keep=False) as index:
        requests = [row for row in range(len(index)) if index.kind(row) == RecordKind.REQUEST]
        assert len(requests) == 5
        assert all(index.partner(row) is not None for row in requests)
