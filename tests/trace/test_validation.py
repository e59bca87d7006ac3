"""Messages of a trace against the types of their edition."""

from pathlib import Path
from typing import Any

from accord.trace.index import TraceIndex
from accord.trace.validation import MessageFinding, validate_messages
from tests.tables import rows
from tests.trace.traces import AGENT, CLIENT, SAMPLES, error, handshake, header, request, result, text, turns, write


def findings(path: Path) -> list[MessageFinding]:
    with TraceIndex.open(path, keep=False) as index:
        return list(validate_messages(index))


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def test_a_conversation_in_order_has_no_findings(tmp_path: Path) -> None:
    assert findings(SAMPLES / "accord.jsonl") == []
    assert findings(write(tmp_path / "t", header(), *handshake(), *turns(2, 2))) == []


@rows(
    ("line", "field"),
    [
        (text(CLIENT, request(5, "session/prompt", sessionId="s1")), "prompt"),
        (text(AGENT, notification("session/update", sessionId="s1", update={"sessionUpdate": "tool_call"})), "update"),
        (text(CLIENT, request(5, "no_such/method")), ""),
        (text(AGENT, request(5, "session/prompt", sessionId="s1", prompt=[])), ""),
        (text(CLIENT, notification("session/prompt", sessionId="s1", prompt=[])), ""),
        (text(CLIENT, request(5, "session/cancel", sessionId="s1")), ""),
        (text(AGENT, result(99)), ""),
        (text(AGENT, error(99, -32603)), ""),
        (text(AGENT, "stray print", fault="not-json"), ""),
        (text(AGENT, "[]"), ""),
        (text(CLIENT, '{"jsonrpc":"2.0","id":1.5,"method":"initialize"}'), ""),
    ],
)
def test_a_message_that_does_not_fit_is_wrong(line: bytes, field: str, tmp_path: Path) -> None:
    found = findings(write(tmp_path / "t", header(), *handshake(), line))
    assert [(each.row, each.severity) for each in found] == [(5, "wrong")]
    assert found[0].field.startswith(field)


def test_a_result_that_does_not_fit_is_wrong(tmp_path: Path) -> None:
    asked = text(CLIENT, request(5, "session/prompt", sessionId="s1", prompt=[]))
    found = findings(write(tmp_path / "t", header(), *handshake(), asked, text(AGENT, result(5, stopReason=7))))
    assert [(each.row, each.field) for each in found] == [(6, "stopReason")]


def test_a_value_that_the_schema_excuses_is_tolerated(tmp_path: Path) -> None:
    bad = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "x", "locations": [{"line": "no path"}]}
    line = text(AGENT, notification("session/update", sessionId="s1", update=bad))
    found = findings(write(tmp_path / "t", header(), *handshake(), line))
    assert [each.severity for each in found] == ["tolerated"]


def test_unknown_variants_and_extensions_are_no_fault(tmp_path: Path) -> None:
    lines = [
        text(AGENT, notification("session/update", sessionId="s1", update={"sessionUpdate": "of_tomorrow", "a": 1})),
        text(AGENT, notification("_vendor/news", a=1)),
        text(CLIENT, request(6, "_vendor/call")),
    ]
    assert findings(write(tmp_path / "t", header(), *handshake(), *lines)) == []


def test_a_message_is_judged_by_the_edition_of_its_own_connection(tmp_path: Path) -> None:
    answer = result(0, protocolVersion=2, info={"name": "a", "version": "1"}, capabilities={"session": {}})
    hello = request(0, "initialize", protocolVersion=2, info={"name": "c", "version": "1"}, capabilities={})
    mode = request(9, "session/set_mode", sessionId="s1", modeId="x")
    path = write(
        tmp_path / "t",
        header(),
        *handshake(),
        text(CLIENT, hello, connection=2),
        text(AGENT, answer, connection=2),
        text(CLIENT, mode),
        text(CLIENT, mode, connection=2),
    )
    assert [each.row for each in findings(path)] == [8]


def test_what_passes_between_proxies_is_not_judged(tmp_path: Path) -> None:
    line = text(("proxy:0", "proxy:1"), request(5, "no_such/method"))
    assert findings(write(tmp_path / "t", header(), *handshake(), line)) == []
