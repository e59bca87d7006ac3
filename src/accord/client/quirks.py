"""Workarounds for single agents, by the name that they give in `initialize`.

A closed table: an agent gets the deviations of its row and no others, and an explicit `Offer` of the program comes
first. docs/real-agents.md has the observation behind each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from accord.session.capability import Implementation

__all__ = ["Quirks", "quirks_of"]


@dataclass(frozen=True, slots=True)
class Quirks:
    """The deviations of one agent; the defaults are the protocol."""

    missing_file: Literal["empty", "error"] = "error"
    """The answer to a read of a file that is not there."""


_NONE = Quirks()
_QUIRKS = {
    # Reads a file before it creates it, and gives up where that is an error (0.9 and later).
    "gemini-cli": Quirks(missing_file="empty"),
}


def quirks_of(agent: Implementation | None) -> Quirks:
    """The row of an agent; agents that give no name have none."""
    return _NONE if agent is None else _QUIRKS.get(agent.name, _NONE)
