"""The tools that are about the turn itself: `plan` and `leave_plan`, `delegate` for a sub-agent, and `skill`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from accord.agent import ToolFailed, Turn
from accord.coder.tools.call import BuiltIn, ToolOutcome, Work, bounded
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


class DelegateTask(BuiltIn):
    """Give a task of its own to a sub-agent, which knows nothing of this conversation and reports back when it is done.

    Use it for searches and work whose details you do not need to remember.
    """

    name: ClassVar[str] = "delegate"
    kind: ClassVar[ToolKind] = "think"
    cancellable: ClassVar[bool] = True

    task: Annotated[str, Meta(min_length=1, description="all that the sub-agent has to know, and what to report")]

    @property
    def title(self) -> str:
        return f"Sub-agent: {self.task}"

    async def run(self, work: Work) -> ToolOutcome:
        """Its last answer. Its earlier text is the content of this call, and its tool calls name this call."""
        if work.delegate is None:
            raise ToolFailed("A sub-agent has no sub-agents")
        await work.shown.update(status="in_progress")
        report = await work.delegate(self.task, work.shown)
        await work.shown.complete(output={"characters": len(report)})
        return ToolOutcome(bounded(report))


class UseSkill(BuiltIn):
    """Read a skill of the project before you work on what it is for."""

    name: ClassVar[str] = "skill"
    kind: ClassVar[ToolKind] = "read"

    skill: Annotated[str, Meta(description="its name")]

    @property
    def title(self) -> str:
        return f"Read the skill {self.skill}"

    async def run(self, work: Work) -> ToolOutcome:
        """Its text, as it was when the turn began and was trusted."""
        found = next((each for each in work.session_work.project.skills if each.name == self.skill), None)
        if found is None:
            known = ", ".join(each.name for each in work.session_work.project.skills)
            raise ToolFailed(f"There is no skill {self.skill!r}; there are: {known or 'none'}")
        await work.shown.complete()
        return ToolOutcome(bounded(f"{found.body}\n\n[The files that it names are beside {found.path}]"))
