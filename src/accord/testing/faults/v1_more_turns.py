"""Agents of v1 that are wrong about the order of a turn, about tools and questions, and about what they tell."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.testing.faults.agent_v1 import FullV1, PlainV1
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session

__all__: list[str] = []

INTERNAL_ERROR = -32603


# --- order


@breaks("ACCORD-ORDER-001", "v1")
class OneMoreThing(PlainV1):
    """Says more when the turn is over."""

    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        """A request was answered."""
        await super().after_answer(id_, method, params, result)
        if method == "session/prompt" and result.get("stopReason") == "end_turn":
            content = {"type": "text", "text": "One more thing"}
            self.update(self.find(params), "agent_message_chunk", messageId=self.message_id(), content=content)


@breaks("ACCORD-ORDER-002", "v1")
class UpdatesBeforeTools(FullV1):
    """Tells of a tool call before it announces it."""

    def open_tool(self, session: Session, tool: str) -> None:
        """A tool is about to run."""
        self.update_tool(session, tool, status="pending")
        super().open_tool(session, tool)


@breaks("ACCORD-ORDER-003", "v1")
class AnnouncesTwice(FullV1):
    """Announces each tool call again."""

    def open_tool(self, session: Session, tool: str) -> None:
        """A tool is about to run."""
        super().open_tool(session, tool)
        super().open_tool(session, tool)


# --- tools


@breaks("ACCORD-TOOL-001", "v1")
class StatusGoesBack(FullV1):
    """Completes a tool call twice."""

    def close_tool(self, session: Session, tool: str, status: str) -> None:
        """A tool has run."""
        super().close_tool(session, tool, status)
        self.update_tool(session, tool, status="in_progress")
        super().close_tool(session, tool, status)


@breaks("ACCORD-TOOL-002", "v1")
class LeavesToolsOpen(FullV1):
    """Forgets to say that a tool has run."""

    def close_tool(self, session: Session, tool: str, status: str) -> None:
        """A tool has run."""
        if status != "completed":
            super().close_tool(session, tool, status)


@breaks("ACCORD-TOOL-003", "v1")
class FailsWithItsClient(FullV1):
    """Gives up the prompt when a file cannot be read."""

    async def use_files(self, session: Session) -> bool:
        """Write and read by the client."""
        if not await super().use_files(session):
            raise Refused(INTERNAL_ERROR, "Internal error")
        return True


@breaks("ACCORD-PATH-001", "v1")
class RelativeLocations(FullV1):
    """Names files as the user would."""

    def tool_fields(self, session: Session) -> dict[str, Any]:
        """What is told of a tool at first."""
        return {**super().tool_fields(session), "locations": [{"path": "notes.txt", "line": 1}]}


@breaks("ACCORD-PATH-002", "v1")
class LinesFromZero(FullV1):
    """Counts lines as programs do."""

    def tool_fields(self, session: Session) -> dict[str, Any]:
        """What is told of a tool at first."""
        return {**super().tool_fields(session), "locations": [{"path": self.file_of(session), "line": 0}]}


@breaks("ACCORD-DIFF-001", "v1")
class RelativeDiffs(FullV1):
    """Names changed files as the user would."""

    def tool_content(self, session: Session) -> list[dict[str, Any]]:
        """What a tool has done."""
        diff, *others = super().tool_content(session)
        return [{**diff, "path": "notes.txt"}, *others]


# --- questions


@breaks("ACCORD-PERM-001", "v1")
class OptionsShareAnId(FullV1):
    """Two ways to say no are one."""

    def permission(self, session: Session, tool: str) -> dict[str, Any]:
        """The question whether a tool may run."""
        question = super().permission(session, tool)
        never = {"optionId": "reject", "name": "Never", "kind": "reject_always"}
        return {**question, "options": [*question["options"], never]}


@breaks("ACCORD-PERM-002", "v1")
class NothingToChoose(FullV1):
    """Asks, and takes no answer."""

    def permission(self, session: Session, tool: str) -> dict[str, Any]:
        """The question whether a tool may run."""
        return {**super().permission(session, tool), "options": []}


@breaks("ACCORD-PERM-003", "v1")
class FailsAfterYes(FullV1):
    """Falls over a yes from a client with files and terminals."""

    async def is_allowed(self, session: Session, tool: str) -> bool:
        """Ask whether a tool may run."""
        is_allowed = await super().is_allowed(session, tool)
        if is_allowed and self.offers("terminal") and self.offers("fs", "readTextFile"):
            raise Refused(INTERNAL_ERROR, "Internal error")
        return is_allowed


@breaks("ACCORD-PERM-004", "v1")
class FailsAfterNo(FullV1):
    """Takes a no for an error."""

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Ask the client and wait."""
        answer = await super().ask(method, params)
        if method == "session/request_permission" and '"reject"' in str(answer).replace("'", '"'):
            raise Refused(INTERNAL_ERROR, "Internal error")
        return answer


@breaks("ACCORD-PERM-005", "v1")
class AskedIsNotCancelled(FullV1):
    """Takes a question that is taken back for the end of its work."""

    was_asking = False

    async def is_allowed(self, session: Session, tool: str) -> bool:
        """Ask whether a tool may run."""
        try:
            return await super().is_allowed(session, tool)
        except asyncio.CancelledError:
            self.was_asking = True
            raise

    def cancelled_reason(self) -> str:
        """Why a turn ends that was cancelled."""
        was_asking, self.was_asking = self.was_asking, False
        return "end_turn" if was_asking else super().cancelled_reason()


@breaks("ACCORD-PERM-006", "v1")
class RunsAfterNo(FullV1):
    """Asks, and does it anyway."""

    def close_tool(self, session: Session, tool: str, status: str) -> None:
        """A tool has run."""
        super().close_tool(session, tool, "completed" if status == "failed" else status)


# --- what is told beside


@breaks("ACCORD-COMMANDS-001", "v1")
class CommandsWithSlashes(FullV1):
    """Puts the slash into the name."""

    def commands(self) -> list[dict[str, Any]]:
        """What may be said with a slash."""
        return [{**command, "name": f"/{command['name']}"} for command in super().commands()]


@breaks("ACCORD-PLAN-001", "v1", note="dropped entries")
class PlansGetShorter(FullV1):
    """Drops what is done."""

    def plan_entries(self, status: str) -> list[dict[str, Any]]:
        """What is to be done."""
        entries = super().plan_entries(status)
        return entries if status == "in_progress" else entries[1:]


@breaks("ACCORD-USAGE-001", "v1")
class CostsFall(FullV1):
    """Tells what a turn has cost, and not the session."""

    cents = 100

    def show_usage(self, session: Session) -> None:
        """What it has cost."""
        self.cents -= 1
        cost = {"amount": self.cents / 100, "currency": "USD"}
        self.update(session, "usage_update", used=10, size=1000, cost=cost)


@breaks("ACCORD-USAGE-002", "v1")
class CostsInWords(FullV1):
    """Names the currency as people do."""

    def show_usage(self, session: Session) -> None:
        """What it has cost."""
        cost = {"amount": 0.25, "currency": "dollars"}
        self.update(session, "usage_update", used=10, size=1000, cost=cost)


@breaks("ACCORD-MESSAGE-001", "v1")
class OneMessageForAll(PlainV1):
    """Has one id for whatever it says."""

    def message_id(self) -> str:
        """For a new message."""
        return "message"


@breaks("ACCORD-META-001", "v1")
class MetadataAreText(FullV1):
    """Writes a note where an object belongs."""

    def commands(self) -> list[dict[str, Any]]:
        """What may be said with a slash."""
        return [{**command, "_meta": "a note"} for command in super().commands()]
