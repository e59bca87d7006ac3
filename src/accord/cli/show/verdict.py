"""A report of the judge for people: what is wrong, by its cause, the lines that prove it, how to see it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from accord.check import Finding, Judgement, Outcome, Report
from accord.check.report.document import shown
from accord.cli.show.line import Line, Span, clipped
from accord.cli.show.safe import safe_line

__all__ = ["report_lines"]

MARKS = {"PASS": ("ok", "green"), "FAIL": ("FAIL", "red"), "SKIPPED": ("-", "dim"), "NOT_TESTED": ("?", "yellow")}
BINDING = ("mandatory", "capability")
TITLES = {"v1": "v1", "v2": "v2", "v2_june": "v2 of June"}
_FELL_SHOWN = 12
_STDERR_LINES = 3


def report_lines(report: Report, again: Sequence[str], columns: int, *, all_rules: bool) -> Iterator[Line]:
    """The whole report; `again` is the command line so far, to which `--only` is added."""
    yield [Span(_head(report), "bold")]
    for line in report.left:
        yield [Span(safe_line(f"left by an earlier check: {line}"), "yellow")]
    binding = [each for each in report.findings if each.root.rule.tier in BINDING]
    advice = [each for each in report.findings if each.root.rule.tier not in BINDING]
    for number, finding in enumerate(binding, 1):
        yield []
        yield from _finding(finding, f"{number}", again, columns, "red")
    if advice:
        yield []
        yield [Span("What should be better, and does not change the verdict", "bold")]
    for finding in advice:
        yield []
        yield from _finding(finding, "·", again, columns, "yellow")
    if all_rules:
        yield []
        for outcome in report.outcomes:
            yield _row(outcome, columns)
    yield []
    yield from _settings(report)
    yield from _counts(report)
    yield from _verdict(report, len(binding))


def _settings(report: Report) -> Iterator[Line]:
    """What was left alone, and what could not be set back."""
    for line in report.untouched:
        yield [Span(safe_line(f"not judged: {line}"), "dim")]
    for line in report.unrestored:
        yield [Span(safe_line(f"not set back: {line}"), "red")]


def _head(report: Report) -> str:
    info = report.info if isinstance(report.info, dict) else {}
    name = " ".join(str(info[key]) for key in ("name", "version") if info.get(key)) or report.side
    judged = sum(outcome.status in {"PASS", "FAIL"} for outcome in report.outcomes)
    rules = len(report.outcomes)
    return safe_line(
        f"{name} · {TITLES[report.options.edition]} · {judged} of {rules} rules judged"
        f" · {report.processes} processes · {report.seconds:.1f} s"
    )


def _finding(finding: Finding, number: str, again: Sequence[str], columns: int, style: str) -> Iterator[Line]:
    rule, test = finding.root.rule, finding.root.deciding
    yield [Span(f"{number:>2}  "), Span(rule.id, style), Span(f"  {rule.tier}  ", "dim"), Span(rule.says)]
    yield [Span("    "), Span(safe_line(finding.says), style)]
    for entry in test.evidence[:2] if test else ():
        arrow = "→" if entry.sent else "←"
        yield [Span(f"      {arrow} ", "dim"), Span(clipped(safe_line(shown(entry.raw)), max(columns - 9, 20)), "cyan")]
    yield from _last_words(test)
    if finding.fell:
        ids = [outcome.rule.id for outcome in finding.fell]
        more = f" and {len(ids) - _FELL_SHOWN} more" if len(ids) > _FELL_SHOWN else ""
        yield [Span(f"    fell with it: {', '.join(ids[:_FELL_SHOWN])}{more}", "dim")]
    yield [Span(f"    spec: {rule.page}", "dim")]
    yield [Span("    again: ", "dim"), Span(safe_line(_again(again, rule.id)))]


def _last_words(test: Judgement | None) -> Iterator[Line]:
    """What a program that ended by itself said of it."""
    record = None if test is None else test.record
    if record is not None and record.ended_by == "itself":
        yield [Span(f"      the process ended with status {record.status}", "dim")]
        for line in record.stderr.decode(errors="replace").splitlines()[-_STDERR_LINES:]:
            yield [Span(f"      | {safe_line(line)}", "dim")]


def _again(words: Sequence[str], id_: str) -> str:
    """The line with one rule only."""
    words = list(words)
    place = words.index("--") if "--" in words else len(words)
    return shlex.join([*words[:place], "--only", id_, *words[place:]])


def _row(outcome: Outcome, columns: int) -> Line:
    mark, style = MARKS.get(outcome.status, (outcome.status.lower(), "dim"))
    test = outcome.deciding
    remark = outcome.rule.superseded or (test.message if test else "")
    id_ = f"{outcome.rule.id:<30} "
    room = max(columns - len(id_) - 11, 10)
    text = f"[{remark}]" if remark else outcome.rule.says
    return [Span(f"{mark:<10} ", style), Span(id_), Span(clipped(safe_line(text), room), "dim")]


def _counts(report: Report) -> Iterator[Line]:
    for tier, counts in report.tier_counts().items():
        said = " · ".join(f"{count} {status.lower().replace('_', ' ')}" for status, count in sorted(counts.items()))
        if said:
            yield [Span(f"{tier:<14}", "dim"), Span(said)]


def _verdict(report: Report, wrong: int) -> Iterator[Line]:
    if report.conformant:
        scope = " in the rules that were asked for" if report.scoped else ""
        yield [Span(f"CONFORMANT{scope}", "green")]
        return
    reasons = []
    if report.blocked_by_auth:
        methods = "it wants a login before it makes a session: give --auth-method"
        reasons.append(methods)
    if report.blocked_by_version:
        reasons.append("it speaks another version of the protocol: see --edition")
    if wrong:
        reasons.append("1 thing is wrong" if wrong == 1 else f"{wrong} things are wrong")
    if not reasons:
        reasons.append("something mandatory was not judged")
    yield [Span(f"NOT CONFORMANT: {'; '.join(reasons)}", "red")]
