"""An agent of June's v2 by hand that has sessions and nothing else; batches are June's own."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from accord.testing.faults.plain_v1 import PlainV1
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session

__all__ = ["Batch", "PlainJune"]

INVALID_REQUEST = -32600


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

    def client_capabilities(self, params: dict[str, Any]) -> dict[str, Any]:
        """What the client can do: June has no word for anything."""
        said = params.get("capabilities")
        return said if isinstance(said, dict) else {}

    def handshake_result(self, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to the handshake."""
        return {
            "protocolVersion": self.version(params["protocolVersion"]),
            "capabilities": self.capabilities(),
            "agentInfo": self.info(),
            "authMethods": self.auth_methods(),
        }

    def version(self, _asked: int) -> int:
        """The version that is spoken from now on."""
        return 2

    def capabilities(self) -> dict[str, Any]:
        """What this agent can do."""
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
        """One entry of a batch."""
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
