"""Agents of v2 that are wrong in their lines and messages, whatever these say."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_handshake import INVALID_PARAMS, NO_METHOD
from accord.testing.faults.agent_v2_sessions import HeldPrompt, OpenSession
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused

__all__: list[str] = []


@breaks("ACP-TRANSPORT-201", "v2")
class GreetsOnStdout(PlainV2):
    async def at_start(self) -> None:
        self.write(b"Welcome!\n")


@breaks("ACP-TRANSPORT-002", "v2")
class ThinksInLatin1(FullV2):
    def think(self, session: OpenSession) -> None:
        content = [{"type": "text", "text": "Grübel"}]
        update = {"sessionUpdate": "agent_thought", "messageId": self.new_message_id(), "content": content}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session.id, "update": update}}
        self.write(json.dumps(message, ensure_ascii=False).encode("latin-1") + b"\n")


@breaks("ACP-TRANSPORT-203", "v2")
class SpreadsAMessageOverLines(PlainV2):
    async def reply(self, session: OpenSession, prompt: HeldPrompt) -> None:
        await super().reply(session, prompt)
        update = {"sessionUpdate": "usage_update", "used": 1, "size": 9}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session.id, "update": update}}
        self.write(json.dumps(message, indent=1).encode() + b"\n")


@breaks("ACP-JSONRPC-001", "v2")
class LosesEmptyIds(PlainV2):
    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        super().refuse(id_ or None, code, message, data)


@breaks("ACP-JSONRPC-002", "v2")
class HasAResultBesideTheError(PlainV2):
    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        if code != INVALID_PARAMS or data["field"] != "cwd":
            super().refuse(id_, code, message, data)
        else:
            self.say({"jsonrpc": "2.0", "id": id_, "result": None, "error": {"code": code, "message": message}})


@breaks("ACP-JSONRPC-003", "v2")
class AnswersUnknownNotifications(PlainV2):
    async def take_notification(self, method: str, params: Any) -> None:
        if method == "nonsense/note":
            self.answer(method, {})
        await super().take_notification(method, params)


@breaks("ACP-JSONRPC-004", "v2")
class SaysYesToUnknownMethods(PlainV2):
    async def perform(self, id_: Any, method: str, params: Any) -> Any:
        if method.startswith("nonsense/"):
            return {}
        return await super().perform(id_, method, params)


@breaks("ACP-JSONRPC-005", "v2")
class DiesOfABadRequest(PlainV2):
    async def on_session_new(self, params: dict[str, Any]) -> Any:
        if isinstance(params.get("mcpServers"), str):
            raise SystemExit(1)
        return await super().on_session_new(params)


@breaks("ACP-BATCH-201", "v2")
class IgnoresAnEmptyArray(PlainV2):
    async def take_array(self, messages: list[Any]) -> None:
        if messages:
            await super().take_array(messages)


@breaks("ACP-EXT-001", "v2")
class LeavesAnExtensionUnanswered(PlainV2):
    async def take_request(self, message: dict[str, Any]) -> None:
        if message["method"] != "_example.com/unknown":
            await super().take_request(message)


@breaks("ACP-EXT-201", "v2")
class AnswersAnExtensionNotification(PlainV2):
    async def take_notification(self, method: str, params: Any) -> None:
        if method.startswith("_"):
            self.refuse(None, NO_METHOD, "Method not found")
        await super().take_notification(method, params)


@breaks("ACP-META-001", "v2")
class RefusesMetadata(PlainV2):
    def take_prompt(self, request: Any, params: Any) -> None:
        if "_meta" in params:
            raise Refused(INVALID_PARAMS, "Invalid params")
        super().take_prompt(request, params)


@breaks("ACP-META-201", "v2")
class HasAListForMetadata(PlainV2):
    async def on_session_list(self, params: dict[str, Any]) -> Any:
        return {**await super().on_session_list(params), "_meta": []}


@breaks("ACP-ERROR-001", "v2")
class ExplainsErrorsAtLength(PlainV2):
    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        super().refuse(id_, code, f"{message}\n  in line 5\n  in line 3", data)


@breaks("ACP-SHUTDOWN-001", "v2")
class StaysForEver(PlainV2):
    async def at_end(self) -> None:
        is_working = any(session.work for session in self.sessions.values())
        await super().at_end()
        if not is_working:
            await asyncio.get_running_loop().create_future()
