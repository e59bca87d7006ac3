"""The table of all rules of every edition for both sides, and the causes that group them."""

from __future__ import annotations

from accord.check import agent, client
from accord.check.agent.causes import CAUSES
from accord.check.rule import CheckRule, EditionName

__all__ = ["CAUSES", "RULES", "find", "rules_for"]
RULES: tuple[CheckRule, ...] = (*agent.RULES, *client.RULES)
"""Every rule that is checked."""


def rules_for(edition: EditionName, side: str) -> list[CheckRule]:
    """The rules of one side in an edition, sorted by id."""
    return sorted(
        (rule for rule in RULES if rule.edition == edition and rule.side in {side, "both"}), key=lambda rule: rule.id
    )


def find(edition: EditionName, id_: str) -> CheckRule:
    """The rule with an id.

    Raises:
        KeyError: There is none.
    """
    for rule in RULES:
        if (rule.edition, rule.id) == (edition, id_):
            return rule
    raise KeyError(id_)
