"""Plans: what an agent intends to do."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Closed, Lenient, Maybe, Metadata, Sieved, Wire

PlanEntryPriority: TypeAlias = Closed[Literal["high", "medium", "low"] | str]
PlanEntryStatus: TypeAlias = Closed[Literal["pending", "in_progress", "completed"] | str]


class PlanEntry(Wire):
    """One step of the plan, in words for the user; it has no id of its own."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    meta: Lenient[Maybe[Metadata]] = UNSET


class Plan(Wire, tag_field="sessionUpdate", tag="plan"):
    """The whole list each time; the client drops what it had before."""

    entries: Lenient[Sieved[list[PlanEntry]]]
    meta: Lenient[Maybe[Metadata]] = UNSET
