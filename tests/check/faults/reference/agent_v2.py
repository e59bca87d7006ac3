"""Agents of v2 (November) by hand that keep every rule: one that can as little as possible, one that can everything."""

from __future__ import annotations

import base64
import uuid
from typing import Any

from tests.check.faults.reference.agent_v2_sessions import HeldPrompt, OpenSession
from tests.check.faults.reference.agent_v2_settings import UPDATED_AT, EverythingV2
from tests.check.faults.reference.agent_v2_turn import TurnsV2

__all__ = ["FullV2", "PlainV2"]

_COMMAND = "wc -l notes.txt"


class PlainV2(TurnsV2):
    """Repeats what it is told. A prompt with `__hang__` in it goes on until it is cancelled."""


class FullV2(EverythingV2):
    """In each turn it does everything that an agent can do."""

    async def reply(self, session: OpenSession, prompt: HeldPrompt) -> None:
        self.finish_background(session)
        self.think(session)
        self.plan(session, "in_progress")
        await self.use_tool(session)
        if self.client_has("elicitation", "form"):
            await self.elicit(session)
        self.tell_about(session)
        self.compact(session)
        self.say_words(session, "Fertig: äöü 🎼 ", f"You said: {prompt.text}")
        self.plan(session, "completed")
        self.begin_background(session)

    def think(self, session: OpenSession) -> None:
        content = [{"type": "text", "text": "Let me see"}]
        self.tell(session, "agent_thought", messageId=self.new_message_id(), content=content)

    def plan(self, session: OpenSession, status: str) -> None:
        entries = [{"content": "Edit the notes", "priority": "high", "status": status}]
        self.tell(session, "plan_update", plan={"type": "items", "planId": "plan-1", "entries": entries})

    # --- a tool call, a permission, a terminal

    async def use_tool(self, session: OpenSession) -> None:
        """Edit a file and run a command, if the user wants it."""
        id_ = f"tool-{uuid.uuid4()}"
        session.unfinished.append(id_)
        self.tell_tool(session, id_)
        questions = (self.question(session, id_), self.command_question(session, id_))
        is_allowed = all([await self.permission(session, question) for question in questions])
        if is_allowed:
            self.tell(session, "tool_call_update", toolCallId=id_, status="in_progress")
            self.tell_content(session, id_, {"type": "content", "content": {"type": "text", "text": "written"}})
            self.tell_content(session, id_, self.diff(session))
            self.run_command(session, id_)
        self.tell(session, "tool_call_update", toolCallId=id_, status="completed" if is_allowed else "failed")
        session.unfinished.remove(id_)

    def tell_tool(self, session: OpenSession, id_: str) -> None:
        """The first that is said of a tool call."""
        self.tell(session, "tool_call_update", **self.tool(session, id_))

    def tool(self, session: OpenSession, id_: str) -> dict[str, Any]:
        """A tool call at its beginning."""
        return {
            "toolCallId": id_,
            "name": "edit",
            "title": "Edit the notes",
            "kind": "edit",
            "status": "pending",
            "locations": [{"path": self.file_of(session), "line": 1}],
            "rawInput": {"file": "notes.txt"},
        }

    def file_of(self, session: OpenSession) -> str:
        return f"{session.kept.cwd}/notes.txt"

    def tell_content(self, session: OpenSession, id_: str, content: dict[str, Any]) -> None:
        """More content of a tool call."""
        self.tell(session, "tool_call_content_chunk", toolCallId=id_, content=content)

    def diff(self, session: OpenSession) -> dict[str, Any]:
        """What was changed, as a patch with absolute paths too."""
        path = self.file_of(session)
        lines = [f"diff --git {path} {path}", f"--- {path}", f"+++ {path}", "@@ -1 +1 @@", "-old", "+new", ""]
        return {
            "type": "diff",
            "changes": [{"operation": "modify", "path": path, "fileType": "text"}],
            "patch": {"format": "git_patch", "text": "\n".join(lines)},
        }

    async def permission(self, session: OpenSession, question: dict[str, Any]) -> bool:
        """Ask the user; the session says that it waits for that."""
        self.enter(session, "requires_action")
        answer = await self.ask("session/request_permission", question)
        self.enter(session, "running")
        result = answer.get("result")
        outcome = result.get("outcome") if isinstance(result, dict) else None
        return isinstance(outcome, dict) and (outcome.get("outcome"), outcome.get("optionId")) == ("selected", "yes")

    def question(self, session: OpenSession, id_: str) -> dict[str, Any]:
        """What the user is asked about a tool call."""
        subject = {"type": "tool_call", "toolCall": {"toolCallId": id_}}
        title = "May the notes be edited?"
        return {"sessionId": session.id, "title": title, "subject": subject, "options": self.choices()}

    def command_question(self, session: OpenSession, id_: str) -> dict[str, Any]:
        """What the user is asked about a command."""
        subject = {"type": "command", "command": _COMMAND, "cwd": session.kept.cwd, "toolCallId": id_}
        title = "May the notes be counted?"
        return {"sessionId": session.id, "title": title, "subject": subject, "options": self.choices()}

    def choices(self) -> list[Any]:
        return [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]

    def run_command(self, session: OpenSession, id_: str) -> None:
        """A terminal from its beginning to its end."""
        terminal = f"terminal-{uuid.uuid4()}"
        self.tell_terminal(session, terminal)
        self.tell_content(session, id_, {"type": "terminal", "terminalId": terminal})
        for piece in (b"1 ", b"notes.txt\n"):
            self.tell_output(session, terminal, piece)
        self.tell(session, "terminal_update", terminalId=terminal, exitStatus={"exitCode": 0})

    def tell_terminal(self, session: OpenSession, terminal: str) -> None:
        """The first that is said of a terminal."""
        self.tell(
            session, "terminal_update", terminalId=terminal, command=_COMMAND, cwd=session.kept.cwd, output={"data": ""}
        )

    def tell_output(self, session: OpenSession, terminal: str, piece: bytes) -> None:
        """A piece of output, encoded by itself."""
        self.tell(session, "terminal_output_chunk", terminalId=terminal, data=base64.b64encode(piece).decode())

    # --- the rest

    async def elicit(self, session: OpenSession) -> None:
        """A form for the user, where the client has forms."""
        self.enter(session, "requires_action")
        await self.ask("elicitation/create", self.form(session))
        self.enter(session, "running")

    def form(self, session: OpenSession) -> dict[str, Any]:
        """What is to be filled in."""
        schema = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}}
        return {"mode": "form", "sessionId": session.id, "message": "Who are you?", "requestedSchema": schema}

    def tell_about(self, session: OpenSession) -> None:
        """What is told beside the conversation."""
        session.kept.title = "Notes"
        self.tell(session, "notice", severity="info", title="Almost done", description="Only words are left")
        self.tell(session, "session_info_update", title="Notes", updatedAt=UPDATED_AT, _meta={"example.com/notes": 1})
        self.tell(session, "usage_update", used=10, size=1000, cost={"amount": 0.25, "currency": "USD"})
        self.tell(session, "available_commands_update", availableCommands=self.commands())

    def compact(self, session: OpenSession) -> None:
        """The conversation is made shorter, at the second try."""
        self.tell(
            session,
            "compaction_update",
            compactionId=f"compaction-{uuid.uuid4()}",
            status="failed",
            error="There was no answer",
        )
        id_ = f"compaction-{uuid.uuid4()}"
        summary = {"type": "text", "text": "It was about notes"}
        self.tell(session, "compaction_update", compactionId=id_, status="in_progress")
        self.tell(session, "compaction_summary_chunk", compactionId=id_, content=summary)
        self.tell(session, "compaction_update", compactionId=id_, status="completed", summary=[summary])

    def begin_background(self, session: OpenSession) -> None:
        """A terminal that goes on behind the end of the turn."""
        terminal = f"terminal-{uuid.uuid4()}"
        self.tell(session, "terminal_update", terminalId=terminal, command="serve", cwd=session.kept.cwd)
        session.background.append(terminal)

    def finish_background(self, session: OpenSession) -> None:
        """What an earlier turn left has ended meanwhile."""
        for terminal in session.background:
            self.tell(session, "terminal_update", terminalId=terminal, exitStatus={"exitCode": 0})
        if session.background:
            session.background.clear()
            self.tell_state(session)

    async def hang(self, session: OpenSession) -> None:
        """Work without an end, in a tool call and a terminal that can be cancelled alone."""
        id_, terminal = f"tool-{uuid.uuid4()}", f"terminal-{uuid.uuid4()}"
        session.unfinished.append(id_)
        session.terminals.append(terminal)
        session.cancellable |= {id_, terminal}
        can: dict[str, Any] = {"cancel": {}}
        self.tell(session, "tool_call_update", **{**self.tool(session, id_), "capabilities": can})
        cwd = session.kept.cwd
        self.tell(session, "terminal_update", terminalId=terminal, command="sleep", cwd=cwd, capabilities=can)
        await super().hang(session)
