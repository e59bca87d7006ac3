"""Planning: the tool `plan` that shows what is going to be done, and the one that asks to leave the mode for it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from accord.agent import Turn
from accord.coder.tools.call import BuiltIn, ToolOutcome, Work
from accord.session.event import PlanEntry
from accord.session.tool import ToolKind


class PlanStep(msgspec.Struct):
    """One step of a plan."""

    content: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class MakePlan(BuiltIn):
    """Show the user the plan: all steps, each time, with how far each is. Use it when there is more than one step."""

    name: ClassVar[str] = "plan"
    kind: ClassVar[ToolKind] = "think"

    steps: list[PlanStep]

    @property
    def title(self) -> str:
        return "Plan"

    async def run(self, work: Work) -> ToolOutcome:
        return await self.show(work.turn)

    async def show(self, turn: Turn) -> ToolOutcome:
        """Show it, without a tool call around it."""
        await turn.plan([PlanEntry(step.content, step.status, step.priority) for step in self.steps])
        return ToolOutcome("The user sees the plan.")


class LeavePlan(BuiltIn):
    """Ask the user whether the plan may be carried out; if so, all tools are there. Make a plan first."""

    name: ClassVar[str] = "leave_plan"
    kind: ClassVar[ToolKind] = "switch_mode"

    plan: Annotated[str, Meta(description="what is going to be done, in short, as Markdown")]

    @property
    def title(self) -> str:
        return "Leave the mode plan and carry it out"

    async def run(self, work: Work) -> ToolOutcome:
        await work.shown.show(self.plan)
        await work.gate.permit(work.shown)
        await work.turn.session.set_option("mode", "code")
        return ToolOutcome("The user allowed it: the mode is code now, and all tools are there.")
