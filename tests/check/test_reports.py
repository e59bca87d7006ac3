"""The report for programs and pages: the public kit's keys, XML that every CI reads, a page that is a page."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from accord.check import CAUSES, CheckRule, Judgement, Options, Outcome, Report
from accord.check.engine.evidence import Entry, Record
from accord.check.engine.report import document_of, documents_of, group, junit_of, markdown_of

ASKED = Entry(sent=True, seconds=0.1, raw=b'{"jsonrpc":"2.0","id":1,"method":"session/prompt"}', message=None, place=0)
ANSWERED = ASKED._replace(sent=False, raw=b'{"id":1,"error":"\x00 | \xff"}' + b"x" * 10_000)
RECORD = Record("01 bare", [ASKED, ANSWERED], b"", b"a traceback\n", "closed stdin", 0)


def rule(id_: str, tier: str, **more: str) -> CheckRule:
    return CheckRule("v2", id_, tier, f"{id_} holds", "protocol/page", **more)  # type: ignore[arg-type]


OUTCOMES = [
    Outcome(rule("ACP-A-001", "mandatory"), (Judgement("ok", "PASS"),)),
    Outcome(
        rule("ACP-B-001", "capability", gate="initialize.x"),
        (
            Judgement("skips", "SKIPPED", "no"),
            Judgement("fails", "FAIL", "an error | came", "", (ASKED, ANSWERED), 0.5, RECORD),
        ),
    ),
    Outcome(rule("ACP-B-002", "capability"), (Judgement("fails", "FAIL", "no end", "ACP-B-001"),)),
    Outcome(rule("ACP-C-001", "advisory"), (Judgement("fails", "FAIL", "should be better"),)),
    Outcome(rule("ACP-D-001", "informational"), (Judgement("notes", "PASS", "it said nothing"),)),
    Outcome(rule("ACP-E-001", "mandatory", superseded="November has none")),
    Outcome(rule("ACP-F-001", "advisory"), (Judgement("skips", "SKIPPED", "not advertised"),)),
]


def report(outcomes: list[Outcome] = OUTCOMES) -> Report:
    return Report(
        Options(edition="v2"),
        "agent",
        ("python", "agent.py"),
        outcomes,
        "2026-11-16T00:00:00+00:00",
        "2026-11-16T00:00:01+00:00",
        1.0,
        {"name": "odd | agent", "version": "1"},
        {},
        3,
        findings=group(outcomes, CAUSES),
    )


def test_the_json_has_the_keys_of_the_public_kit() -> None:
    document = json.loads(json.dumps(document_of(report())))
    assert document.keys() >= {
        "tck_version", "protocol_version", "schema_revision", "agent_command", "agent_info", "agent_capabilities",
        "started_at", "finished_at", "requirements", "verdict",
    }  # fmt: skip
    first, broken = document["requirements"][:2]
    assert first.keys() >= {"id", "tier", "capability", "text", "citation", "status", "tests"}
    assert (first["id"], first["tier"], first["capability"], first["status"]) == (
        "ACP-A-001",
        "MANDATORY",
        None,
        "PASS",
    )
    test = broken["tests"][1]
    assert test.keys() >= {"nodeid", "status", "message", "duration_s", "properties", "transcript", "stderr"}
    assert [line["dir"] for line in test["transcript"]] == ["sent", "received"]
    assert test["stderr"] == "a traceback\n"
    assert first["tests"][0]["transcript"] is None
    assert document["verdict"] == {
        "conformant": False,
        "tier_counts": {
            "MANDATORY": {"PASS": 1, "SUPERSEDED": 1},
            "CAPABILITY": {"FAIL": 2},
            "ADVISORY": {"FAIL": 1, "SKIPPED": 1},
            "INFORMATIONAL": {"PASS": 1},
        },
        "blocked_by_auth": False,
        "blocked_by_version_mismatch": False,
    }
    assert document["findings"][0] == {"id": "ACP-B-001", "says": "an error | came", "also": ["ACP-B-002"]}


def test_several_editions_are_several_reports() -> None:
    document = documents_of([report(), report()])
    assert [each["edition"] for each in document["reports"]] == ["v2", "v2"]


def test_the_verdict_is_made_by_what_binds() -> None:
    binding = [each for each in OUTCOMES if each.rule.tier != "capability"]
    assert report(binding).conformant
    assert not report([*binding, Outcome(rule("ACP-G-001", "mandatory"))]).conformant
    assert report([*binding, Outcome(rule("ACP-G-001", "capability"))]).conformant
    blocked = report(binding)
    blocked.blocked_by_auth = True
    assert not blocked.conformant


def test_junit_counts_what_binds_as_failures_and_holds_any_bytes() -> None:
    suite = ET.fromstring(junit_of([report()]))[0]  # noqa: S314 - it is ours
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("7", "2", "3")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "an error | came"
    assert " characters … " in (failure.text or "")
    assert {case.get("name", "").split()[0] for case in suite} == {each.rule.id for each in OUTCOMES}


def test_the_page_has_the_finding_its_proof_and_all_rules() -> None:
    page = markdown_of([report()])
    assert "# odd \\| agent 1: v2" in page
    assert "### ACP-B-001 (capability)" in page
    assert "Fell with it: ACP-B-002." in page
    assert '→ {"jsonrpc":"2.0","id":1,"method":"session/prompt"}' in page
    rows = [line for line in page.splitlines() if line.startswith("| ACP-")]
    assert len(rows) == len(OUTCOMES)
    assert all(row.replace("\\|", "").count("|") == 5 for row in rows)
