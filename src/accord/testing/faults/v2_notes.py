"""Agents of v2 that do otherwise where the protocol says nothing: what is recorded of them is not what is usual."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_handshake import INVALID_PARAMS, NO_METHOD
from accord.testing.faults.agent_v2_sessions import HeldPrompt, OpenSession
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused

__all__: list[str] = []

# Codes that no conforming peer of ours uses there: they are found in the notes.


@breaks("ACP-CANCEL-204", "v2", note="after 0.")
class StopsSlowly(PlainV2):
    was_slow = False

    async def turn(self, session: OpenSession, prompt: HeldPrompt) -> str:
        try:
            return await super().turn(session, prompt)
        except asyncio.CancelledError:
            if not self.is_over and not self.was_slow:
                self.was_slow = True
                await asyncio.sleep(0.3)  # how long it takes is what is different
            raise


@breaks("ACP-INFO-CANCEL-201", "v2", note="session: idle")
class SaysThatItIsIdle(PlainV2):
    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        session = self.sessions.get(str(params.get("sessionId")))
        if session is not None and session.work is None:
            self.tell_state(session)
        await super().on_session_cancel(params)


@breaks("ACP-INFO-CANCEL-202", "v2", note="left open")
class TakesNoQuestionBack(FullV2):
    def take_back(self, request_id: Any) -> None:
        """It stays open."""


@breaks("ACP-INFO-CONCURRENT-201", "v2", note="accepted")
class TakesASecondPromptAtOnce(PlainV2):
    def place_prompt(self, session: OpenSession, prompt: HeldPrompt) -> None:
        if session.work is None or session.work.cancelling():
            super().place_prompt(session, prompt)
        else:
            message_id = self.new_message_id()
            self.echo(session, message_id, prompt)
            self.receipt(prompt.request, message_id)


@breaks("ACP-INFO-UNKNOWNSESSION-001", "v2", note="-32602")
class HasNoWordForUnknownSessions(PlainV2):
    def open_session(self, params: dict[str, Any]) -> OpenSession:
        if params.get("sessionId") not in self.sessions:
            raise Refused(INVALID_PARAMS, "Invalid params")
        return super().open_session(params)


@breaks("ACP-BATCH-207", "v2", note="arrays")
class SpeaksInArrays(PlainV2):
    async def reply(self, session: OpenSession, prompt: HeldPrompt) -> None:
        await super().reply(session, prompt)
        params = {"sessionId": session.id, "update": {"sessionUpdate": "usage_update", "used": 1, "size": 9}}
        self.say([{"jsonrpc": "2.0", "method": "session/update", "params": params}])


@breaks("ACP-INFO-BATCH-201", "v2", note="ignored")
class IgnoresABrokenArray(PlainV2):
    async def take_broken(self, line: bytes) -> None:
        if not line.startswith(b"["):
            await super().take_broken(line)


@breaks("ACP-INFO-BATCH-202", "v2", note="single answers")
class HasACodeForAnswersInArrays(PlainV2):
    async def take_array(self, messages: list[Any]) -> None:
        if any(isinstance(each, dict) and "result" in each for each in messages):
            self.refuse(None, -32099, "Answers stand alone")
        else:
            await super().take_array(messages)


class _RefusesAServer(FullV2):
    refused = ""

    def check_servers(self, params: dict[str, Any]) -> None:
        super().check_servers(params)
        if any(server["type"] == self.refused for server in params.get("mcpServers") or []):
            raise Refused(-32099, "It cannot be reached")


@breaks("ACP-MCP-201", "v2", note="-32099")
class RefusesServersOnStdio(_RefusesAServer):
    refused = "stdio"


@breaks("ACP-MCP-202", "v2", note="-32099")
class RefusesServersOverHttp(_RefusesAServer):
    refused = "http"


@breaks("ACP-INFO-PARSE-001", "v2", note="silence")
class IgnoresWhatIsNoUtf8(PlainV2):
    async def take_broken(self, line: bytes) -> None:
        if b"\xff" not in line:
            await super().take_broken(line)


@breaks("ACP-INFO-INVALIDREQ-001", "v2", note="silence")
class IgnoresWhatIsNoMessage(PlainV2):
    async def take_strange(self, message: Any) -> None:
        if not isinstance(message, dict) or "hello" not in message:
            await super().take_strange(message)


@breaks("ACP-EXT-203", "v2", note="answered")
class AnswersANotificationWithADollar(PlainV2):
    async def take_notification(self, method: str, params: Any) -> None:
        if method == "$/nonsense":
            self.refuse(None, NO_METHOD, "Method not found")
        await super().take_notification(method, params)


@breaks("ACP-STDERR-001", "v2", note="bytes")
class EndsWithATraceback(PlainV2):
    async def at_end(self) -> None:
        await super().at_end()
        raise RuntimeError("this is the end")
