"""Accord as a v2 client: starts an agent on another SDK, runs every scene and keeps a record."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

import accord
from accord.protocol import v2
from tests.interop.record import BIG, ODD, Conversation, Record, brief, counts

SESSION = "session-1"


class ClientV2:
    """Handlers of one connection, and the scenes that it plays."""

    connection: accord.Connection

    def __init__(self, handlers: accord.Handlers) -> None:
        self.record = Record()
        self.idle = asyncio.Event()
        self.hanging = asyncio.Event()
        self.cancel_at_chunk = False
        self.cancel_at_question = False
        self.answers: list[v2.RequestPermissionOutcome] = [
            v2.SelectedPermissionOutcome("yes"),
            v2.CancelledPermissionOutcome(),
        ]
        handlers.on(v2.SESSION_UPDATE, self.update)
        handlers.on(v2.SESSION_REQUEST_PERMISSION, self.permission)
        handlers.on(v2.ELICITATION_CREATE, self.elicit)
        handlers.on(v2.ELICITATION_COMPLETE, functools.partial(self.record.heard, "elicitation/complete"))
        handlers.on_extension_request("_interop/add", lambda params: {"sum": params["a"] + params["b"]})
        handlers.on_extension_notification("_interop/saw", functools.partial(self.record.heard, "_interop/saw"))
        handlers.on_extension_notification("_interop/hanging", lambda _: self.hanging.set())

    async def update(self, notification: v2.UpdateSessionNotification) -> None:
        session_id, update = notification.session_id, notification.update
        self.record.heard("session/update", update)
        if isinstance(update, v2.StateUpdated) and update.state == "idle":
            self.idle.set()
        elif isinstance(update, v2.AgentMessageChunk) and self.cancel_at_chunk:
            self.cancel_at_chunk = False
            await self.connection.notify(v2.SESSION_CANCEL, v2.CancelSessionNotification(session_id))
        elif isinstance(update, v2.ToolCallUpdated) and update.capabilities and update.capabilities.cancel:
            # From inside the session's lane: the answer must not wait for this handler to end.
            request = v2.CancelToolCallRequest(session_id, update.tool_call_id)
            await self.connection.call(v2.TOOL_CALL_CANCEL, request)

    async def permission(self, request: v2.RequestPermissionRequest) -> v2.RequestPermissionResponse:
        self.record.heard("session/request_permission", request)
        if self.cancel_at_question:
            await self.connection.notify(v2.SESSION_CANCEL, v2.CancelSessionNotification(request.session_id))
            return v2.RequestPermissionResponse(v2.CancelledPermissionOutcome())
        return v2.RequestPermissionResponse(self.answers.pop(0))

    async def elicit(self, request: v2.CreateElicitationRequest) -> v2.CreateElicitationResponse:
        self.record.heard("elicitation/create", request)
        if isinstance(request, v2.ElicitationFormMode):
            return v2.ElicitationAcceptAction(content={"name": "Ada", "count": 3, "sure": True})
        return v2.ElicitationDeclineAction()

    # --- scenes

    async def turn(self, *words: str) -> v2.PromptResponse:
        """A prompt is answered when it has its place; the turn is over when the session is idle."""
        self.idle.clear()
        request = v2.PromptRequest(SESSION, [v2.TextContent(each) for each in words])
        answer = await self.connection.call(v2.SESSION_PROMPT, request)
        await self.idle.wait()
        return answer

    async def notes(self) -> Any:
        for n in range(2000):
            await self.connection.notify_extension("_interop/note", {"n": n})
        return await self.connection.call_extension("_interop/noted")

    async def withdraw(self) -> Any:
        hanging = asyncio.create_task(self.connection.call_extension("_interop/hang"))
        await self.hanging.wait()
        hanging.cancel()
        await asyncio.wait([hanging])
        return await self.connection.call_extension("_interop/hung")

    async def counts(self) -> Any:
        return counts(self.connection)

    async def play(self, without: Collection[str]) -> None:
        play = self.record.play
        await self.play_setup()
        for name in ("tell", "ask_twice", "elicit", "extend", "fail", "crash", "break_down"):
            await play(name, self._turn(name))
        self.cancel_at_chunk = True
        await play("wait", self._turn("wait"))
        self.cancel_at_question = True
        await play("interrupt", self._turn("interrupt"))
        if "long_tool" not in without:
            await play("long_tool", self._turn("long_tool"))
        await self.play_sessions()
        await self.play_extensions()
        await play("burst", self._turn("burst"))
        await play("notes", self.notes)
        await play("echo_odd", self._turn("echo", ODD))
        await play("echo_big", self._turn("echo", BIG))
        await play("counts", self.counts)
        await play("withdraw", self.withdraw)

    def _turn(self, *words: str) -> Callable[[], Awaitable[v2.PromptResponse]]:
        return functools.partial(self.turn, *words)

    async def play_setup(self) -> None:
        call = functools.partial(functools.partial, self.connection.call)
        elicitation = v2.ElicitationCapabilities(
            form=v2.ElicitationFormCapabilities(), url=v2.ElicitationUrlCapabilities()
        )
        request = v2.InitializeRequest(
            2, v2.Implementation("accord-client", "1"), v2.ClientCapabilities(elicitation=elicitation)
        )
        await self.record.play("initialize", call(v2.INITIALIZE, request))
        await self.record.play("new", call(v2.SESSION_NEW, v2.NewSessionRequest("/story")))

    async def play_sessions(self) -> None:
        call, play = functools.partial(functools.partial, self.connection.call), self.record.play
        large = v2.SetSessionConfigOptionRequest(SESSION, "model", "id", "large")
        await play("set_model", call(v2.SESSION_SET_CONFIG_OPTION, large))
        on = v2.SetSessionConfigOptionRequest(SESSION, "web", "boolean", value=True)
        await play("set_web", call(v2.SESSION_SET_CONFIG_OPTION, on))
        await play("list", call(v2.SESSION_LIST, v2.ListSessionsRequest(cwd="/story")))
        await play("list_more", call(v2.SESSION_LIST, v2.ListSessionsRequest(cursor="page-2")))
        start = v2.ResumeSessionRequest(SESSION, "/story", replay_from=v2.ReplayFromStart())
        await play("replay", call(v2.SESSION_RESUME, start))
        await play("resume", call(v2.SESSION_RESUME, v2.ResumeSessionRequest(SESSION, "/story")))
        await play("resume_missing", call(v2.SESSION_RESUME, v2.ResumeSessionRequest("nowhere", "/story")))
        await play("close", call(v2.SESSION_CLOSE, v2.CloseSessionRequest(SESSION)))
        await play("delete", call(v2.SESSION_DELETE, v2.DeleteSessionRequest(SESSION)))

    async def play_extensions(self) -> None:
        call, play = functools.partial(functools.partial, self.connection.call_extension), self.record.play
        await play("add", call("_interop/add", {"a": 20, "b": 22}))
        await play("unknown", call("_interop/unknown"))
        await play("foreign", call("no/such_method"))


async def talk(argv: Sequence[str], env: Mapping[str, str], without: Collection[str] = ()) -> Conversation:
    """A whole conversation with the agent that `argv` starts, but for the scenes that its SDK has no words for."""
    handlers = accord.Handlers()
    client = ClientV2(handlers)
    transport = await accord.spawn(*argv, env=dict(env))
    client.connection = accord.Connection(transport, "client", handlers)
    async with client.connection:
        await client.play(without)
    return Conversation(brief(client.record.scenes), {"pid": transport.pid, "code": transport.exit_status})
