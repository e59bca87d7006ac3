"""An agent on the official SDK, of any version from 0.11 on; only the import of `run_agent` is Accord's.

The text of a prompt says what to do.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from acp import Agent, InitializeResponse, NewSessionResponse, PromptResponse, RequestError
from acp.schema import AgentMessageChunk, PermissionOption, TextContentBlock, ToolCallUpdate

from accord.compat.acp import run_agent


class Probe(Agent):
    def __init__(self) -> None:
        self.conn: Any = None
        self.cancelled = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, mcp_servers: Any = None, **kwargs: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=f"session in {cwd}")

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        word = prompt[0].text
        stop_reason = await getattr(self, f"on_{word}")(session_id, kwargs)
        return PromptResponse(stop_reason=stop_reason or "end_turn")

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self.cancelled.set()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "refused":
            raise RequestError.method_not_found(method)
        return {"method": method, "params": params}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        await self.conn.ext_notification("heard", {"method": method, **params})

    async def say(self, session_id: str, text: str) -> None:
        chunk = AgentMessageChunk(
            session_update="agent_message_chunk", content=TextContentBlock(type="text", text=text)
        )
        await self.conn.session_update(session_id, chunk)

    async def on_meta(self, session_id: str, meta: dict[str, Any]) -> None:
        await self.say(session_id, json.dumps({"session": session_id, "meta": meta}))

    async def on_print(self, session_id: str, _: dict[str, Any]) -> None:
        print("a stray print")  # noqa: T201
        await self.say(session_id, "printed")

    async def on_many(self, session_id: str, _: dict[str, Any]) -> None:
        for number in range(200):
            await self.say(session_id, f"{number} ")

    async def on_ask(self, session_id: str, _: dict[str, Any]) -> None:
        options = [PermissionOption(option_id="yes", name="Yes", kind="allow_once")]
        tool = ToolCallUpdate(tool_call_id="call-1", title="Look")
        answer = await self.conn.request_permission(session_id, tool, options)
        await self.say(session_id, answer.outcome.option_id)

    async def on_read(self, session_id: str, _: dict[str, Any]) -> None:
        try:
            file = await self.conn.read_text_file(session_id=session_id, path="/nothing/is/here")
        except RequestError as error:
            await self.say(session_id, f"refused: {error.code}")
        else:
            await self.say(session_id, f"read: {file.content}")

    async def on_wait(self, session_id: str, _: dict[str, Any]) -> str:
        await self.say(session_id, "waiting")
        await self.cancelled.wait()
        return "cancelled"

    async def on_refuse(self, session_id: str, _: dict[str, Any]) -> None:
        raise RequestError.auth_required({"why": session_id})

    async def on_fail(self, *_: Any) -> None:
        raise ValueError("a secret of the agent")


asyncio.run(run_agent(Probe()))
