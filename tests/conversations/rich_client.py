"""A client of any edition: it talks by the dialect of its edition and keeps the transcript of what it hears."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from accord.connection import Connection, Handlers
from accord.errors import RequestError
from accord.protocol.edition import Edition
from accord.session.agent_requests import (
    AwaitTerminal,
    FileRead,
    KillTerminal,
    PermissionGiven,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    RequestPermission,
    StartTerminal,
    TerminalEnded,
    TerminalRead,
    TerminalStarted,
    WriteFile,
)
from accord.session.capability import AgentCapabilities, ClientCapabilities, Implementation
from accord.session.client_requests import (
    Cancel,
    CloseSession,
    Done,
    Initialize,
    Initialized,
    ListSessions,
    NewSession,
    Prompt,
    PromptAnswered,
    ReopenSession,
    SessionOpened,
    SessionsListed,
    SessionSummary,
    SetMode,
    SetOption,
)
from accord.session.content import Text
from accord.session.dialect import Binding, dialect_of
from accord.session.entry import ToolCall
from accord.session.event import (
    CommandsChanged,
    ConfigChanged,
    Event,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    PlanChanged,
    StateChanged,
    TerminalChanged,
    TerminalExit,
    ToolChanged,
    ToolContentAdded,
    UsageChanged,
)
from accord.session.transcript import Transcript
from accord.transport import Transport
from accord.workspace import RunningCommand, Workspace, WorkspaceError, start_command

__all__ = ["RichClient", "connected"]

US = Implementation("rich-client", "1")


class RichClient:
    """One connection to an agent, and one session on it. Ask `can` before `open`."""

    def __init__(self, transport: Transport, edition: Edition, capabilities: ClientCapabilities, root: Path) -> None:
        self.dialect = dialect_of(edition)
        self.capabilities = capabilities
        self.agent = AgentCapabilities()
        self.session_id = ""
        self.transcript = Transcript()
        self.questions: list[RequestPermission] = []
        self.asked: list[tuple[str, str | None, str]] = []
        """What the agent asked for: the name of the ask, the newest tool call by then, and the session's state."""
        self.milestones: list[tuple[Any, ...]] = []
        """What changed on the way, in order: a transcript only shows where it ended."""
        self.cancel_at: str | None = None
        """The words of the agent at which its user loses patience."""
        self._root = str(root)
        self._workspace = Workspace([root])
        self._commands: dict[str, RunningCommand] = {}
        self._prompts = 0
        self._statuses: dict[str, str] = {}
        self._decoder = self.dialect.decoder()
        self._idle = asyncio.Event()
        self._commanded = asyncio.Event()
        handlers = Handlers()
        self.connection = Connection(transport, "client", handlers, editions=(edition,))
        handlers.on(self.dialect.update, self._update)
        for binding in self.dialect.client_bindings:
            if binding.request in self._SERVERS and (not binding.needs or getattr(capabilities, binding.needs)):
                handlers.on(binding.method, functools.partial(self._serve, binding))

    # --- what it asks

    async def request(self, ask: Any) -> Any:
        said = self.dialect.encode(ask)
        assert said is not None, f"{self.dialect.edition.name} has no binding for {ask}"
        binding, params = said
        return binding.decode_result(await self.connection.call(binding.method, params, timeout_seconds=30), ask)

    async def initialize(self) -> Initialized:
        answer: Initialized = await self.request(Initialize(US, self.capabilities))
        self.agent = answer.capabilities
        return answer

    async def open(self) -> str:
        """A new session."""
        opened = await self.request(NewSession(self._root))
        await self._opened(opened)
        return self.session_id

    async def reopen(self, session_id: str) -> None:
        """A session from before, with its conversation told again."""
        self.session_id = session_id
        await self._opened(await self.request(ReopenSession(session_id, self._root, replay=True)))

    async def _opened(self, opened: SessionOpened) -> None:
        self.session_id = opened.session_id
        self.fold(ConfigChanged(opened.options))
        if opened.commands:
            self.fold(CommandsChanged(opened.commands))
        # Where the answer has no place for them, they come behind it.
        await self._commanded.wait()

    async def set_mode(self, mode: str) -> None:
        """By the word of its own where the edition has one, else by the option."""
        if self.dialect.find(SetMode):
            await self.request(SetMode(self.session_id, mode))
            self.fold(ModeChanged(mode))
        else:
            answer = await self.request(SetOption(self.session_id, "mode", mode))
            self.fold(ConfigChanged(answer.options))

    async def set_option(self, option: str, value: str) -> None:
        answer = await self.request(SetOption(self.session_id, option, value))
        self.fold(ConfigChanged(answer.options))

    async def list_sessions(self) -> list[SessionSummary]:
        page: SessionsListed = await self.request(ListSessions(self._root))
        return page.sessions

    async def close_session(self) -> None:
        await self.request(CloseSession(self.session_id))

    async def prompt(self, text: str) -> None:
        """One turn to its end."""
        ask = Prompt(self.session_id, [Text(text)])
        self._idle.clear()
        if self.dialect.echoes:
            await self.request(ask)
            await self._idle.wait()
            return
        # Where the answer ends the turn, who asks knows best what was said and that it is worked on.
        self._prompts += 1
        self.fold(MessageChanged("user", f"prompt-{self._prompts}", list(ask.content)))
        self.fold(StateChanged("running"))
        answer: PromptAnswered = await self.request(ask)
        self.fold(StateChanged("idle", answer.stop_reason))

    async def _cancel(self) -> None:
        dialect = self.dialect
        await self.connection.notify(dialect.cancel, dialect.encode_cancel(Cancel(self.session_id)))

    # --- what it hears

    def fold(self, event: Event) -> None:
        self.transcript.fold(event)
        self._note(event)
        if isinstance(event, CommandsChanged):
            self._commanded.set()
        if isinstance(event, StateChanged) and event.state == "idle":
            self._idle.set()

    def _note(self, event: Event) -> None:
        match event:
            case PlanChanged():
                self._reach("plan", *(entry.status for entry in event.entries))
            case UsageChanged():
                self._reach("usage", event.used, event.size)
            case InfoChanged():
                self._reach("title", event.title)
            case ToolChanged() | ToolContentAdded():
                self._note_tool(self.transcript.tool_calls[event.id])
            case MessageChunk() | MessageChanged():
                self._reach(event.speaker)
            case _:
                pass

    def _note_tool(self, call: ToolCall) -> None:
        # What it shows may be repeated between other things, as a terminal's text that grew.
        if self._statuses.get(call.id) != call.status:
            self._statuses[call.id] = call.status
            self._reach("tool", call.title, call.status)

    def _reach(self, *milestone: Any) -> None:
        """Note what is new; how often it is repeated is an edition's affair."""
        if self.milestones[-1:] != [milestone]:
            self.milestones.append(milestone)

    async def _update(self, params: Any) -> None:
        session_id, update = self.dialect.decode_update(params)
        assert session_id == (self.session_id or session_id)
        for event in self._decoder.decode(update):
            self.fold(event)
            if isinstance(event, MessageChunk) and event.block == Text(self.cancel_at or ""):
                self.cancel_at = None
                await self._cancel()

    async def _serve(self, binding: Binding, params: Any) -> Any:
        ask = binding.decode_params(params)
        newest = next(reversed(self.transcript.tool_calls.values()), None)
        self.asked.append((type(ask).__name__, newest.title if newest else None, self.transcript.state))
        try:
            return binding.encode_result(await self._SERVERS[binding.request](self, ask))
        except WorkspaceError as error:
            raise RequestError(str(error), code=error.code) from error

    async def _permit(self, ask: RequestPermission) -> PermissionGiven:
        self.questions.append(ask)
        if ask.tool is not None:
            self.fold(ask.tool)
            title = self.transcript.tool_calls[ask.tool.id].title
            self._reach("permission", title, *((option.id, option.name, option.kind) for option in ask.options))
        return PermissionGiven(ask.options[0].id)

    async def _read(self, ask: ReadFile) -> FileRead:
        return FileRead(await self._workspace.read_text(ask.path, ask.line, ask.limit))

    async def _write(self, ask: WriteFile) -> Done:
        await self._workspace.write_text(ask.path, ask.content)
        return Done()

    async def _start(self, ask: StartTerminal) -> TerminalStarted:
        terminal_id = f"terminal-{len(self.transcript.terminals)}"
        self._commands[terminal_id] = await start_command(
            [ask.command, *ask.args],
            cwd=ask.cwd,
            within=self._workspace,
            env=dict(ask.env),
            output_byte_limit=ask.output_byte_limit,
        )
        self.fold(TerminalChanged(terminal_id, command=ask.command))
        return TerminalStarted(terminal_id)

    async def _read_terminal(self, ask: ReadTerminal) -> TerminalRead:
        command = self._commands[ask.terminal_id]
        output = command.output
        return TerminalRead(output.text, output.truncated, None if command.exit is None else _exit(command))

    async def _await_terminal(self, ask: AwaitTerminal) -> TerminalEnded:
        command = self._commands[ask.terminal_id]
        await command.wait()
        return TerminalEnded(_exit(command))

    async def _kill_terminal(self, ask: KillTerminal) -> Done:
        await self._commands[ask.terminal_id].kill()
        return Done()

    async def _release_terminal(self, ask: ReleaseTerminal) -> Done:
        command = self._commands.pop(ask.terminal_id)
        await command.release()
        # It is the client that ran it: what it shows from now on is what it saw.
        self.fold(TerminalChanged(ask.terminal_id, output=command.output_bytes, exit=_exit(command)))
        return Done()

    @property
    def unreleased(self) -> list[str]:
        """The terminals that the agent did not give back."""
        return list(self._commands)

    _SERVERS: dict[type[Any], Callable[[Any, Any], Awaitable[Any]]] = {  # noqa: RUF012 - a table
        RequestPermission: _permit,
        ReadFile: _read,
        WriteFile: _write,
        StartTerminal: _start,
        ReadTerminal: _read_terminal,
        AwaitTerminal: _await_terminal,
        KillTerminal: _kill_terminal,
        ReleaseTerminal: _release_terminal,
    }


def _exit(command: RunningCommand) -> TerminalExit:
    ended = command.exit
    assert ended is not None
    return TerminalExit(ended.code, ended.signal)


@asynccontextmanager
async def connected(
    transport: Transport, edition: Edition, capabilities: ClientCapabilities, root: Path
) -> AsyncIterator[RichClient]:
    """A client that has shaken hands; nothing that it ran is left behind."""
    client = RichClient(transport, edition, capabilities, root)
    async with client.connection:
        await client.initialize()
        yield client
    assert client.unreleased == []
