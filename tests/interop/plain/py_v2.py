"""The plainest agent on the official Python SDK, v2: repeats the prompt; "Count…" goes on until it is cancelled."""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from typing import Any

import acp
from acp.experimental import AgentProtocolRouter, v2
from acp.experimental.v2 import schema

KNOWN_BLOCKS = (schema.TextContentBlock, schema.ResourceContentBlock)


def text(words: str) -> Any:
    return schema.TextContentBlock(type="text", text=words)


def refuse(field: str) -> Any:
    return acp.RequestError.invalid_params({"field": field})


class Session:
    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        self.history: list[Any] = []
        self.is_open = True
        self.cancelled = asyncio.Event()
        self.cancellations = 0
        # Held by the work that goes on; prompts wait for it in their order.
        self.foreground = asyncio.Lock()

    def cancel(self) -> None:
        self.cancellations += 1
        self.cancelled.set()


class Agent:
    def __init__(self) -> None:
        self.client: Any = None
        self.sessions: dict[str, Session] = {}
        self.messages = 0
        self.works: set[asyncio.Task[None]] = set()

    def on_connect(self, connection: Any) -> None:
        self.client = connection

    async def initialize(self, **_: Any) -> Any:
        return schema.InitializeResponse(
            protocol_version=v2.PROTOCOL_VERSION,
            info=schema.Implementation(name="plain-py-v2", version="1"),
            capabilities=schema.AgentCapabilities(session=schema.SessionCapabilities()),
        )

    async def new_session(self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any) -> Any:
        if not PurePath(cwd).is_absolute():
            raise refuse("cwd")
        if mcp_servers:  # none of the transports is advertised
            raise refuse("mcpServers")
        session_id = f"session-{len(self.sessions) + 1}"
        self.sessions[session_id] = Session(cwd)
        return schema.NewSessionResponse(session_id=session_id)

    def find(self, session_id: str) -> Session:
        if session_id not in self.sessions:
            raise acp.RequestError(-32002, "Resource not found", {"sessionId": session_id})
        return self.sessions[session_id]

    async def resume_session(self, session_id: str, replay_from: Any = None, **_: Any) -> Any:
        session = self.find(session_id)
        if replay_from is not None and not isinstance(replay_from, schema.ReplayFromStartVariant):
            raise refuse("replayFrom")
        session.is_open = True
        for update in session.history if replay_from is not None else []:
            await self.client.session_update(session_id, update)
        if session.foreground.locked():
            await self.running(session_id)
        else:
            await self.idle(session_id)
        return schema.ResumeSessionResponse()

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> Any:
        infos = [
            schema.SessionInfo(session_id=session_id, cwd=session.cwd)
            for session_id, session in self.sessions.items()
            if cwd is None or session.cwd == cwd
        ]
        return schema.ListSessionsResponse(sessions=infos)

    async def close_session(self, session_id: str, **_: Any) -> Any:
        session = self.sessions.get(session_id)
        if session is not None:
            session.is_open = False
            session.cancel()
            async with session.foreground:
                pass
        return schema.CloseSessionResponse()

    async def cancel_session(self, session_id: str, **_: Any) -> None:
        if session_id in self.sessions:
            self.sessions[session_id].cancel()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> Any:
        session = self.find(session_id)
        if not session.is_open:
            raise acp.RequestError(-32002, "Resource not found", {"sessionId": session_id})
        if not all(isinstance(block, KNOWN_BLOCKS) for block in prompt):
            raise refuse("prompt")
        before = session.cancellations
        await session.foreground.acquire()
        if session.cancellations != before:
            session.foreground.release()
            raise acp.RequestError.request_cancelled()
        session.cancelled.clear()
        self.messages += 1
        message_id = f"message-{self.messages}"
        # From here on a request that is taken back changes nothing.
        work = asyncio.create_task(self.work(session_id, prompt, message_id))
        self.works.add(work)
        work.add_done_callback(self.works.discard)
        return schema.PromptResponse(message_id=message_id)

    async def work(self, session_id: str, prompt: list[Any], message_id: str) -> None:
        session = self.sessions[session_id]
        words = "".join(getattr(block, "text", "") for block in prompt)
        echo = schema.UserMessageUpdate(session_update="user_message", message_id=message_id, content=prompt)
        reply = schema.AgentMessageUpdate(
            session_update="agent_message", message_id=f"answer-to-{message_id}", content=[text(f"You said: {words}")]
        )
        try:
            await self.tell(session_id, echo)
            await self.running(session_id)
            await self.tell(session_id, reply)
            if words.startswith("Count"):
                await session.cancelled.wait()
            await self.idle(session_id, "cancelled" if session.cancelled.is_set() else "end_turn")
        finally:
            session.foreground.release()

    async def tell(self, session_id: str, update: Any) -> None:
        self.sessions[session_id].history.append(update)
        await self.client.session_update(session_id, update)

    async def running(self, session_id: str) -> None:
        running = schema.RunningSessionStateUpdate(session_update="state_update", state="running")
        await self.client.session_update(session_id, running)

    async def idle(self, session_id: str, reason: Any = None) -> None:
        idle = schema.IdleSessionStateUpdate(session_update="state_update", state="idle", stop_reason=reason)
        await self.client.session_update(session_id, idle)


if __name__ == "__main__":
    # And not `v2.run_agent`, which refuses every version but its own.
    asyncio.run(AgentProtocolRouter(v2=lambda _: Agent()).run())
