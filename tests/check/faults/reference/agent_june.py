"""The agents of June's v2 by hand: one with sessions and nothing else, one with all; batches are June's own."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.raw import INVALID_REQUEST, Refused
from tests.check.faults.reference.store import Session

__all__ = ["Batch", "FullJune", "PlainJune"]


@dataclass
class Batch:
    """What came in one array."""

    replies: list[dict[str, Any]] = field(default_factory=list)
    later: list[tuple[Any, str, dict[str, Any], Any]] = field(default_factory=list)
    """Requests that were answered, for what is told after that."""


_BATCH: ContextVar[Batch | None] = ContextVar("_BATCH", default=None)
"""Which batch the request is part of that is worked on here."""


class PlainJune(PlainV1):
    """Conforms to June's v2 and has no capability but sessions."""

    capabilities_of_client = capabilities_of_agent = "capabilities"

    def version(self, _asked: int) -> int:
        return 2

    def capabilities(self) -> dict[str, Any]:
        return {"session": {"mcp": {"stdio": {}}}, "auth": {}}

    def remember_prompt(self, session: Session, blocks: list[Any]) -> None:
        """A prompt is part of the conversation, and gets its id there."""
        self.show(session, "user_message", messageId=self.message_id(), content=blocks)

    # --- batches

    async def take_array(self, messages: list[Any]) -> None:
        """A batch, which is worked on while others are read."""
        if not messages:
            self.refuse(None, INVALID_REQUEST, "Invalid request")
            return
        task = asyncio.ensure_future(self.work_on_batch(messages))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.sleep(0)

    async def work_on_batch(self, messages: list[Any]) -> None:
        """All at once; answered together, when the last is done."""
        batch = Batch()
        _BATCH.set(batch)
        await asyncio.gather(*(self.take_entry(message) for message in messages))
        _BATCH.set(None)
        self.answer_batch(batch)
        for answered in batch.later:
            await self.after_answer(*answered)

    def answer_batch(self, batch: Batch) -> None:
        """One array, unless there is nothing to answer."""
        if batch.replies:
            self.say(batch.replies)

    def is_in_batch(self) -> bool:
        """Whether what is worked on here came in an array."""
        return _BATCH.get() is not None

    async def take_entry(self, message: Any) -> None:
        is_request = isinstance(message, dict) and isinstance(message.get("method"), str) and "id" in message
        if is_request and message.get("jsonrpc") == "2.0":
            await self._work(message["id"], message["method"], message.get("params") or {})
        elif isinstance(message, list):
            await self.take_strange(message)
        else:
            await self.take_json(message)

    def answer(self, id_: Any, result: Any) -> None:
        """A result, in its batch if it is part of one."""
        batch = _BATCH.get()
        if batch is None:
            super().answer(id_, result)
        else:
            batch.replies.append({"jsonrpc": "2.0", "id": id_, "result": result})

    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        """An error, in its batch if it is part of one."""
        batch = _BATCH.get()
        if batch is None:
            super().refuse(id_, code, message, data)
        else:
            error = {"code": code, "message": message} | ({} if data is None else {"data": data})
            batch.replies.append({"jsonrpc": "2.0", "id": id_, "error": error})

    async def _work(self, id_: Any, method: str, params: dict[str, Any]) -> None:
        batch = _BATCH.get()
        if batch is None:
            await super()._work(id_, method, params)
            return
        try:
            result = await self.perform(id_, method, params)
        except Refused as refused:
            self.refuse(id_, refused.code, refused.message, refused.data)
        else:
            self.answer(id_, result)
            batch.later.append((id_, method, params, result))


class FullJune(PlainJune, FullV1):
    """Conforms to June's v2 and has all of it."""

    def capabilities(self) -> dict[str, Any]:
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
        plan = {"type": "items", "id": "plan-1", "entries": self.plan_entries(status)}
        self.show(session, "plan_update", plan=plan)

    def tool_fields(self, session: Session) -> dict[str, Any]:
        return {key: value for key, value in super().tool_fields(session).items() if key != "name"}

    def open_tool(self, session: Session, tool: str) -> None:
        self.update_tool(session, tool, **self.tool_fields(session))

    async def change(self, session: Session, tool: str) -> bool:
        self.update_tool(session, tool, status="in_progress")
        first, *others = self.tool_content(session)
        self.update_tool(session, tool, content=[first])
        for content in others:
            self.show(session, "tool_call_content_chunk", toolCallId=tool, content=content)
        return True
