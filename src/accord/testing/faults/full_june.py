"""An agent of June's v2 by hand that has every capability and in each turn does all that June has words for."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.full_v1 import FullV1
from accord.testing.faults.plain_june import PlainJune
from accord.testing.faults.shelf import Session

__all__ = ["FullJune"]


class FullJune(PlainJune, FullV1):
    """Conforms to June's v2 and has all of it."""

    def capabilities(self) -> dict[str, Any]:
        """What this agent can do."""
        names = ("load", "list", "delete", "additionalDirectories", "resume", "close")
        session: dict[str, Any] = {
            **{name: {} for name in names},
            "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
            "mcp": {"stdio": {}, "http": {}},
        }
        return {"session": session, "auth": {"logout": {}}}

    def offers(self, *_path: str) -> bool:
        """No client of June's can offer anything."""
        return False

    def auth_methods(self) -> list[dict[str, Any]]:
        """How to log in."""
        return [{"type": "agent", "id": "token", "name": "Log in with a token"}]

    def settings(self, session: Session) -> dict[str, Any]:
        """What a session can be set to: June has options only."""
        return {"configOptions": self.options(session)}

    def show_mode(self, session: Session) -> None:
        """The mode is an option, and an update about options has all of them."""
        self.update(session, "config_option_update", configOptions=self.options(session))

    on_session_set_mode = None  # type: ignore[assignment]

    # --- what is told

    def show_message(self, session: Session, words: str) -> None:
        """The agent says something in two parts, and then the whole of something else."""
        super().show_message(session, words)
        done = [{"type": "text", "text": "Done."}]
        self.show(session, "agent_message", messageId=self.message_id(), content=done)

    def show_plan(self, session: Session, status: str) -> None:
        """The whole plan."""
        plan = {"type": "items", "id": "plan-1", "entries": self.plan_entries(status)}
        self.show(session, "plan_update", plan=plan)

    def tool_fields(self, session: Session) -> dict[str, Any]:
        """What is told of a tool at first."""
        return {key: value for key, value in super().tool_fields(session).items() if key != "name"}

    def open_tool(self, session: Session, tool: str) -> None:
        """A tool is about to run."""
        self.update_tool(session, tool, **self.tool_fields(session))

    async def change(self, session: Session, tool: str) -> bool:
        """Run the tool; gives whether it succeeded."""
        self.update_tool(session, tool, status="in_progress")
        first, *others = self.tool_content(session)
        self.update_tool(session, tool, content=[first])
        for content in others:
            self.show(session, "tool_call_content_chunk", toolCallId=tool, content=content)
        return True
