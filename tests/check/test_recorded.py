"""Recorded conversations are judged by the rules that need no provocation; the others are named as not judged."""

from pathlib import Path
from typing import Any

import pytest

from accord.check import RULES, recorded
from accord.check.recorded import NOT_FROM_RECORDS, RecordedJudgement, judge_recorded
from accord.trace.index import TraceIndex
from tests.tables import rows
from tests.trace.traces import AGENT, CLIENT, SAMPLES, handshake, header, request, result, text, turns, write


def judged(path: Path) -> dict[tuple[str, str], RecordedJudgement]:
    with TraceIndex.open(path, keep=False) as index:
        return {(each.edition, each.side): each for each in judge_recorded(index)}


def ids(judgement: RecordedJudgement, status: str) -> set[str]:
    return {outcome.rule.id for outcome in judgement.with_status(status)}


def update(**fields: Any) -> bytes:
    return text(AGENT, {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": fields}})


def test_the_rules_that_are_left_out_by_name_exist() -> None:
    assert {rule.id for rule in RULES} >= NOT_FROM_RECORDS


def test_both_sides_of_a_conversation_in_order_keep_every_judged_rule() -> None:
    found = judged(SAMPLES / "accord.jsonl")
    assert set(found) == {("v1", "agent"), ("v1", "client")}
    for judgement in found.values():
        broken = [
            each.rule.id for each in judgement.with_status("FAIL") if each.rule.tier in ("mandatory", "capability")
        ]
        assert broken == []
        assert len(judgement.with_status("PASS")) >= 10
        assert len(judgement.with_status("SKIPPED")) >= 50


@rows(
    ("line", "rule"),
    [
        (update(sessionUpdate="tool_call", toolCallId="c", title="x", locations=[{"path": "a"}]), "ACCORD-PATH-001"),
        (text(AGENT, "stray print"), "ACP-TRANSPORT-001"),
        (text(AGENT, request(5, "fs/read_text_file", sessionId="s1", path="/a")), "ACP-CLIENTCAP-001"),
        (text(AGENT, {"jsonrpc": "2.0", "id": 99, "result": 1, "error": {}}), "ACP-JSONRPC-002"),
    ],
)
def test_a_rule_that_an_agent_broke_is_named(line: bytes, rule: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(1, 1), line)
    found = judged(path)["v1", "agent"]
    assert rule in ids(found, "FAIL")
    clean = judged(write(tmp_path / "clean", header(), *handshake(), *turns(1, 1)))["v1", "agent"]
    assert rule not in ids(clean, "FAIL")


@rows(
    ("line", "rule"),
    [
        (text(CLIENT, request(5, "session/new", cwd="relative", mcpServers=[])), "ACCORD-CLIENT-SESSION-001"),
        (text(CLIENT, request(5, "session/prompt", sessionId="s1", prompt="text")), "ACCORD-CLIENT-PROMPT-001"),
        (text(CLIENT, result(77)), "ACCORD-CLIENT-ANSWER-003"),
    ],
)
def test_a_rule_that_a_client_broke_is_named(line: bytes, rule: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(1, 1), line)
    assert rule in ids(judged(path)["v1", "client"], "FAIL")


def test_each_edition_of_a_trace_is_judged_by_its_own_rules(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        header(),
        *handshake(),
        text(CLIENT, request(0, "initialize", protocolVersion=2, info={}, capabilities={}), connection=2),
        text(AGENT, result(0, protocolVersion=2, info={"name": "a"}, capabilities={"session": {}}), connection=2),
    )
    assert {edition for edition, _ in judged(path)} == {"v1", "v2"}


def test_a_trace_that_takes_too_much_memory_is_judged_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t", header(), *handshake(), *turns(1, 50))
    assert not judged(path)["v1", "agent"].is_cut
    monkeypatch.setattr(recorded, "MAX_TOTAL_BYTES", 10_000)
    assert judged(path)["v1", "agent"].is_cut
