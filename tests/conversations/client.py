"""The client of the conversations: says the same in every edition and writes down all it hears, in order."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.connection import Connection, Handlers
from accord.protocol import v1, v2, v2_june
from accord.protocol.edition import Edition
from accord.transport import Transport

CWD = "/project"
NOTES = "some notes\n"


class ScriptedClient:
    """One connection's client; `heard` is everything that reached it, one line each."""

    def __init__(self, transport: Transport, edition: Edition) -> None:
        self.edition = edition
        self.received: list[str] = []
        self._idle = asyncio.Event()
        handlers = Handlers()
        self.connection = Connection(transport, "client", handlers, editions=(edition,))
        handlers.on(v1.SESSION_UPDATE, self._update)
        handlers.on(v2.SESSION_UPDATE, self._update)
        handlers.on(v2_june.SESSION_UPDATE, self._update)
        handlers.on(v1.FS_READ_TEXT_FILE, self._read)
        handlers.on(v1.SESSION_REQUEST_PERMISSION, self._allow_v1)
        handlers.on(v2.SESSION_REQUEST_PERMISSION, self._allow_v2)
        handlers.on(v2_june.SESSION_REQUEST_PERMISSION, self._allow_june)

    # --- what it says

    async def initialize(self) -> None:
        match self.edition.name:
            case "v1":
                can = v1.ClientCapabilities(fs=v1.FileSystemCapabilities(read_text_file=True))
                answer: Any = await self.connection.call(v1.INITIALIZE, v1.InitializeRequest(1, can))
            case "v2":
                us = v2.Implementation("scripted", "1")
                answer = await self.connection.call(v2.INITIALIZE, v2.InitializeRequest(2, us))
            case _:
                june = v2_june.InitializeRequest(2, client_info=v2_june.Implementation("scripted", "1"))
                answer = await self.connection.call(v2_june.INITIALIZE, june)
        self.received.append(f"version {answer.protocol_version}")

    async def open_session(self) -> str:
        match self.edition.name:
            case "v1":
                opened: Any = await self.connection.call(v1.SESSION_NEW, v1.NewSessionRequest(CWD, []))
            case "v2":
                opened = await self.connection.call(v2.SESSION_NEW, v2.NewSessionRequest(CWD))
            case _:
                opened = await self.connection.call(v2_june.SESSION_NEW, v2_june.NewSessionRequest(CWD, []))
        self.received.append(f"opened {opened.session_id}")
        return str(opened.session_id)

    async def prompt(self, session_id: str, words: str) -> None:
        """One turn to its end."""
        match self.edition.name:
            case "v1":
                asked = v1.PromptRequest(session_id, [v1.TextContent(words)])
                reason: Any = (await self.connection.call(v1.SESSION_PROMPT, asked)).stop_reason
            case "v2":
                self._idle.clear()
                placed = v2.PromptRequest(session_id, [v2.TextContent(words)])
                reason = (await self.connection.call(v2.SESSION_PROMPT, placed)).message_id
                await self._idle.wait()
            case _:
                june = v2_june.PromptRequest(session_id, [v2_june.TextContent(words)])
                reason = (await self.connection.call(v2_june.SESSION_PROMPT, june)).stop_reason
        self.received.append(f"answer {reason}")

    async def close_session(self, session_id: str) -> None:
        match self.edition.name:
            case "v1":
                await self.connection.call(v1.SESSION_CLOSE, v1.CloseSessionRequest(session_id))
            case "v2":
                await self.connection.call(v2.SESSION_CLOSE, v2.CloseSessionRequest(session_id))
            case _:
                await self.connection.call(v2_june.SESSION_CLOSE, v2_june.CloseSessionRequest(session_id))
        self.received.append("closed")

    async def sum(self, *numbers: int) -> None:
        answer = await self.connection.call_extension("_sum", {"numbers": list(numbers)})
        self.received.append(f"sum {answer['sum']}")

    async def _cancel(self, session_id: str) -> None:
        match self.edition.name:
            case "v1":
                await self.connection.notify(v1.SESSION_CANCEL, v1.CancelNotification(session_id))
            case "v2":
                await self.connection.notify(v2.SESSION_CANCEL, v2.CancelSessionNotification(session_id))
            case _:
                await self.connection.notify(v2_june.SESSION_CANCEL, v2_june.CancelNotification(session_id))

    # --- what it hears

    async def _update(self, params: Any) -> None:
        # A handler that suspends: order must come from the connection, not from luck.
        await asyncio.sleep(0)
        update = params.update
        self.received.append(describe(update))
        if describe(update) == "says Waiting.":
            await self._cancel(params.session_id)
        if isinstance(update, v2.StateUpdated) and update.state == "idle":
            self._idle.set()

    async def _read(self, params: v1.ReadTextFileRequest) -> v1.ReadTextFileResponse:
        self.received.append(f"read {params.path}")
        return v1.ReadTextFileResponse(NOTES)

    async def _allow_v1(self, params: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        self.received.append(f"may {params.tool_call.tool_call_id}: {params.options[0].name}")
        return v1.RequestPermissionResponse(v1.SelectedPermissionOutcome(params.options[0].option_id))

    async def _allow_v2(self, params: v2.RequestPermissionRequest) -> v2.RequestPermissionResponse:
        assert isinstance(params.subject, v2.ToolCallPermissionSubject)
        self.received.append(f"may {params.subject.tool_call.tool_call_id}: {params.options[0].name}")
        return v2.RequestPermissionResponse(v2.SelectedPermissionOutcome(params.options[0].option_id))

    async def _allow_june(self, params: v2_june.RequestPermissionRequest) -> v2_june.RequestPermissionResponse:
        self.received.append(f"may {params.tool_call.tool_call_id}: {params.options[0].name}")
        return v2_june.RequestPermissionResponse(v2_june.SelectedPermissionOutcome(params.options[0].option_id))


def describe(update: Any) -> str:
    """An update in a few words, the same in every edition."""
    match update:
        case v1.AgentMessageChunk() | v2.AgentMessageChunk() | v2_june.AgentMessageChunk():
            return f"says {getattr(update.content, 'text', update.content)}"
        case v1.ToolCall() | v1.ToolCallUpdated() | v2.ToolCallUpdated() | v2_june.ToolCallUpdated():
            return f"tool {update.tool_call_id} {update.status}"
        case v2.StateUpdated():
            return f"{update.state} {update.stop_reason}" if update.stop_reason else update.state
        case v2.UserMessage():
            return f"place {update.message_id}"
        case _:
            return repr(update)
