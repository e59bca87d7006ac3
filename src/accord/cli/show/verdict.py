"""A report of `accord check` for people: the violations by cause, the lines that prove them, and how to repeat them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from accord.check import Finding, Judgement, Outcome, Report
from accord.check.engine.report import shown
from accord.cli.show.line import Line, Span, clipped
from accord.display import SafeText, exact, filled, joined, own, printed, prose_line, safe_lines

MARKS = {
    "PASS": (own("ok"), "green"),
    "FAIL": (own("FAIL"), "red"),
    "SKIPPED": (own("-"), "dim"),
    "NOT_TESTED": (own("?"), "yellow"),
}
BINDING = ("mandatory", "capability")
TITLES = {"v1": "v1", "v2": "v2", "v2_june": "v2 of June"}
_FELL_SHOWN = 12
_STDERR_LINES = 3
_NAME_CHARACTERS = 200


def report_lines(report: Report, again: Sequence[str], columns: int, *, all_rules: bool) -> Iterator[Line]:
    """The whole report; `again` is the command line so far, to which `--only` is added."""
    yield [Span(_head(report), "bold")]
    for line in report.left:
        yield [Span(filled("left by an earlier check: {}", line), "yellow")]
    binding = [each for each in report.findings if each.root.rule.tier in BINDING]
    advice = [each for each in report.findings if each.root.rule.tier not in BINDING]
    for number, finding in enumerate(binding, 1):
        yield []
        yield from _finding(finding, filled("{}", number), again, columns, "red")
    if advice:
        yield []
        yield [Span(own("What should be better, and does not change the verdict"), "bold")]
    for finding in advice:
        yield []
        yield from _finding(finding, own("·"), again, columns, "yellow")
    if all_rules:
        yield []
        for outcome in report.outcomes:
            yield _row(outcome, columns)
    yield []
    yield from _settings(report)
    yield from _counts(report)
    yield from _verdict(report, len(binding))


def _settings(report: Report) -> Iterator[Line]:
    """Settings that were not judged, and those that could not be set back."""
    for line in report.untouched:
        yield [Span(filled("not judged: {}", line), "dim")]
    for line in report.unrestored:
        yield [Span(filled("not set back: {}", line), "red")]


def _head(report: Report) -> SafeText:
    info = report.info if isinstance(report.info, dict) else {}
    name = " ".join(str(info[key]) for key in ("name", "version") if info.get(key)) or report.side
    rules = len(report.outcomes)
    return filled(
        "{} · {} · {} of {} rules judged · {} processes · {:.1f} s",
        exact(name, _NAME_CHARACTERS),
        TITLES[report.options.edition],
        report.judged,
        rules,
        report.processes,
        report.seconds,
    )


def _finding(finding: Finding, number: SafeText, again: Sequence[str], columns: int, style: str) -> Iterator[Line]:
    rule, test = finding.root.rule, finding.root.deciding
    head = filled("{:>2}  ", number)
    yield [Span(head), Span(exact(rule.id), style), Span(filled("  {}  ", rule.tier), "dim"), Span(exact(rule.says))]
    yield [Span(own("    ")), Span(prose_line(finding.says), style)]
    for entry in test.evidence[:2] if test else ():
        arrow = own("      → ") if entry.sent else own("      ← ")
        yield [Span(arrow, "dim"), Span(clipped(exact(shown(entry.raw)), max(columns - 9, 20)), "cyan")]
    yield from _exit_lines(test)
    if finding.fell:
        ids = [outcome.rule.id for outcome in finding.fell]
        rest_text = filled(" and {} more", len(ids) - _FELL_SHOWN) if len(ids) > _FELL_SHOWN else own("")
        yield [Span(filled("    fell with it: {}{}", ", ".join(ids[:_FELL_SHOWN]), rest_text), "dim")]
    yield [Span(filled("    spec: {}", rule.page), "dim")]
    yield [Span(own("    again: "), "dim"), Span(exact(_again(again, rule.id)))]


def _exit_lines(test: Judgement | None) -> Iterator[Line]:
    """The status and the stderr of a program that ended by itself."""
    record = None if test is None else test.record
    if record is not None and record.ended_by == "itself":
        yield [Span(filled("      the process ended with status {}", record.status), "dim")]
        for line in safe_lines(printed(record.stderr.decode(errors="replace").strip()))[-_STDERR_LINES:]:
            yield [Span(filled("      | {}", prose_line(line)), "dim")]


def _again(arguments: Sequence[str], id_: str) -> str:
    """The line with one rule only."""
    arguments = list(arguments)
    place = arguments.index("--") if "--" in arguments else len(arguments)
    return shlex.join([*arguments[:place], "--only", id_, *arguments[place:]])


def _row(outcome: Outcome, columns: int) -> Line:
    mark, style = MARKS.get(outcome.status, (exact(outcome.status.lower()), "dim"))
    test = outcome.deciding
    remark = outcome.rule.superseded or (test.message if test else "")
    id_ = filled("{:<30} ", outcome.rule.id)
    available = max(columns - len(id_) - 11, 10)
    text = filled("[{}]", prose_line(remark)) if remark else exact(outcome.rule.says)
    return [Span(filled("{:<10} ", mark), style), Span(id_), Span(clipped(text, available), "dim")]


def _counts(report: Report) -> Iterator[Line]:
    for tier, counts in report.tier_counts().items():
        counted = [filled("{} {}", count, status.lower().replace("_", " ")) for status, count in sorted(counts.items())]
        if counted:
            yield [Span(filled("{:<14}", tier), "dim"), Span(joined(counted, own(" · ")))]


def _verdict(report: Report, wrong: int) -> Iterator[Line]:
    if report.conformant and not report.judged:
        yield [Span(own("NOT JUDGED: none of the rules that were asked for; --verbose says why"), "yellow")]
        return
    if report.conformant:
        scope = own(" in the rules that were asked for") if report.scoped else own("")
        yield [Span(filled("CONFORMANT{}", scope), "green")]
        if report.judged < len(report.outcomes) and report.side == "agent" and not report.scoped:
            advice = own("what it did not do was skipped: -v says which; --tool-prompt has it use a tool")
            yield [Span(advice, "dim")]
        return
    reasons = []
    if report.blocked_by_auth:
        reasons.append(own("it wants a login before it makes a session: give --auth-method"))
    if report.blocked_by_version:
        reasons.append(own("it speaks another version of the protocol: see --edition"))
    if wrong:
        reasons.append(own("1 thing is wrong") if wrong == 1 else filled("{} things are wrong", wrong))
    if not reasons:
        reasons.append(own("something mandatory was not judged"))
    yield [Span(filled("NOT CONFORMANT: {}", joined(reasons, own("; "))), "red")]
