"""What can be demanded of a program: a rule has an id, an edition, a tier, a sentence and the page that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["EDITIONS", "Cause", "EditionName", "Rule", "Side", "Tier"]

EditionName: TypeAlias = Literal["v1", "v2_june", "v2"]
"""The name of an edition."""
Tier: TypeAlias = Literal["mandatory", "capability", "advisory", "informational"]
"""How much a failure weighs."""
Side: TypeAlias = Literal["agent", "client", "both"]
"""Who a rule is about."""

EDITIONS: tuple[EditionName, ...] = ("v1", "v2_june", "v2")


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the manifest; an id means the same in every edition that has it."""

    edition: EditionName
    id: str
    tier: Tier
    says: str
    """In one sentence of ours."""
    page: str
    """Where the specification says it: a page of its site, or a pointer into the schema."""
    side: Side = "agent"
    """Who has to keep it."""
    gate: str = ""
    """What has to be advertised: a path into the answers to `initialize` and `session/new`, or "" for nothing."""
    superseded: str = ""
    """Why the edition's own text overrules it; then it is reported and never judged."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Rules that necessarily fall together when one thing is wrong."""

    edition: EditionName
    root: str
    """The rule that names what is wrong."""
    says: str
    """What is wrong, in one sentence."""
    also: tuple[str, ...]
    """The ids that cannot hold either."""

    @property
    def ids(self) -> frozenset[str]:
        """All of them."""
        return frozenset((self.root, *self.also))
