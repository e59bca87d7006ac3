"""The report as JSON values: with the keys of the public kit, so that two reports compare, and ours beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accord.check.entry import Entry
from accord.check.outcome import Finding, Judgement, Outcome, Report
from accord.version import VERSION

__all__ = ["SCHEMAS", "document_of", "documents_of", "shown"]

SCHEMAS = {"v1": "2026-11", "v2": "2026-11-draft", "v2_june": "2026-06-11-draft"}
"""The state of each edition's schema that its rules were taken from."""
VERSIONS = {"v1": 1, "v2": 2, "v2_june": 2}
# A report is read by people: the middle of a line of many megabytes proves nothing.
_TRANSCRIPT_LINES = 2000
_SHOWN_CHARACTERS = 4000


def documents_of(reports: Sequence[Report]) -> dict[str, Any]:
    """One report as it is; several, one per edition, in a list."""
    if len(reports) == 1:
        return document_of(reports[0])
    return {"tck_version": f"accord {VERSION}", "reports": [document_of(report) for report in reports]}


def document_of(report: Report) -> dict[str, Any]:
    """One report."""
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
    return {
        "id": finding.root.rule.id,
        "says": finding.says,
        "also": [outcome.rule.id for outcome in finding.fell],
    }


def shown(raw: bytes, characters: int = _SHOWN_CHARACTERS) -> str:
    """A line for people: its middle is left out where it is long."""
    text = raw.decode(errors="replace")
    if len(text) <= characters:
        return text
    half = characters // 2
    return f"{text[:half]} … {len(text) - 2 * half} characters … {text[-half:]}"
