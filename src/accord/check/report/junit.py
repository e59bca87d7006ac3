"""The report as JUnit XML: a suite per edition, a case per rule; what may be broken without a verdict is no failure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from accord.check.outcome import Outcome, Report
from accord.check.report.document import shown
from accord.display import prose

__all__ = ["junit_of"]

# What XML cannot hold, however it is written.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_of(reports: Sequence[Report]) -> bytes:
    """The whole document."""
    suites = ET.Element("testsuites", name="accord check")
    for report in reports:
        suites.append(_suite(report))
    ET.indent(suites)
    document: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(report: Report) -> ET.Element:
    cases = [_case(report, outcome) for outcome in report.outcomes]
    suite = ET.Element(
        "testsuite",
        name=f"accord.check.{report.side}.{report.options.edition}",
        timestamp=report.started_at,
        time=f"{report.seconds:.3f}",
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        skipped=str(sum(case.find("skipped") is not None for case in cases)),
        errors="0",
    )
    suite.extend(cases)
    return suite


def _case(report: Report, outcome: Outcome) -> ET.Element:
    rule, test = outcome.rule, outcome.deciding
    message = _clean(test.message if test else rule.superseded or "no judge looked at it")
    case = ET.Element(
        "testcase",
        classname=f"{report.options.edition}.{rule.tier}",
        name=f"{rule.id} {rule.says}",
        time=f"{sum(test.seconds for test in outcome.tests):.6f}",
    )
    if outcome.status == "FAIL" and rule.tier in {"mandatory", "capability"}:
        ET.SubElement(case, "failure", message=message, type=rule.tier).text = _clean(_proof(outcome))
    elif outcome.status != "PASS":
        ET.SubElement(case, "skipped", message=f"{outcome.status}: {message}")
        if outcome.status == "FAIL":
            ET.SubElement(case, "system-out").text = _clean(_proof(outcome))
    elif message:
        ET.SubElement(case, "system-out").text = message
    return case


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
