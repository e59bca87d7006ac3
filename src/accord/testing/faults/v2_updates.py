"""Agents of v2 that are wrong in what they tell of messages, tool calls, plans and terminals."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_history import Update
from accord.testing.faults.agent_v2_sessions import OpenSession
from accord.testing.faults.fault import breaks

__all__: list[str] = []


@breaks("ACP-PATCH-201", "v2")
class ThinksWithoutAnId(FullV2):
    def think(self, session: OpenSession) -> None:
        content = [{"type": "text", "text": "Let me see"}]
        self.update(session.id, {"sessionUpdate": "agent_thought", "content": content})


@breaks("ACP-PATCH-203", "v2")
class HasOneIdForAllPrompts(PlainV2):
    def new_prompt_id(self) -> str:
        return "message"


@breaks("ACP-PATCH-204", "v2")
class DoesNotNameItsToolCall(FullV2):
    def tell_content(self, session: OpenSession, id_: str, content: dict[str, Any]) -> None:
        if content["type"] == "diff":
            self.update(session.id, {"sessionUpdate": "tool_call_content_chunk", "content": content})
        else:
            super().tell_content(session, id_, content)


@breaks("ACP-PATCH-205", "v2")
class HasANamelessPlan(FullV2):
    def plan(self, session: OpenSession, status: str) -> None:
        entries = [{"content": "Edit the notes", "priority": "high", "status": status}]
        self.update(session.id, {"sessionUpdate": "plan_update", "plan": {"type": "items", "entries": entries}})


@breaks("ACP-PATCH-206", "v2")
class MovesItsTerminal(FullV2):
    def tell_output(self, session: OpenSession, terminal: str, piece: bytes) -> None:
        super().tell_output(session, terminal, piece)
        self.update(session.id, {"sessionUpdate": "terminal_update", "terminalId": terminal, "cwd": "/"})


@breaks("ACP-PATCH-207", "v2")
class TellsItsOutputAsText(FullV2):
    def tell_output(self, session: OpenSession, terminal: str, piece: bytes) -> None:
        chunk: Update = {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal, "data": piece.decode()}
        self.update(session.id, chunk)


@breaks("ACP-PATCH-208", "v2")
class BeginsAToolCallWithoutATitle(FullV2):
    def tool(self, session: OpenSession, id_: str) -> dict[str, Any]:
        tool = super().tool(session, id_)
        del tool["title"]
        return tool


@breaks("ACP-PATCH-209", "v2")
class RunsWhileItAsks(FullV2):
    def enter(self, session: OpenSession, state: str, **more: Any) -> None:
        if state != "requires_action":
            super().enter(session, state, **more)


@breaks("ACP-ENUM-201", "v2")
class HasAToolOfItsOwnKind(FullV2):
    def tool(self, session: OpenSession, id_: str) -> dict[str, Any]:
        return {**super().tool(session, id_), "kind": "paint"}


@breaks("ACP-ENUM-202", "v2")
class TellsAnUpdateOfItsOwn(FullV2):
    def tell_about(self, session: OpenSession) -> None:
        super().tell_about(session)
        self.update(session.id, {"sessionUpdate": "weather_update", "sky": "blue"})


@breaks("ACP-ENUM-203", "v2")
class DiesOfAnUnknownOutcome(FullV2):
    def take_answer(self, message: dict[str, Any]) -> None:
        result = message.get("result")
        outcome = result.get("outcome") if isinstance(result, dict) else None
        if isinstance(outcome, dict) and outcome.get("outcome") not in {"selected", "cancelled"}:
            raise SystemExit(1)
        super().take_answer(message)
