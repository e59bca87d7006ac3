"""A turn in which an agent by hand does all that its client lets it do; each thing is a method."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.store import Session

__all__ = ["WorkV1"]

_ALLOWED = "allow"


class WorkV1(PlainV1):
    """What happens in a turn."""

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        self.show_thought(session, "Let me see")
        self.show_plan(session, "in_progress")
        await self.edit(session)
        await self.elicit(session)
        self.show_extras(session)
        self.show_plan(session, "completed")
        self.show_title(session, "Notes")
        self.show_usage(session)
        return await super().turn(session, blocks)

    # --- what is told

    def show_thought(self, session: Session, words: str) -> None:
        content = {"type": "text", "text": words}
        self.show(session, "agent_thought_chunk", messageId=self.message_id(), content=content)

    def plan_entries(self, status: str) -> list[dict[str, Any]]:
        return [
            {"content": "Edit the notes", "priority": "high", "status": status},
            {"content": "Say so", "priority": "medium", "status": "pending"},
        ]

    def show_plan(self, session: Session, status: str) -> None:
        self.show(session, "plan", entries=self.plan_entries(status))

    def show_title(self, session: Session, title: str) -> None:
        session.title, session.updated_at = title, self.time()
        self.update(session, "session_info_update", title=title, updatedAt=session.updated_at)

    def show_usage(self, session: Session) -> None:
        self.update(session, "usage_update", used=10, size=1000, cost={"amount": 0.25, "currency": "USD"})

    def show_extras(self, session: Session) -> None:
        if self.offers("session", "notices"):
            self.update(session, "notice", severity="info", title="Almost done", description="Only words are left")
        if self.offers("session", "compaction"):
            self.show_compaction(session, f"compaction-{uuid.uuid4().hex}")

    def show_compaction(self, session: Session, id_: str) -> None:
        summary = {"type": "text", "text": "It was about notes"}
        self.update(session, "compaction_update", compactionId=id_, status="in_progress")
        self.update(session, "compaction_summary_chunk", compactionId=id_, content=summary)
        self.update(session, "compaction_update", compactionId=id_, status="completed", summary=[summary])

    # --- a tool

    async def edit(self, session: Session) -> None:
        tool = f"tool-{uuid.uuid4().hex}"
        self.open_tool(session, tool)
        try:
            is_done = await self.is_allowed(session, tool) and await self.change(session, tool)
        except asyncio.CancelledError:
            self.close_tool(session, tool, "failed")
            raise
        self.close_tool(session, tool, "completed" if is_done else "failed")

    def file_of(self, session: Session) -> str:
        return str(Path(session.cwd) / "notes.txt")

    def tool_fields(self, session: Session) -> dict[str, Any]:
        """What is told of a tool at first."""
        return {
            "title": "Edit the notes",
            "name": "edit",
            "kind": "edit",
            "status": "pending",
            "locations": [{"path": self.file_of(session), "line": 1}],
            "rawInput": {"file": "notes.txt"},
        }

    def open_tool(self, session: Session, tool: str) -> None:
        """A tool is about to run."""
        self.show(session, "tool_call", toolCallId=tool, **self.tool_fields(session))

    def update_tool(self, session: Session, tool: str, /, **fields: Any) -> None:
        """Something of a tool has changed."""
        self.show(session, "tool_call_update", toolCallId=tool, **fields)

    def close_tool(self, session: Session, tool: str, status: str) -> None:
        self.update_tool(session, tool, status=status, rawOutput={"lines": 1})

    def permission(self, session: Session, tool: str) -> dict[str, Any]:
        """The question whether a tool may run."""
        return {
            "sessionId": session.id,
            "toolCall": {"toolCallId": tool, "title": "Edit the notes"},
            "options": [
                {"optionId": _ALLOWED, "name": "Allow", "kind": "allow_once"},
                {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
            ],
        }

    async def is_allowed(self, session: Session, tool: str) -> bool:
        """Ask whether a tool may run; only a clear yes is one."""
        answer = await self.ask("session/request_permission", self.permission(session, tool))
        result = answer.get("result")
        outcome = result.get("outcome") if isinstance(result, dict) else None
        return isinstance(outcome, dict) and (outcome.get("outcome"), outcome.get("optionId")) == ("selected", _ALLOWED)

    async def change(self, session: Session, tool: str) -> bool:
        """Run the tool; gives whether it succeeded."""
        self.update_tool(session, tool, status="in_progress")
        is_done = await self.use_files(session)
        content = self.tool_content(session)
        self.update_tool(session, tool, content=content)
        await self.use_terminal(session, tool, content)
        return is_done

    def tool_content(self, session: Session) -> list[dict[str, Any]]:
        return [
            {"type": "diff", "path": self.file_of(session), "oldText": "old\n", "newText": "new\n"},
            {"type": "content", "content": {"type": "text", "text": "written, and counted"}},
        ]

    # --- what is used of the client

    async def use_files(self, session: Session) -> bool:
        """Write and read by the client, as far as it offers that."""
        where = {"sessionId": session.id, "path": self.file_of(session)}
        answers = []
        if self.offers("fs", "writeTextFile"):
            answers.append(await self.ask("fs/write_text_file", {**where, "content": "new\n"}))
        if self.offers("fs", "readTextFile"):
            answers.append(await self.ask("fs/read_text_file", {**where, "line": 1, "limit": 10}))
        return not any("error" in answer for answer in answers)

    async def use_terminal(self, session: Session, tool: str, content: list[dict[str, Any]]) -> None:
        """Run a command by the client, if it offers that; show it before it is released."""
        if not self.offers("terminal"):
            return
        terminal = await self.create_terminal(session)
        if terminal is None:
            return
        named = {"sessionId": session.id, "terminalId": terminal}
        try:
            # Not part of the history: another client does not have this terminal.
            shown = [*content, {"type": "terminal", "terminalId": terminal}]
            self.update(session, "tool_call_update", toolCallId=tool, content=shown)
            await self.ask("terminal/wait_for_exit", named)
            await self.ask("terminal/output", named)
        finally:
            self.release(named)

    async def create_terminal(self, session: Session) -> str | None:
        """Start a command; one that is there only after the turn was cancelled is given back at once."""
        creating = asyncio.ensure_future(self.ask("terminal/create", self.command(session)))
        try:
            return _terminal_in(await asyncio.shield(creating))
        except asyncio.CancelledError:
            creating.add_done_callback(lambda done: self.give_back(session, done))
            if self.is_ending:
                creating.cancel()
            raise

    def give_back(self, session: Session, created: asyncio.Future[dict[str, Any]]) -> None:
        """Release a terminal that nobody waited for."""
        terminal = None if created.cancelled() else _terminal_in(created.result())
        if terminal is not None:
            self.release({"sessionId": session.id, "terminalId": terminal})

    def command(self, session: Session) -> dict[str, Any]:
        return {"sessionId": session.id, "command": "wc", "args": ["-l", "notes.txt"], "cwd": session.cwd}

    def release(self, named: dict[str, Any]) -> None:
        """Give a terminal back, without waiting for the answer: a turn that was cancelled has no time."""
        self.say({"jsonrpc": "2.0", "id": f"release-{uuid.uuid4().hex}", "method": "terminal/release", "params": named})

    async def elicit(self, session: Session) -> None:
        """Ask the user something, if the client has a form for that."""
        if self.offers("elicitation", "form"):
            schema = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}}
            form = {"mode": "form", "sessionId": session.id, "message": "Who are you?", "requestedSchema": schema}
            await self.ask("elicitation/create", form)


def _terminal_in(answer: dict[str, Any]) -> str | None:
    result = answer.get("result")
    terminal = result.get("terminalId") if isinstance(result, dict) else None
    return terminal if isinstance(terminal, str) else None
