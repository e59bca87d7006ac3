"""The report as a page of Markdown: the verdict, what is wrong and the lines that prove it, a table of all rules."""

from __future__ import annotations

from collections.abc import Sequence

from accord.check.entry import Entry
from accord.check.outcome import Finding, Outcome, Report
from accord.check.report.document import shown
from accord.display import exact, prose_line

__all__ = ["markdown_of"]

TITLES = {"v1": "v1", "v2": "v2 (draft of November 2026)", "v2_june": "v2 (draft of June 2026)"}
_PROOF_CHARACTERS = 400


def markdown_of(reports: Sequence[Report]) -> str:
    """The page."""
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
            lines += _finding(finding)
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


def _finding(finding: Finding) -> list[str]:
    rule, test = finding.root.rule, finding.root.deciding
    lines = [f"### {rule.id} ({rule.tier})", "", f"{_inline(rule.says)}: {_inline(finding.says)}.", ""]
    if test is not None and test.evidence:
        lines += ["```", *map(_line, test.evidence), "```", ""]
    if finding.fell:
        lines += [f"Fell with it: {', '.join(outcome.rule.id for outcome in finding.fell)}.", ""]
    return lines


def _line(entry: Entry) -> str:
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
