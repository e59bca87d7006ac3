"""Plans: what an agent intends to do."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Sieved, Wire
from accord.protocol.v2.ids import PlanId

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"] | str
PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"] | str


class PlanEntry(Wire):
    """One step of the plan, in words for the user; it has no id of its own."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    meta: Lenient[Maybe[Metadata]] = UNSET


class PlanItems(Wire, tag_field="type", tag="items"):
    """Plan as a list of steps; all steps are sent each time."""

    plan_id: PlanId
    entries: Sieved[list[PlanEntry]]
    meta: Lenient[Maybe[Metadata]] = UNSET


PlanUpdateContent: TypeAlias = Open[PlanItems]


class PlanUpdate(Wire, tag_field="sessionUpdate", tag="plan_update"):
    """Replaces the plan with the same id, or adds it if the id is new."""

    plan: PlanUpdateContent
    meta: Lenient[Maybe[Metadata]] = UNSET
