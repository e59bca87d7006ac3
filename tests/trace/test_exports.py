"""Exports: other recordings that are read back as the same conversation, spans, a document for people, a test."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from accord.trace import TraceFileError
from accord.trace.conversion import plain_trace
from accord.trace.exports import traces as traces_module
from accord.trace.exports.selection import EXPORTS, ExportSelection
from accord.trace.imports.recognition import recognise
from accord.trace.index import RowFilter, TraceIndex
from accord.trace.reader import open_trace
from tests.limits import limit
from tests.live_markdown import HOSTILE_MARKDOWN, live_markup
from tests.tables import rows
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

SECRET = "sk-abcdefgh12345678"  # noqa: S105 - of the sample, and of no service


def export(path: Path, form: str, **wanted: Any) -> str:
    """An export of a trace of ours."""
    pieces: list[str] = []
    is_masked, format_ = wanted.pop("is_masked", True), wanted.pop("format_", "accord-trace")
    with TraceIndex.open(path, keep=False) as index:
        rows = index.select(RowFilter(**wanted))
        selection = ExportSelection(index, list(rows), is_masked=is_masked, name=path.name, format_=format_)
        EXPORTS[form].write(selection, pieces.append)
    return "".join(pieces)


def conversation(path: Path) -> list[tuple[str, str, Any]]:
    with plain_trace(path) as trace:
        return [
            (record.source, record.target, json.loads(record.raw))
            for record in open_trace(trace.path)
            if record.type == "text" and not record.fault
        ]


ROUND_TRIPS = {
    "accord-trace": "accord-trace",
    "acp-inspector-trace": "acp-inspector-trace",
    "conductor": "conductor",
    "devtools": "acp-devtools",
    "ndjson": "ndjson",
}


@rows("form", ROUND_TRIPS)
def test_an_export_is_imported_as_the_same_conversation(form: str, tmp_path: Path) -> None:
    path = tmp_path / "exported"
    path.write_text(export(SAMPLES / "accord.jsonl", form), encoding="utf-8")
    assert recognise(path) == ROUND_TRIPS[form]
    expected, found = conversation(SAMPLES / "accord.jsonl"), conversation(path)
    if form == "conductor":
        # Its ids are our own: unique for each receiver.
        assert [message.get("id", "").startswith("1:") for *_, message in found if "id" in message] == [True] * 10
        expected, found = ([(a, b, {**m, "id": ""}) for a, b, m in each] for each in (expected, found))
    assert found == expected


@rows("form", EXPORTS)
def test_secrets_are_masked_on_the_way_out_unless_the_user_wants_them(form: str) -> None:
    assert SECRET in (SAMPLES / "accord.jsonl").read_text(encoding="utf-8")
    masked = export(SAMPLES / "accord.jsonl", form, is_masked=False)
    assert SECRET not in masked
    if form in ROUND_TRIPS:
        assert "<secret:" in masked
        assert SECRET in export(SAMPLES / "accord.jsonl", form, is_masked=True)
    if form == "accord-trace":
        records = [json.loads(line) for line in masked.splitlines()]
        assert records[0]["redacted"] is True
        assert sum(record.get("redacted", False) for record in records[1:]) == 1


@rows("form", EXPORTS)
def test_secrets_in_commands_stray_prints_and_unreadable_lines_are_masked_too(form: str, tmp_path: Path) -> None:
    command = ["my-agent", "--api-key", "hunter2-hunter2"]
    lines = (
        header(command=command, redacted=False),
        json.dumps({"type": "start", "t": 1.0, "conn": 1, "from": "agent", "pid": 7, "command": command}).encode()
        + b"\n",
        text(("client", "agent"), request(0, "initialize", protocolVersion=1)),
        text(("agent", "client"), "MY_API_KEY=hunter2-hunter2", fault="not-json"),
        b'{"type":"text","raw":"API_KEY=hunter2-hunter2\n',
        b'{"type":"later","t":1.0,"password":"hunter2-hunter2"}\n',
    )
    path = write(tmp_path / "raw.jsonl", *lines)

    masked = export(path, form, is_masked=False)

    assert "hunter2" not in masked
    if form == "accord-trace":
        records = [json.loads(line) for line in masked.splitlines() if line.endswith("}")]
        assert [record["type"] for record in records] == ["header", "start", "text", "text", "later"]
        assert [record.get("redacted", False) for record in records[:4]] == [True, True, False, True]
        assert records[0]["command"][:2] == records[1]["command"][:2] == command[:2]
        assert "hunter2" in export(path, form, is_masked=True)


def test_our_own_export_has_the_other_records_and_the_header_of_a_selection() -> None:
    whole = export(SAMPLES / "accord.jsonl", "accord-trace")
    assert whole == (SAMPLES / "accord.jsonl").read_text(encoding="utf-8")
    part = export(SAMPLES / "accord.jsonl", "accord-trace", method="session/prompt").splitlines()
    assert [json.loads(line)["type"] for line in part] == ["header", "text", "text"]


def test_bare_messages_of_one_side_are_what_that_program_sent() -> None:
    lines = export(SAMPLES / "accord.jsonl", "ndjson", source="client").splitlines()
    assert [json.loads(line).get("method") for line in lines] == [
        *("initialize", "session/new", "session/prompt", None, None),
    ]


def test_the_inspectors_header_counts_frames_and_what_it_cannot_hold(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        header(),
        text(CLIENT, request(1, "initialize")),
        text(("client", "proxy:0"), request(1, "initialize")),
        b'{"type":"text","t":1,"conn":1,"from":"agent","to":"client","enc":"base64","raw":"/w==","fault":"not-utf8"}\n',
    )
    first = json.loads(export(path, "acp-inspector-trace").splitlines()[0])
    assert (first["frames"], first["dropped"]) == (1, 2)
    assert isinstance(first["at"], int)


# --- the conductor's viewer


def test_an_answer_has_the_id_of_its_request_and_no_two_requests_to_one_receiver_share_one(tmp_path: Path) -> None:
    again = [text(CLIENT, request(1, "a")), text(AGENT, result(1))]
    path = write(
        tmp_path / "t", header(), *again, *again, text(CLIENT, request(1, "a"), connection=2), text(AGENT, result(99))
    )
    events = [json.loads(line) for line in export(path, "conductor").splitlines()]
    assert [event["id"] for event in events] == ["1:1", "1:1", "1:1#2", "1:1#2", "2:1"]
    assert {event["from"] for event in events} == {"client", "agent"}


def test_runs_of_chunks_are_one_event_in_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(2, 30))
    assert len(export(path, "conductor").splitlines()) == 4 + 2 * 32
    monkeypatch.setattr(traces_module, "MAX_EVENTS", 20)
    events = [json.loads(line) for line in export(path, "conductor").splitlines()]
    assert len(events) == 4 + 2 * 3
    runs = [event for event in events if "collapsed" in event]
    assert [event["collapsed"] for event in runs] == [30, 30]
    assert runs[0]["params"]["update"]["content"]["text"].startswith("0.0 0.1 0.2 ")


# --- acp-devtools


def test_the_devtools_export_has_every_key_that_its_parser_wants() -> None:
    document = json.loads(export(SAMPLES / "accord.jsonl", "devtools"))
    assert type(document["exportedAt"]) is int
    session = document["session"]
    assert set(session) == {"id", "name", "agentCommand", "clientName", "startedAt", "endedAt"}
    assert type(session["id"]) is int
    assert session["agentCommand"] == "my-agent"
    kinds = [message["kind"] for message in document["messages"]]
    assert set(kinds) == {"request", "response", "error", "notification"}
    assert [message["seq"] for message in document["messages"]] == list(range(1, 14))


def test_acp_devtools_imports_the_export(tmp_path: Path) -> None:
    program = shutil.which("acp-devtools")
    if program is None:
        pytest.skip("acp-devtools is not installed: npm install -g acp-devtools")
    path, database = tmp_path / "export.json", tmp_path / "captures.db"
    path.write_text(export(SAMPLES / "accord.jsonl", "devtools"), encoding="utf-8")
    done = subprocess.run(
        [program, "import", str(path), "--db", str(database)], capture_output=True, timeout=limit(60), check=False
    )
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(database)) as opened:
        assert opened.execute("select count(*) from messages").fetchone() == (13,)


# --- spans


def spans_of(path: Path, **wanted: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in export(path, "otlp", **wanted).splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                found += scope["spans"]
    return found


def attribute(span: dict[str, Any], key: str) -> Any:
    return next((next(iter(each["value"].values())) for each in span["attributes"] if each["key"] == key), None)


@pytest.fixture
def span_named() -> Callable[[str], dict[str, Any]]:
    spans = spans_of(SAMPLES / "accord.jsonl")
    return lambda name: next(span for span in spans if span["name"] == name)


def test_a_session_is_a_trace_and_its_requests_are_spans(span_named: Callable[[str], dict[str, Any]]) -> None:
    root, prompt = span_named("session"), span_named("session/prompt")
    assert prompt["traceId"] == root["traceId"] == span_named("session/new")["traceId"]
    assert prompt["parentSpanId"] == root["spanId"]
    assert (prompt["kind"], span_named("fs/read_text_file")["kind"]) == (3, 2)
    assert int(prompt["endTimeUnixNano"]) - int(prompt["startTimeUnixNano"]) == 2_000_000_000
    assert attribute(prompt, "acp.stop_reason") == "end_turn"
    assert [event["name"] for event in prompt["events"]] == ["agent_message_chunk", "tool_call", "tool_call_update"]
    assert span_named("initialize")["traceId"] != root["traceId"]


def test_a_tool_call_and_the_wait_for_permission_are_children_of_the_turn(
    span_named: Callable[[str], dict[str, Any]],
) -> None:
    tool, wait = span_named("execute_tool edit"), span_named("session/request_permission")
    assert tool["parentSpanId"] == span_named("session/prompt")["spanId"]
    assert wait["parentSpanId"] == tool["spanId"]
    assert attribute(tool, "gen_ai.tool.call.id") == "call-1"
    assert attribute(tool, "gen_ai.operation.name") == "execute_tool"


def test_an_error_answer_is_a_failed_span_and_no_body_is_exported(
    span_named: Callable[[str], dict[str, Any]],
) -> None:
    failed = span_named("fs/read_text_file")
    assert failed["status"]["code"] == 2
    assert attribute(failed, "error.type") == "-32002"
    assert "hallo" not in export(SAMPLES / "accord.jsonl", "otlp")


def test_the_parent_in_the_metadata_of_a_request_is_the_parent_of_its_span(tmp_path: Path) -> None:
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    meta = {"traceparent": f"00-{trace}-{span}-01"}
    path = write(
        tmp_path / "t",
        header(),
        *handshake(),
        text(CLIENT, request(2, "session/prompt", sessionId="s1", prompt=[], _meta=meta)),
        text(CLIENT, request(3, "session/prompt", sessionId="s1", prompt=[], _meta={"traceparent": "00-0-0-00"})),
    )
    prompts = [each for each in spans_of(path) if each["name"] == "session/prompt"]
    found = {(each["traceId"] == trace, each["parentSpanId"] == span) for each in prompts}
    assert found == {(True, True), (False, False)}
    assert all(attribute(each, "acp.unanswered") for each in prompts)


def test_a_turn_of_v2_ends_when_the_session_is_idle(tmp_path: Path) -> None:
    def state(name: str, t: float, **more: Any) -> bytes:
        update = {"sessionUpdate": "state_update", "state": name, **more}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}
        return text(AGENT, message, t=t)

    prompt = request(2, "session/prompt", sessionId="s1", prompt=[{"type": "text", "text": "go"}])
    path = write(
        tmp_path / "t",
        header(),
        text(CLIENT, request(0, "initialize", protocolVersion=2, info={"name": "c", "version": "1"}, capabilities={})),
        text(AGENT, result(0, protocolVersion=2, info={"name": "a", "version": "1"}, capabilities={"session": {}})),
        text(CLIENT, request(1, "session/new", cwd="/p", mcpServers=[])),
        text(AGENT, result(1, sessionId="s1")),
        text(CLIENT, prompt, t=101.0),
        text(AGENT, result(2, messageId="m1"), t=101.5),
        state("running", 102.0),
        state("idle", 105.0, stopReason="end_turn"),
    )
    turn = next(each for each in spans_of(path) if each["name"] == "session/prompt")
    assert int(turn["endTimeUnixNano"]) == 105_000_000_000
    assert attribute(turn, "acp.protocol.version") == "2"


def test_many_spans_are_several_lines_and_many_updates_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(1, 1500), *turns(600, 1, "s1"))
    lines = export(path, "otlp").splitlines()
    assert len(lines) == 2
    longest = max(spans_of(path), key=lambda span: len(span.get("events", ())))
    assert (len(longest["events"]), longest["droppedEventsCount"]) == (1000, 500)


# --- people, models and tests


def test_the_document_quotes_what_was_said_and_lists_what_went_wrong(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        header(),
        *handshake(),
        *turns(1, 2),
        text(AGENT, chunk("s1", "# no heading\x1b[31m of ours")),
        text(AGENT, "not JSON", fault="not-json"),
        text(CLIENT, request(50, "session/close", sessionId="s1")),
        text(CLIENT, request(51, "session/fork", sessionId="s1")),
        text(AGENT, error(51, -32601)),
    )
    document = export(path, "md")
    assert "> question 0" in document
    assert "> # no heading of ours" in document
    headings = [line for line in document.splitlines() if line.startswith("#")]
    assert [line.rpartition(":")[0] or line for line in headings] == [
        *("# t", "## Session `s1`", "## Error answers", "## Faulty texts", "## Requests without an answer"),
    ]


def test_the_ends_of_a_faulty_text_bring_no_heading_into_the_document(tmp_path: Path) -> None:
    faulty = json.loads(text(AGENT, "not JSON", fault="not-json"))
    line = json.dumps({**faulty, "from": "agent\n# forged", "to": "client\n# forged"}).encode() + b"\n"
    document = export(write(tmp_path / "t", header(), *handshake(), line), "md")
    assert "forged" in document
    assert [each for each in document.splitlines() if each.startswith("# ")] == ["# t"]


def with_everywhere(path: Path, word: str) -> str:
    """The document of a trace that has a text in every place where an end may put one."""
    faulty = json.loads(text(AGENT, word, fault="not-json"))
    stray = {"type": "stderr", "t": 101.0, "conn": 1, "from": "agent", "raw": word}
    call = {"toolCallId": word, "title": word, "kind": word, "status": word, "locations": [{"path": word}]}
    updates = (
        {"sessionUpdate": "plan", "entries": [{"content": word, "status": word, "priority": "high"}]},
        {"sessionUpdate": "tool_call", **call},
    )
    params = [{"sessionId": "s1", "update": update} for update in updates]
    write(
        path,
        header(),
        *handshake(),
        text(CLIENT, request(9, "session/prompt", sessionId="s1", prompt=[{"type": "text", "text": word}])),
        text(AGENT, chunk("s1", word)),
        *(text(AGENT, {"jsonrpc": "2.0", "method": "session/update", "params": each}) for each in params),
        text(CLIENT, request(51, word)),
        text(AGENT, error(51, -32601, word)),
        text(AGENT, chunk(word, word)),
        *(json.dumps(each).encode() + b"\n" for each in ({**faulty, "from": word, "to": word}, stray, stray)),
    )
    return export(path, "md")


@pytest.mark.parametrize("evil", HOSTILE_MARKDOWN)
def test_nothing_of_others_is_markup_in_the_document(tmp_path: Path, evil: str) -> None:
    name = evil.replace("/", "").replace("\n", "")
    document, harmless = with_everywhere(tmp_path / name, evil), with_everywhere(tmp_path / "u", "harmless")
    assert live_markup(document) == live_markup(harmless)
    assert set(live_markup(harmless)) == {"heading_open", "em_open"}


@pytest.mark.parametrize("secret", ["sk-abcdefgh12345678", "https://a.b/c#access_token=abcdefgh", "MY_TOKEN=abcdefgh"])
def test_a_secret_is_masked_wherever_it_stands_in_the_document(tmp_path: Path, secret: str) -> None:
    with_everywhere(tmp_path / "t", secret)
    assert "abcdefgh" not in export(tmp_path / "t", "md", is_masked=False)


def test_a_recording_of_another_tool_is_no_test_yet() -> None:
    with plain_trace(SAMPLES / "zed.json") as trace, pytest.raises(TraceFileError):
        export(trace.path, "pytest", format_=trace.format)


def test_a_test_of_a_file_with_any_name_is_a_module(tmp_path: Path) -> None:
    name = 'a"""b\\N{x}\\'
    source = export(write(tmp_path / name, header(), *handshake()), "pytest")
    compile(source, "test_it.py", "exec", dont_inherit=True)
    assert repr(name) in source


@pytest.mark.parametrize("name", [b"\xff.jsonl", b"a\xed\xa0\x80b", "\u2028\x85\x0c\ttalk é".encode(), b"a\rb\nc"])
def test_a_test_of_a_file_whose_name_is_not_utf_8_is_a_module(tmp_path: Path, name: bytes) -> None:
    path = write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)), header(), *handshake())
    source = export(path, "pytest").encode()
    code = compile(source, "test_it.py", "exec", dont_inherit=True)
    constants = [each for each in code.co_consts if hasattr(each, "co_consts")]
    assert os.fsdecode(name) in constants[0].co_consts


def test_the_test_has_an_answer_for_each_question() -> None:
    source = export(SAMPLES / "accord.jsonl", "pytest")
    compile(source, "test_accord.py", "exec")
    assert "permission=[True] * 1" in source
    assert "def test_the_conversation_of_accord(" in source


def test_the_test_passes_with_the_trace_beside_it(tmp_path: Path) -> None:
    prompt = request(2, "session/prompt", sessionId="s1", prompt=[{"type": "text", "text": "hello"}])
    trace = write(
        tmp_path / "talk.jsonl",
        header(),
        *handshake(),
        text(CLIENT, prompt),
        text(AGENT, chunk("s1", "hello to you")),
        text(AGENT, result(2, stopReason="end_turn")),
    )
    (tmp_path / "test_talk.py").write_text(export(trace, "pytest"), encoding="utf-8")
    plugins = ("-p", "no:cacheprovider", "-p", "accord.testing.plugin")
    line = [sys.executable, "-m", "pytest", "-q", *plugins, "test_talk.py"]
    # Of the plugins that are installed here it needs one.
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(line, cwd=tmp_path, env=alone, capture_output=True, timeout=limit(60), check=False)
    assert done.returncode == 0, done.stdout.decode()
