"""The manifest: every rule of every edition, and which of them fall together."""

from __future__ import annotations

from accord.check.rule import Cause, EditionName, Rule
from accord.check.rules import client, june, june_more, v1, v1_more, v2, v2_more

__all__ = ["CAUSES", "RULES", "find", "rules_for"]

_ROOMS = (v1, v1_more, june, june_more, v2, v2_more, client)

RULES: tuple[Rule, ...] = tuple(rule for room in _ROOMS for rule in room.RULES)
"""Every rule that is checked."""
CAUSES: tuple[Cause, ...] = tuple(cause for room in _ROOMS for cause in room.CAUSES)
"""Which failures follow from which other ones."""


def rules_for(edition: EditionName, side: str) -> list[Rule]:
    """What one side has to keep in an edition, sorted by id."""
    return sorted(
        (rule for rule in RULES if rule.edition == edition and rule.side in {side, "both"}), key=lambda rule: rule.id
    )


def find(edition: EditionName, id_: str) -> Rule:
    """The rule with an id.

    Raises:
        KeyError: There is none.
    """
    for rule in RULES:
        if (rule.edition, rule.id) == (edition, id_):
            return rule
    raise KeyError(id_)
