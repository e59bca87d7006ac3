"""The tools `delegate`, which gives a task to a sub-agent, and `skill`, which reads a skill of the project."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from accord.agent import ToolFailed
from accord.coder.tools.call import BuiltIn, ToolOutcome, Work, bounded
from accord.session.tool import ToolKind


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
        """Its last answer. What it says meanwhile is the content of this call, and its tool calls name this call."""
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
