"""The report formats: JSON with the keys of the public kit, JUnit XML, Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from accord.check.engine.outcome import Finding, Judgement, Outcome, Report
from accord.check.engine.record import Entry
from accord.check.rule import VERSIONS
from accord.display import exact, prose, prose_line
from accord.version import VERSION

SCHEMAS = {"v1": "2026-11", "v2": "2026-11-draft", "v2_june": "2026-06-11-draft"}
"""The state of each edition's schema that its rules were taken from."""
# A report is read by people: the middle of a line of many megabytes proves nothing.
_TRANSCRIPT_LINES = 2000
_SHOWN_CHARACTERS = 4000


def documents_of(reports: Sequence[Report]) -> dict[str, Any]:
    """One report as an object; several, one per edition, in a list."""
    if len(reports) == 1:
        return document_of(reports[0])
    return {"tck_version": f"accord {VERSION}", "reports": [document_of(report) for report in reports]}


def document_of(report: Report) -> dict[str, Any]:
    edition = report.options.edition
    return {
        "tck_version": f"accord {VERSION}",
        "protocol_version": VERSIONS[edition],
        "edition": edition,
        "side": report.side,
        "schema_revision": SCHEMAS[edition],
        "agent_command": list(report.command),
        "agent_info": report.info,
        "agent_capabilities": report.capabilities,
        "started_at": report.started_at,
        "finished_at": report.finished_at,
        "duration_s": round(report.seconds, 3),
        "processes": report.processes,
        "scoped": report.scoped,
        "requirements": [_requirement(outcome) for outcome in report.outcomes],
        "findings": [_finding(finding) for finding in report.findings],
        "left_by_an_earlier_check": list(report.left),
        "left_alone": list(report.untouched),
        "not_set_back": list(report.unrestored),
        "verdict": {
            "conformant": report.conformant,
            "tier_counts": {tier.upper(): counts for tier, counts in report.tier_counts().items()},
            "blocked_by_auth": report.blocked_by_auth,
            "blocked_by_version_mismatch": report.blocked_by_version,
        },
    }


def _requirement(outcome: Outcome) -> dict[str, Any]:
    rule = outcome.rule
    return {
        "id": rule.id,
        "tier": rule.tier.upper(),
        "capability": rule.gate or None,
        "text": rule.says,
        "citation": rule.page,
        "side": rule.side,
        "status": outcome.status,
        "superseded": rule.superseded or None,
        "tests": [_test(test) for test in outcome.tests],
    }


def _test(test: Judgement) -> dict[str, Any]:
    has_failed = test.status == "FAIL"
    record = test.record
    return {
        "nodeid": test.name,
        "status": test.status,
        "message": test.message,
        "because": test.because or None,
        "duration_s": round(test.seconds, 6),
        "properties": {"note": test.message} if test.status == "PASS" and test.message else {},
        "evidence": [_line(entry) for entry in test.evidence],
        "transcript": _transcript(record.entries) if has_failed and record is not None else None,
        "stderr": record.stderr.decode(errors="replace") if has_failed and record is not None else None,
    }


def _transcript(entries: list[Entry]) -> list[dict[str, Any]]:
    """The lines of a process; of very many the first and the last."""
    half = _TRANSCRIPT_LINES // 2
    kept = entries if len(entries) <= _TRANSCRIPT_LINES else [*entries[:half], *entries[-half:]]
    return [_line(entry) for entry in kept]


def _line(entry: Entry) -> dict[str, Any]:
    return {"dir": "sent" if entry.sent else "received", "t": round(entry.seconds, 6), "raw": shown(entry.raw)}


def _finding(finding: Finding) -> dict[str, Any]:
    return {"id": finding.root.rule.id, "says": finding.says, "also": [outcome.rule.id for outcome in finding.fell]}


def shown(raw: bytes, characters: int = _SHOWN_CHARACTERS) -> str:
    """A line for people: its middle is left out where it is long."""
    text = raw.decode(errors="replace")
    if len(text) <= characters:
        return text
    half = characters // 2
    return f"{text[:half]} … {len(text) - 2 * half} characters … {text[-half:]}"


# Characters that XML cannot represent.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_of(reports: Sequence[Report]) -> bytes:
    suites = ET.Element("testsuites", name="accord check")
    for report in reports:
        suites.append(_suite(report))
    ET.indent(suites)
    document: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(report: Report) -> ET.Element:
    testcases = [_testcase(report, outcome) for outcome in report.outcomes]
    suite = ET.Element(
        "testsuite",
        name=f"accord.check.{report.side}.{report.options.edition}",
        timestamp=report.started_at,
        time=f"{report.seconds:.3f}",
        tests=str(len(testcases)),
        failures=str(sum(testcase.find("failure") is not None for testcase in testcases)),
        skipped=str(sum(testcase.find("skipped") is not None for testcase in testcases)),
        errors="0",
    )
    suite.extend(testcases)
    return suite


def _testcase(report: Report, outcome: Outcome) -> ET.Element:
    rule, test = outcome.rule, outcome.deciding
    message = _clean(test.message if test else rule.superseded or "no judge looked at it")
    testcase = ET.Element(
        "testcase",
        classname=f"{report.options.edition}.{rule.tier}",
        name=f"{rule.id} {rule.says}",
        time=f"{sum(test.seconds for test in outcome.tests):.6f}",
    )
    if outcome.status == "FAIL" and rule.tier in {"mandatory", "capability"}:
        ET.SubElement(testcase, "failure", message=message, type=rule.tier).text = _clean(_proof(outcome))
    elif outcome.status != "PASS":
        ET.SubElement(testcase, "skipped", message=f"{outcome.status}: {message}")
        if outcome.status == "FAIL":
            ET.SubElement(testcase, "system-out").text = _clean(_proof(outcome))
    elif message:
        ET.SubElement(testcase, "system-out").text = message
    return testcase


def _proof(outcome: Outcome) -> str:
    test = outcome.deciding
    lines = [outcome.rule.says, f"see: {outcome.rule.page}"]
    if test is not None:
        if test.because:
            lines.append(f"because: {test.because}")
        lines += [f"{'>' if entry.sent else '<'} {shown(entry.raw)}" for entry in test.evidence]
    return "\n".join(lines)


def _clean(text: str) -> str:
    return _NO_XML.sub("�", prose(text))


TITLES = {"v1": "v1", "v2": "v2 (draft of November 2026)", "v2_june": "v2 (draft of June 2026)"}
_PROOF_CHARACTERS = 400


def markdown_of(reports: Sequence[Report]) -> str:
    return "\n".join(line for report in reports for line in _report(report))


def _report(report: Report) -> list[str]:
    name = _name(report)
    verdict = "conformant" if report.conformant else "**not conformant**"
    lines = [f"# {name}: {TITLES[report.options.edition]}", "", f"{verdict[0].upper()}{verdict[1:]}. {_counts(report)}"]
    lines += ["", f"{report.started_at}, {report.seconds:.1f} s, {report.processes} processes.", ""]
    if report.blocked_by_auth:
        lines += ["The agent wants a login before it makes a session: give `--auth-method`.", ""]
    if report.blocked_by_version:
        lines += ["The agent speaks another version of the protocol.", ""]
    if report.findings:
        lines += ["## What is wrong", ""]
        for finding in report.findings:
            lines += _markdown_finding(finding)
    return [
        *lines,
        "## All rules",
        "",
        "| rule | tier | status | |",
        "|---|---|---|---|",
        *map(_row, report.outcomes),
        "",
    ]


def _name(report: Report) -> str:
    info = report.info if isinstance(report.info, dict) else {}
    name = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
    return _inline(name or " ".join(report.command) or report.side)


def _counts(report: Report) -> str:
    parts = []
    for tier, counts in report.tier_counts().items():
        said = ", ".join(f"{count} {status.lower().replace('_', ' ')}" for status, count in sorted(counts.items()))
        if said:
            parts.append(f"{tier}: {said}")
    return "; ".join(parts) + "."


def _markdown_finding(finding: Finding) -> list[str]:
    rule, test = finding.root.rule, finding.root.deciding
    lines = [f"### {rule.id} ({rule.tier})", "", f"{_inline(rule.says)}: {_inline(finding.says)}.", ""]
    if test is not None and test.evidence:
        lines += ["```", *map(_markdown_line, test.evidence), "```", ""]
    if finding.fell:
        lines += [f"Fell with it: {', '.join(outcome.rule.id for outcome in finding.fell)}.", ""]
    return lines


def _markdown_line(entry: Entry) -> str:
    arrow = "→" if entry.sent else "←"
    return f"{arrow} {exact(shown(entry.raw, _PROOF_CHARACTERS))}".replace("```", "'''")


def _row(outcome: Outcome) -> str:
    test = outcome.deciding
    rule, remark = outcome.rule, outcome.rule.superseded or (test.message if test else "")
    said = f"{_inline(rule.says)}. {_inline(remark)}".strip()
    return f"| {rule.id} | {rule.tier} | {outcome.status} | {said} |"


def _inline(text: str) -> str:
    """One line, and nothing in it that ends a cell."""
    return prose_line(text).replace("|", "\\|")
