"""Plans: what an agent intends to do."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Wire
from accord.protocol.v2.ids import PlanId
from accord.protocol.v2.plan import PlanItems


class PlanFile(Wire, tag_field="type", tag="file"):
    """Plan kept in a file; only its address is sent."""

    plan_id: PlanId
    uri: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class PlanMarkdown(Wire, tag_field="type", tag="markdown"):
    """Plan as one Markdown text, sent whole each time."""

    plan_id: PlanId
    content: str
    meta: Lenient[Maybe[Metadata]] = UNSET


PlanUpdateContent: TypeAlias = Open[PlanItems | PlanFile | PlanMarkdown]


class PlanUpdate(Wire, tag_field="sessionUpdate", tag="plan_update"):
    """Replaces the plan with the same id, or adds it if the id is new."""

    plan: PlanUpdateContent
    meta: Lenient[Maybe[Metadata]] = UNSET


class PlanRemoved(Wire, tag_field="sessionUpdate", tag="plan_removed"):
    """Takes the plan off display; other plans stay as they are."""

    plan_id: PlanId
    meta: Lenient[Maybe[Metadata]] = UNSET
