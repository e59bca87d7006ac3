"""What came of a check: a status for each rule, grouped by what is really wrong, and a verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from accord.check.entry import Entry, Record
from accord.check.options import Options
from accord.check.rule import Rule

__all__ = ["Finding", "Judgement", "Outcome", "Report", "Status"]

Status: TypeAlias = Literal["PASS", "FAIL", "SKIPPED", "NOT_TESTED", "SUPERSEDED"]
"""How a check of a rule ended."""
_WORST: tuple[Status, ...] = ("FAIL", "PASS", "SKIPPED", "NOT_TESTED")


@dataclass(frozen=True)
class Judgement:
    """What one judge said of one rule."""

    name: str
    status: Status
    message: str = ""
    """Why it failed or was skipped; for what is only recorded, what happened."""
    because: str = ""
    """The id of the rule that is really broken, where that is another one."""
    evidence: tuple[Entry, ...] = ()
    seconds: float = 0.0
    record: Record | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of one rule."""

    rule: Rule
    tests: tuple[Judgement, ...] = ()

    @property
    def status(self) -> Status:
        """The worst of what its judges said."""
        if self.rule.superseded:
            return "SUPERSEDED"
        said = {test.status for test in self.tests}
        return next((status for status in _WORST if status in said), "NOT_TESTED")

    @property
    def deciding(self) -> Judgement | None:
        """The test that made the status what it is."""
        return next((test for test in self.tests if test.status == self.status), None)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, and every rule that fell with it."""

    root: Outcome
    says: str
    fell: tuple[Outcome, ...] = ()
    """Without the root."""


@dataclass
class Report:
    """All of it."""

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
    """Whether only some rules were asked for."""
    blocked_by_auth: bool = False
    blocked_by_version: bool = False
    findings: list[Finding] = field(default_factory=list)
    left: tuple[str, ...] = ()
    """A line for every setting that an earlier check, which was killed, left changed."""
    untouched: tuple[str, ...] = ()
    """Why settings were left alone, each in a line."""
    unrestored: tuple[str, ...] = ()
    """A line for every setting that this check changed and did not see set back."""

    @property
    def conformant(self) -> bool:
        """Whether nothing that must hold is broken or was left unjudged."""
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
