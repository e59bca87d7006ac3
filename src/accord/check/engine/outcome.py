"""Outcomes of a check: a status for each rule, grouped by their causes, and a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from accord.check.engine.record import Entry, Record
from accord.check.options import Options
from accord.check.rule import Cause, CheckRule

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
