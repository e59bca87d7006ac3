"""The decision table of the readings: the kinds that a call is judged as, by what it names and the kind that it says.

An agent chooses the kind of a call freely, so the strictest reading decides. `accord.session.claims` and
`accord.workspace.subject` look up what they found; `accord.session.rules` judges. docs/cli.md has the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["FILE_KINDS", "READINGS", "WRITING_KINDS", "Named", "Reading", "reading"]

FILE_KINDS = frozenset({"read", "edit", "delete", "move", "search"})
WRITING_KINDS = frozenset({"edit", "delete", "move"})

Named: TypeAlias = Literal["a command", "a path and a text", "a path", "an address", "nothing"]
"""The facts that a call names."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One row: calls of these kinds (None: of all others) that name this."""

    names: Named
    kinds: frozenset[str] | None
    says: Literal["allow", "refuse"]
    """Whether the kind that the call says needs permission too; else it only counts for rules that deny or ask."""
    judged: tuple[str, ...] = ()
    """Further kinds that need permission."""
    refused: tuple[str, ...] = ()
    """Further kinds that only count for rules that deny or ask. `all`: such a rule of any kind makes it a question."""


# What `other` says is nothing. The kinds of an agent's own (`_deploy`) are among "all others".
READINGS = (
    Reading("a command", None, "refuse", judged=("execute",)),
    Reading("a path and a text", frozenset({"other"}), "refuse", judged=("edit",)),
    Reading("a path and a text", None, "allow", judged=("edit",)),
    Reading("a path", WRITING_KINDS | {"read"}, "allow"),
    Reading("a path", frozenset({"search"}), "allow", refused=("read",)),
    Reading("a path", None, "allow", refused=("delete", "edit", "move", "read", "search")),
    Reading("an address", frozenset({"fetch"}), "allow"),
    Reading("an address", None, "allow", refused=("all", "fetch")),
    Reading("nothing", None, "allow", refused=("all",)),
)


def reading(names: Named, kind: str) -> Reading:
    """The first row for a call of this kind."""
    return next(each for each in READINGS if each.names == names and (each.kinds is None or kind in each.kinds))
