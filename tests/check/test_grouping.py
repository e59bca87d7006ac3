"""One thing that is wrong is one finding."""

from __future__ import annotations

from accord.check import CAUSES, CheckRule, Judgement, Outcome
from accord.check.engine.report import group
from accord.check.rule import Cause


def outcome(id_: str, status: str = "FAIL", because: str = "") -> Outcome:
    rule = CheckRule("v1", id_, "mandatory", f"{id_} holds", "page")
    return Outcome(rule, (Judgement("a_judge", status, f"{id_} is broken", because),))  # type: ignore[arg-type]


def groups(*outcomes: Outcome, causes: tuple[Cause, ...] = CAUSES) -> dict[str, list[str]]:
    found = group(outcomes, causes)
    return {finding.root.rule.id: [each.rule.id for each in finding.fell] for finding in found}


def test_what_passes_or_was_skipped_is_no_finding() -> None:
    assert groups(outcome("A", "PASS"), outcome("B", "SKIPPED"), outcome("C")) == {"C": []}


def test_a_failure_that_blames_another_falls_with_it() -> None:
    assert groups(outcome("A", because="C"), outcome("B", because="A"), outcome("C")) == {"C": ["A", "B"]}


def test_a_failure_that_blames_what_did_not_fail_stands_alone() -> None:
    assert groups(outcome("A", because="C"), outcome("C", "PASS")) == {"A": []}


def test_two_that_blame_each_other_are_one_finding() -> None:
    assert groups(outcome("A", because="B"), outcome("B", because="A")) == {"A": ["B"]}


def test_what_the_manifest_says_falls_together_does_so_when_all_of_it_fell() -> None:
    cause = Cause("v1", "B", "nothing is said", ("A", "C"))
    causes = (cause, Cause("v2", "A", "of another edition", ("B", "C")))
    assert groups(outcome("A"), outcome("B"), outcome("C"), outcome("D"), causes=causes) == {"B": ["A", "C"], "D": []}
    assert group([outcome("A"), outcome("B"), outcome("C")], causes)[0].says == "nothing is said"
    assert groups(outcome("A"), outcome("B"), outcome("C", "PASS"), causes=causes) == {"A": [], "B": []}
