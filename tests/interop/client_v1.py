"""Accord as a v1 client: starts an agent on another SDK, runs every scene and keeps a record."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

import accord
from accord.protocol import v1
from tests.interop.record import BIG, ODD, Conversation, Record, brief, counts

SESSION = "session-1"


class ClientV1:
    """Handlers of one connection, and the scenes that it plays."""

    connection: accord.Connection

    def __init__(self, handlers: accord.Handlers) -> None:
        self.record = Record()
        self.exited = asyncio.Event()
        self.hanging = asyncio.Event()
        self.cancel_at_update = False
        self.cancel_at_question = False
        self.answers: list[v1.RequestPermissionOutcome] = [
            v1.SelectedPermissionOutcome("yes"),
            v1.CancelledPermissionOutcome(),
        ]
        handlers.on(v1.SESSION_UPDATE, self.update)
        handlers.on(v1.SESSION_REQUEST_PERMISSION, self.permission)
        handlers.on(v1.FS_READ_TEXT_FILE, self.read)
        handlers.on(v1.FS_WRITE_TEXT_FILE, self.write)
        handlers.on(v1.TERMINAL_CREATE, self.create_terminal)
        handlers.on(v1.TERMINAL_OUTPUT, self.terminal_output)
        handlers.on(v1.TERMINAL_WAIT_FOR_EXIT, self.wait_for_exit)
        handlers.on(v1.TERMINAL_KILL, self.kill)
        handlers.on(v1.TERMINAL_RELEASE, self.release)
        handlers.on(v1.ELICITATION_CREATE, self.elicit)
        handlers.on(v1.ELICITATION_COMPLETE, functools.partial(self.record.heard, "elicitation/complete"))
        handlers.on_extension_request("_interop/add", lambda params: {"sum": params["a"] + params["b"]})
        handlers.on_extension_notification("_interop/saw", functools.partial(self.record.heard, "_interop/saw"))
        handlers.on_extension_notification("_interop/hanging", lambda _: self.hanging.set())

    async def update(self, notification: v1.SessionNotification) -> None:
        self.record.heard("session/update", notification.update)
        if self.cancel_at_update:
            self.cancel_at_update = False
            await self.connection.notify(v1.SESSION_CANCEL, v1.CancelNotification(notification.session_id))

    async def permission(self, request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        self.record.heard("session/request_permission", request)
        if self.cancel_at_question:
            await self.connection.notify(v1.SESSION_CANCEL, v1.CancelNotification(request.session_id))
            return v1.RequestPermissionResponse(v1.CancelledPermissionOutcome())
        return v1.RequestPermissionResponse(self.answers.pop(0))

    async def read(self, request: v1.ReadTextFileRequest) -> v1.ReadTextFileResponse:
        self.record.heard("fs/read_text_file", request)
        if request.path != "/story/notes.txt":
            raise accord.ResourceNotFound(data={"uri": request.path})
        return v1.ReadTextFileResponse("Zeile 2: 🌍\n")

    async def write(self, request: v1.WriteTextFileRequest) -> v1.WriteTextFileResponse:
        self.record.heard("fs/write_text_file", request)
        return v1.WriteTextFileResponse()

    async def create_terminal(self, request: v1.CreateTerminalRequest) -> v1.CreateTerminalResponse:
        self.record.heard("terminal/create", request)
        return v1.CreateTerminalResponse("term-7")

    async def terminal_output(self, request: v1.TerminalOutputRequest) -> v1.TerminalOutputResponse:
        self.record.heard("terminal/output", request)
        if self.exited.is_set():
            status = v1.TerminalExitStatus(signal="SIGTERM")
            return v1.TerminalOutputResponse("building…\nkilled\n", truncated=True, exit_status=status)
        return v1.TerminalOutputResponse("building…\n", truncated=False)

    async def wait_for_exit(self, request: v1.WaitForTerminalExitRequest) -> v1.WaitForTerminalExitResponse:
        self.record.heard("terminal/wait_for_exit", request)
        await self.exited.wait()
        return v1.WaitForTerminalExitResponse(signal="SIGTERM")

    async def kill(self, request: v1.KillTerminalRequest) -> v1.KillTerminalResponse:
        self.record.heard("terminal/kill", request)
        self.exited.set()
        return v1.KillTerminalResponse()

    async def release(self, request: v1.ReleaseTerminalRequest) -> v1.ReleaseTerminalResponse:
        self.record.heard("terminal/release", request)
        return v1.ReleaseTerminalResponse()

    async def elicit(self, request: v1.CreateElicitationRequest) -> v1.CreateElicitationResponse:
        self.record.heard("elicitation/create", request)
        if isinstance(request, v1.ElicitationFormMode):
            return v1.ElicitationAcceptAction(content={"name": "Ada", "count": 3, "sure": True})
        return v1.ElicitationDeclineAction()

    # --- scenes

    def prompt(self, *words: str) -> Callable[[], Awaitable[Any]]:
        request = v1.PromptRequest(SESSION, [v1.TextContent(each) for each in words])
        return functools.partial(self.connection.call, v1.SESSION_PROMPT, request)

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

    async def play(self, without: Collection[str]) -> None:
        await self.play_setup()
        play = self.record.play
        for name in ("tell", "ask_twice", "files", "terminal", "elicit", "extend", "fail", "crash"):
            await play(name, self.prompt(name))
        self.cancel_at_update = True
        await play("wait", self.prompt("wait"))
        self.cancel_at_question = True
        await play("interrupt", self.prompt("interrupt"))
        await self.play_settings()
        await self.play_sessions()
        await self.play_extensions()
        await play("burst", self.prompt("burst"))
        await play("notes", self.notes)
        await play("echo_odd", self.prompt("echo", ODD))
        await play("echo_big", self.prompt("echo", BIG))
        await play("counts", self.counts)
        if "withdraw" not in without:
            await play("withdraw", self.withdraw)

    async def play_setup(self) -> None:
        call = functools.partial(functools.partial, self.connection.call)
        capabilities = v1.ClientCapabilities(
            fs=v1.FileSystemCapabilities(read_text_file=True, write_text_file=True),
            terminal=True,
            session=v1.ClientSessionCapabilities(
                config_options=v1.SessionConfigOptionsCapabilities(boolean=v1.BooleanConfigOptionCapabilities())
            ),
            elicitation=v1.ElicitationCapabilities(
                form=v1.ElicitationFormCapabilities(), url=v1.ElicitationUrlCapabilities()
            ),
        )
        request = v1.InitializeRequest(1, capabilities, client_info=v1.Implementation("accord-client", "1"))
        await self.record.play("initialize", call(v1.INITIALIZE, request))
        await self.record.play("new", call(v1.SESSION_NEW, v1.NewSessionRequest("/story", [])))

    async def play_settings(self) -> None:
        call, play = functools.partial(functools.partial, self.connection.call), self.record.play
        await play("set_mode", call(v1.SESSION_SET_MODE, v1.SetSessionModeRequest(SESSION, "code")))
        large = v1.SetSessionConfigOptionRequest(SESSION, "model", "large")
        await play("set_model", call(v1.SESSION_SET_CONFIG_OPTION, large))
        on = v1.SetSessionConfigOptionRequest(SESSION, "web", value=True, type="boolean")
        await play("set_web", call(v1.SESSION_SET_CONFIG_OPTION, on))

    async def play_sessions(self) -> None:
        call, play = functools.partial(functools.partial, self.connection.call), self.record.play
        await play("list", call(v1.SESSION_LIST, v1.ListSessionsRequest(cwd="/story")))
        await play("list_more", call(v1.SESSION_LIST, v1.ListSessionsRequest(cursor="page-2")))
        await play("load", call(v1.SESSION_LOAD, v1.LoadSessionRequest([], "/story", SESSION)))
        await play("load_missing", call(v1.SESSION_LOAD, v1.LoadSessionRequest([], "/story", "nowhere")))
        await play("resume", call(v1.SESSION_RESUME, v1.ResumeSessionRequest(SESSION, "/story")))
        await play("close", call(v1.SESSION_CLOSE, v1.CloseSessionRequest(SESSION)))

    async def play_extensions(self) -> None:
        call, play = functools.partial(functools.partial, self.connection.call_extension), self.record.play
        await play("add", call("_interop/add", {"a": 20, "b": 22}))
        await play("unknown", call("_interop/unknown"))
        await play("foreign", call("no/such_method"))

    async def counts(self) -> Any:
        return counts(self.connection)


async def talk(argv: Sequence[str], env: Mapping[str, str], without: Collection[str] = ()) -> Conversation:
    """A whole conversation with the agent that `argv` starts, but for the scenes that its SDK has no words for."""
    handlers = accord.Handlers()
    client = ClientV1(handlers)
    transport = await accord.spawn(*argv, env=dict(env))
    client.connection = accord.Connection(transport, "client", handlers)
    async with client.connection:
        await client.play(without)
    return Conversation(brief(client.record.scenes), {"pid": transport.pid, "code": transport.exit_status})
