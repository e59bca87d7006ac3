"""The findings of `accord trace --validate`: messages that do not fit, broken rules, and rules that are not judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from accord.check.engine.report import Outcome
from accord.check.recorded import RecordedJudgement, judge_recorded
from accord.cli.show.line import Span
from accord.cli.show.screen import Progress, TextScreen
from accord.cli.status import Status
from accord.cli.trace_lines import message_line
from accord.display import exact, filled, own, prose_line
from accord.trace.conversion import PlainTrace
from accord.trace.index import TraceIndex
from accord.trace.redaction import Redactor
from accord.trace.validation import MessageFinding, validate_messages

__all__ = ["show_findings"]

MAX_SHOWN = 100
_PROGRESS_ROWS = 2_000
_REASON_CHARACTERS = 200
_BINDING = ("mandatory", "capability")


def show_findings(
    screen: TextScreen, progress: Progress, index: TraceIndex, trace: PlainTrace, rows: Iterable[int]
) -> int:
    """Show the findings in the messages of some rows, and in the whole conversation.

    The exit status is 1 where a message or a binding rule is wrong.
    """
    if not trace.verbatim:
        screen.line([Span(filled("{} does not keep the bytes: its texts were rebuilt", trace.format), "dim")])
    wrong = _show_messages(screen, index, _counted(rows, progress, len(index)))
    progress.show(own("judging by the rules"))
    broken = sum(_show_rules(screen, each) for each in judge_recorded(index))
    screen.line([])
    if wrong or broken:
        screen.line([Span(filled("{} messages and {} rules are wrong", wrong, broken), "bold")])
        return Status.FAILED
    screen.line([Span(own("nothing is wrong"), "bold")])
    return Status.DONE


def _counted(rows: Iterable[int], progress: Progress, total: int) -> Iterator[int]:
    for row in rows:
        if row % _PROGRESS_ROWS == 0:
            progress.show(filled("comparing with the types, {} of {} records", row, total))
        yield row


def _show_messages(screen: TextScreen, index: TraceIndex, rows: Iterable[int]) -> int:
    begin = index.begin
    counts: Counter[str] = Counter()
    wrong: set[int] = set()
    for finding in validate_messages(index, rows):
        counts[finding.severity] += 1
        if finding.severity == "wrong":
            wrong.add(finding.row)
        if counts[finding.severity] <= MAX_SHOWN:
            _show_message(screen, index, finding, begin)
    for severity, count in counts.items():
        if count > MAX_SHOWN:
            screen.line([Span(filled("… and {} more that are {}", count - MAX_SHOWN, severity), "dim")])
    return len(wrong)


def _show_message(screen: TextScreen, index: TraceIndex, finding: MessageFinding, begin: float) -> None:
    style = "red" if finding.severity == "wrong" else "dim"
    screen.line(message_line(index, finding.row, begin))
    screen.line(
        [Span(filled("       {}: {}", finding.severity, prose_line(finding.message, _REASON_CHARACTERS)), style)]
    )


def _show_rules(screen: TextScreen, judgement: RecordedJudgement) -> int:
    passed, failed, skipped = (judgement.with_status(status) for status in ("PASS", "FAIL", "SKIPPED"))
    broken = [each for each in failed if each.rule.tier in _BINDING]
    screen.line([])
    head = filled("{} {}: {} rules kept, {} broken", judgement.side, judgement.edition, len(passed), len(broken))
    screen.line([Span(head, "bold")])
    if judgement.is_cut:
        screen.line([Span(own("  only the first part of the trace: all of it takes too much memory"), "yellow")])
    for outcome in failed:
        _show_rule(screen, outcome)
    screen.line(
        [Span(filled("  {} rules not judged: the recording does not show what they ask for", len(skipped)), "dim")]
    )
    return len(broken)


def _show_rule(screen: TextScreen, outcome: Outcome) -> None:
    is_binding = outcome.rule.tier in _BINDING
    style = "red" if is_binding else "yellow"
    screen.line([Span(filled("  {} {} ", outcome.rule.id, outcome.rule.tier), style), Span(exact(outcome.rule.says))])
    if outcome.deciding is not None:
        screen.line([Span(filled("    {}", prose_line(outcome.deciding.message, _REASON_CHARACTERS)))])
        for entry in outcome.deciding.evidence[:2]:
            text = exact(Redactor().text(entry.raw).decode("utf-8", "replace"), _REASON_CHARACTERS)
            screen.line([Span(filled("    > {}", text), "dim")])
