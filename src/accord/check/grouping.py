"""One thing that is wrong is one finding, however many rules fall with it."""

from __future__ import annotations

from accord.check.outcome import Finding, Outcome
from accord.check.rule import EditionName
from accord.check.rules import CAUSES

__all__ = ["group"]


def group(edition: EditionName, outcomes: list[Outcome]) -> list[Finding]:
    """The failures by what is really wrong: what judges blamed first, then what the manifest says falls together."""
    failed = {outcome.rule.id: outcome for outcome in outcomes if outcome.status == "FAIL"}
    says: dict[str, str] = {}
    root_of: dict[str, str] = {}
    for id_, outcome in failed.items():
        because = outcome.deciding.because if outcome.deciding else ""
        root_of[id_] = because if because in failed else id_
    for cause in sorted(CAUSES, key=lambda cause: -len(cause.also)):
        if cause.edition == edition and cause.root in failed and cause.ids <= failed.keys():
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
    seen: set[str] = set()
    while root_of[id_] != id_ and id_ not in seen:
        seen.add(id_)
        id_ = root_of[id_]
    # Two that blame each other: the one that is named first.
    return min(seen) if id_ in seen else id_
