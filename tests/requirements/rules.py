"""Which rules of the manifest our own agents are shown to keep here, one by one: those of the public compatibility kit.

A test says what it shows (`shows`), in `test_v1.py`, `test_v2.py` or `test_june.py`; `test_rules.py` sees to it that
every rule has one. The sentences, tiers and gates stand in `accord.check.rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from accord.check import RULES as MANIFEST
from accord.check import Rule

__all__ = ["RULES", "rules_of", "shows"]

F = TypeVar("F", bound=Callable[..., None])


def _is_of_the_kit(rule: Rule) -> bool:
    # The batches of the kit are those of June; its other rows are written for November.
    return rule.id.startswith("ACP-") and (rule.edition != "v2_june" or "-BATCH-" in rule.id)


RULES: tuple[Rule, ...] = tuple(rule for rule in MANIFEST if rule.side != "client" and _is_of_the_kit(rule))

_BY_ID = {(rule.edition, rule.id): rule for rule in RULES}


def shows(*ids: str) -> Callable[[F], F]:
    """Mark a test with the rules that it shows to hold."""

    def mark(test: F) -> F:
        test.__dict__["shows"] = ids
        return test

    return mark


def rules_of(edition: str, test: Callable[..., object]) -> list[Rule]:
    """The rules that a test shows.

    Raises:
        KeyError: It names one that there is not.
    """
    return [_BY_ID[edition, id_] for id_ in test.__dict__.get("shows", ())]  # type: ignore[index]
