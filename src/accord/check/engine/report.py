"""The report of a check: a status for each rule, failures grouped by their causes, a verdict, and its formats.

JSON has the keys of the public kit; JUnit XML and Markdown are the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree as ET

from accord.check.engine.evidence import Entry, Record
from accord.check.rule import VERSIONS, Cause, CheckRule, Options
from accord.display import exact, markdown_block, markdown_line, prose, prose_line
from accord.version import VERSION

Status: TypeAlias = Literal["PASS", "FAIL", "SKIPPED", "NOT_TESTED", "SUPERSEDED"]
"""The status of a rule."""
_WORST: tuple[Status, ...] = ("FAIL", "PASS", "SKIPPED", "NOT_TESTED")


@dataclass(frozen=True)
class Judgement:
    """The judgement of one judge on one rule."""

    name: str
    status: Status
    message: str = ""
    """The reason of a failure or a skip; for informational rules, the observation."""
    because: str = ""
    """The id of the rule that is really broken, where that is another one."""
    evidence: tuple[Entry, ...] = ()
    seconds: float = 0.0
    record: Record | None = None


@dataclass(frozen=True)
class Outcome:
    """The judgements on one rule."""

    rule: CheckRule
    tests: tuple[Judgement, ...] = ()

    @property
    def status(self) -> Status:
        """The worst status of its judgements."""
        if self.rule.superseded:
            return "SUPERSEDED"
        said = {test.status for test in self.tests}
        return next((status for status in _WORST if status in said), "NOT_TESTED")

    @property
    def deciding(self) -> Judgement | None:
        """The first judgement with that status."""
        return next((test for test in self.tests if test.status == self.status), None)


@dataclass(frozen=True)
class Finding:
    """One cause of failures, with every rule that failed because of it."""

    root: Outcome
    says: str
    fell: tuple[Outcome, ...] = ()
    """Without the root."""


@dataclass
class Report:
    """The result of one check of one program in one edition."""

    options: Options
    side: Literal["agent", "client"]
    command: tuple[str, ...]
    outcomes: list[Outcome]
    started_at: str
    finished_at: str = ""
    seconds: float = 0.0
    info: Any = None
    capabilities: Any = None
    processes: int = 0
    scoped: bool = False
    """Whether only some rules were selected."""
    blocked_by_auth: bool = False
    blocked_by_version: bool = False
    findings: list[Finding] = field(default_factory=list)
    left: tuple[str, ...] = ()
    """A line for every setting that an earlier check, which was killed, left changed."""
    untouched: tuple[str, ...] = ()
    """The reasons why settings were not changed, each in a line."""
    unrestored: tuple[str, ...] = ()
    """A line for every setting that this check changed and could not confirm as restored."""

    @property
    def conformant(self) -> bool:
        """Whether no mandatory rule is broken or was left unjudged."""
        if self.blocked_by_auth or self.blocked_by_version:
            return False
        return not any(
            (outcome.status == "FAIL" and outcome.rule.tier in {"mandatory", "capability"})
            or (outcome.status == "NOT_TESTED" and outcome.rule.tier == "mandatory")
            for outcome in self.outcomes
        )

    @property
    def judged(self) -> int:
        """How many rules were judged."""
        return sum(outcome.status in {"PASS", "FAIL"} for outcome in self.outcomes)

    def tier_counts(self) -> dict[str, dict[str, int]]:
        """How many rules of each tier have each status."""
        counts: dict[str, Counter[str]] = {
            tier: Counter() for tier in ("mandatory", "capability", "advisory", "informational")
        }
        for outcome in self.outcomes:
            counts[outcome.rule.tier][outcome.status] += 1
        return {tier: dict(counter) for tier, counter in counts.items()}


def group(outcomes: Sequence[Outcome], causes: Sequence[Cause]) -> list[Finding]:
    """The failures grouped by cause: first by the rule that a judge blamed, then by `causes`."""
    failed = {outcome.rule.id: outcome for outcome in outcomes if outcome.status == "FAIL"}
    says: dict[str, str] = {}
    root_of: dict[str, str] = {}
    for id_, outcome in failed.items():
        because = outcome.deciding.because if outcome.deciding else ""
        root_of[id_] = because if because in failed else id_
    for cause in sorted(causes, key=lambda cause: -len(cause.also)):
        if cause.ids <= failed.keys() and failed[cause.root].rule.edition == cause.edition:
            says.setdefault(cause.root, cause.says)
            for id_ in cause.also:
                if root_of[id_] == id_:
                    root_of[id_] = cause.root
    findings = []
    for id_, outcome in failed.items():
        if _top(id_, root_of) == id_:
            fell = tuple(other for each, other in failed.items() if each != id_ and _top(each, root_of) == id_)
            test = outcome.deciding
            findings.append(Finding(outcome, says.get(id_, test.message if test else ""), fell))
    return findings


def _top(id_: str, root_of: dict[str, str]) -> str:
    known: set[str] = set()
    while root_of[id_] != id_ and id_ not in known:
        known.add(id_)
        id_ = root_of[id_]
    # Two that blame each other: the one that is named first.
    return min(known) if id_ in known else id_


# --- formats

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
    if report.conformant and not report.judged:
        verdict = "**not judged**"
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
    lines = [f"### {rule.id} ({rule.tier})", "", f"{rule.says}: {_inline(finding.says)}.", ""]
    if test is not None and test.evidence:
        lines += [markdown_block("\n".join(map(_markdown_line, test.evidence))), ""]
    if finding.fell:
        lines += [f"Fell with it: {', '.join(outcome.rule.id for outcome in finding.fell)}.", ""]
    return lines


def _markdown_line(entry: Entry) -> str:
    arrow = "→" if entry.sent else "←"
    return f"{arrow} {exact(shown(entry.raw, _PROOF_CHARACTERS))}"


def _row(outcome: Outcome) -> str:
    test = outcome.deciding
    rule, remark = outcome.rule, outcome.rule.superseded or (test.message if test else "")
    said = f"{_cell(rule.says)}. {_inline(remark)}".strip()
    return f"| {rule.id} | {rule.tier} | {outcome.status} | {said} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _inline(text: str) -> str:
    """One line without markup, as an agent may have written a part of it."""
    return markdown_line(prose_line(text))
