"""One session of an agent: its directories, its settings, its state in the store, and its work beside turns.

It lives as long as its client has it open; state that must outlast that is in the store.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from accord.agent.client import Client, ClientCaller
from accord.agent.files import Files
from accord.agent.mcp import McpServers
from accord.agent.publisher import EventPublisher
from accord.agent.registrations import Registrations
from accord.agent.session_servers import SessionServers
from accord.agent.settings import Settings
from accord.agent.terminals import Terminal, Terminals
from accord.errors import InvalidParams, LocalProtocolError
from accord.json_values import JsonValue
from accord.jsonrpc.plain import plain
from accord.protocol.codec import encode_json
from accord.protocol.model import UNSET
from accord.session.agent_requests import ReadFile, ReleaseTerminal, StartTerminal, WriteFile
from accord.session.capability import ClientCapabilities
from accord.session.client_requests import McpServer
from accord.session.custom import check_value, known_values
from accord.session.downgrade import downgrade_notice
from accord.session.event import (
    Background,
    CommandsChanged,
    ConfigChanged,
    Event,
    InfoChanged,
    MessageChunk,
    Meta,
    Noticed,
    Severity,
)
from accord.session.event_check import check_event
from accord.session.option import Command, ConfigOption, Toggle
from accord.session.transcript import Transcript
from accord.session.turn_io import BackgroundChanged, Input
from accord.stores.interface import Store
from accord.time_scale import scaled
from accord.workspace import Workspace

__all__ = ["Session", "new_id"]

log = logging.getLogger("accord.agent")
SEVERITIES = known_values(Severity)

# How long the release of a terminal waits until its events are sent.
RELEASE_PATIENCE_SECONDS = scaled(2.0)

T = TypeVar("T")


def new_id(kind: str) -> str:
    """A name that is unique, also across processes."""
    return f"{kind}-{os.urandom(8).hex()}"


class Session:
    """A session in the agent author's API, in a turn and outside of one. Made by the agent for each client.

    It lives as long as its client has it open; state that must outlast that is in the store. Its files and commands
    stay inside `cwd` and `additional_directories`.
    """

    broke_off: bool = False
    """Whether the process that had the session open before ended in the middle of a turn."""

    def __init__(
        self,
        session_id: str,
        roots: Sequence[str],
        client: Client,
        caller: ClientCaller,
        registrations: Registrations,
        store: Store | None,
        meta: Meta | None,
    ) -> None:
        self.id: str = session_id
        """The id of the session; the agent chose it."""
        self.cwd: str = roots[0]
        """The session's directory, an absolute path."""
        self.additional_directories: tuple[str, ...] = tuple(roots[1:])
        """Further directories that the client gave to the session, absolute paths."""
        self.client: Client = client
        """The client that has the session open."""
        self.meta: Meta = meta or {}
        """The `_meta` of the request that opened the session."""
        self.state: JsonValue = None
        """The author's own state: any JSON value, kept with `save`."""
        self.title: str | None = None
        """The title in lists of sessions; change it with `set_title`."""
        self.is_closed: bool = False
        """Whether the client, or the end of its connection, closed the session."""
        self._roots = tuple(roots)
        self._touched_at = 0.0
        """When a prompt was taken last, in seconds since 1970."""
        self._publisher: EventPublisher
        """Where events go."""
        self._feed: Callable[[Input], None] = lambda _: None
        """Takes the inputs of the turn automaton."""
        self._registrations = registrations
        self._store = store
        self._caller = caller
        self._settings = Settings(registrations.options.values())
        self._commands = [command for command, _ in registrations.commands.values()]
        self._workspace: Workspace | None = None
        self._files: Files | None = None
        self._terminals: Terminals | None = None
        self._servers = SessionServers(self.cwd)
        self._background: dict[tuple[str, str], Background] = {}
        self._beside: set[asyncio.Task[Any]] = set()
        self._kept: set[str] = set()
        self._cancellable: dict[str, Callable[[], None]] = {}
        """The function that stops each tool call that its client may cancel, by id."""

    def __repr__(self) -> str:
        return f"<session {self.id} in {self.cwd}>"

    # --- services

    @property
    def workspace(self) -> Workspace:
        """The local disk, bounded to `cwd` and `additional_directories`."""
        if self._workspace is None:
            self._workspace = Workspace(self._roots)
        return self._workspace

    @property
    def files(self) -> Files:
        """Text files, the client's where it offers them, otherwise those on the local disk."""
        if self._files is None:
            self._files = Files(self.id, self._roots, _Behind(self._caller, self), lambda: self.workspace)
        return self._files

    @property
    def terminals(self) -> Terminals:
        """Commands, in the client's terminals where it offers them, otherwise our own."""
        if self._terminals is None:
            self._terminals = Terminals(
                self.id,
                self._roots,
                _Behind(self._caller, self),
                lambda: self.workspace,
                self.send,
                client_terminal=self._client_terminal,
            )
        return self._terminals

    def _set_roots(self, roots: Sequence[str]) -> None:
        """The client opens the session again, with all directories that it has from now on."""
        self.additional_directories = tuple(roots[1:])
        self._roots = tuple(roots)
        self._workspace = None
        for service in (self._files, self._terminals):
            if service is not None:
                service._paths.set_roots(roots)

    def _client_terminal(self, terminal_id: str) -> None:
        # Looked up each time: a replay replaces the encoder.
        self._publisher.encoder.client_terminals.add(terminal_id)

    async def mcp(self) -> McpServers:
        """The MCP servers, when each is connected or has failed.

        Raises:
            LocalProtocolError: The session is closed, or the agent was made without `mcp=True`.
        """
        if not self._registrations.mcp:
            raise LocalProtocolError("this agent uses no MCP servers: make it with Agent(mcp=True)")
        if self.is_closed:
            raise LocalProtocolError("the session is closed")
        return await self._servers.opened()

    def _connect_servers(self, servers: Sequence[McpServer], is_free: Callable[[], bool] = lambda: True) -> None:
        """Begin to connect, in the background. An agent that uses no servers starts none of them.

        Where the client opens the session again, the list is whole; `is_free` says whether no turn runs.
        """
        if self._registrations.mcp and self._servers.set(servers, is_free) and not self._servers.is_empty:
            self.spawn(self._report_servers())

    async def _report_servers(self) -> None:
        await self.mcp()
        # Where a notice would become a message of the agent, it belongs in a turn, which reports it.
        if self.client.capabilities.notices:
            for notice in self._take_failures():
                await self._publisher.publish(notice, keep=False)

    def _take_failures(self) -> list[Noticed]:
        """The notices of MCP servers that could not be opened or were lost, each once; none before all are opened."""
        new = self._servers.take_failures()
        for failure in new:
            log.warning("MCP server %s: %s", failure.server, failure.reason)
        return [Noticed(f"MCP server {each.server} is not available", "warning", each.reason) for each in new]

    # --- stored state

    async def save(self, state: JsonValue = UNSET) -> None:
        """Keep the author's own state, the given value or `state` as it is now. Survives a restart.

        Raises:
            LocalProtocolError: The agent has no store.
            TypeError: The state is no JSON value.
        """
        if state is not UNSET:
            # As a restart would load it; a list or a dict stays the object that its author goes on to use.
            self.state = state if isinstance(state, dict | list) else plain(state)
        if self._store is None:
            raise LocalProtocolError("this agent keeps nothing: it was made with store=None")
        await self._patch(state=encode_json(self.state))

    async def history(self, *, refused: bool = False) -> Transcript:
        """The conversation so far, from the store. Refused parts are left out unless they are requested.

        Raises:
            LocalProtocolError: The agent has no store.
        """
        if self._store is None:
            raise LocalProtocolError("this agent keeps nothing: it was made with store=None")
        await self._publisher.flush()
        transcript = Transcript(await self._store.read(self.id))
        if not refused:
            transcript.timeline = [entry for entry in transcript.timeline if not entry.refused]
        return transcript

    # --- settings

    def option(self, option_id: str) -> str | bool:
        """The value of a config option; the mode that `Agent.modes` declared has the id "mode".

        Raises:
            KeyError: There is no such option.
        """
        return self._settings.get(option_id)

    @property
    def _offered(self) -> list[ConfigOption]:
        """The options that this client can show."""
        toggles = self.client.capabilities.toggles
        return [option for option in self._settings.options if toggles or not isinstance(option, Toggle)]

    async def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001 - the value of a toggle
        """Give an option another value and notify the client.

        Raises:
            InvalidParams: There is no such option, or it has no such value.
        """
        self._settings.check(option_id, value)
        if self.option(option_id) == value:
            return
        # Before the change: a handler that refuses it must leave no trace.
        for handler in self._registrations.on_option:
            await self._registrations.threads.call(handler, self, option_id, value)
        self._settings.set(option_id, value)
        await self.send(ConfigChanged(list(self._settings.options)))

    @property
    def commands(self) -> list[Command]:
        """The slash commands it offers."""
        return list(self._commands)

    async def set_commands(self, commands: Sequence[Command]) -> None:
        """Offer other slash commands in this session; those that no handler was registered for come as prompts."""
        changed = CommandsChanged(list(commands))
        check_event(changed)
        self._commands = list(commands)
        await self._publisher.publish(changed, keep=False)

    async def set_title(self, title: str | None) -> None:
        """Give the session a title; lists show it too. None takes it away."""
        changed = InfoChanged(title=title)
        check_event(changed)
        self.title = title
        await self._patch(title=title)
        await self.send(changed)

    async def notice(self, title: str, description: str | None = None, *, severity: Severity = "info") -> None:
        """Show the user something once; it is not kept. A client without notices gets it as a message, which is."""
        notice = Noticed(title, severity, description)
        check_event(notice)
        check_value(severity, SEVERITIES, "severity")
        await self._publish_notice(notice)

    async def _publish_notice(self, notice: Noticed) -> None:
        if self.client.capabilities.notices:
            await self._publisher.publish(notice, keep=False)
        else:
            # A notice that was shown as a message belongs to the conversation, also for a client that loads it.
            text, _ = downgrade_notice(notice)
            await self._publisher.publish(MessageChunk("agent", text, new_id("notice"), notice.meta))

    async def send(self, event: Event) -> None:
        """Send an event beside the turns: it is kept in the store first.

        Raises:
            LocalProtocolError: The session is closed.
            TypeError: A value in the event has a type that its field does not take.
        """
        if self.is_closed:
            raise LocalProtocolError("the session is closed")
        check_event(event)
        if type(event) is Noticed:
            await self._publish_notice(event)
        else:
            await self._publisher.publish(event)

    async def _touch(self) -> None:
        """Set the time of the last use, for the order of lists."""
        self._touched_at = time.time()
        await self._patch(updated_at=self._touched_at)

    async def _patch(self, **fields: Any) -> None:
        if self._publisher.failure is not None:
            raise self._publisher.failure
        if self._store is not None:
            await self._store.patch(self.id, **fields)

    # --- beside the turns

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine beside the turns, until it is done or the session closes, which cancels it."""
        task = asyncio.get_running_loop().create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._spawned)
        return task

    def _spawned(self, task: asyncio.Task[Any]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("work beside the turns of a session failed", exc_info=task.exception())

    def _announce(self, kind: str, id_: str) -> None:
        """A published tool call or terminal continues in the background."""
        self._background[(kind, id_)] = Background(kind, id_)
        self._publish_background()

    def _withdraw(self, kind: str, id_: str) -> None:
        """It ended, and its end was published."""
        if self._background.pop((kind, id_), None) is not None:
            self._publish_background()

    def _publish_background(self) -> None:
        self._feed(BackgroundChanged(tuple(self._background.values())))

    async def _stop_background(self) -> None:
        """Stop all background work; feed the automaton when it is over."""
        await self._stop_beside()
        if self._terminals is not None:
            await self._terminals._stop()
        self._background.clear()
        self._feed(BackgroundChanged())

    async def _stop_beside(self) -> None:
        current = asyncio.current_task()
        tasks = [task for task in self._beside if task is not current]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=5.0)

    def keep(self, terminal: Terminal) -> None:
        """Let a command go on when the turn that started it is over; it is released at its end, or with the session."""
        self._kept.add(terminal.id)
        self._announce("terminal", terminal.id)
        self.spawn(self._watch(terminal))

    async def _watch(self, terminal: Terminal) -> None:
        try:
            await terminal.wait()
        finally:
            await terminal.release()
            self._kept.discard(terminal.id)
            self._withdraw("terminal", terminal.id)

    async def _end_commands(self) -> None:
        """At the end of a turn, release the commands that it started and did not `keep`, and servers that are gone."""
        self._servers.end_gone()
        if self._terminals is not None:
            left = [each for each in self._terminals._unreleased if each.id not in self._kept]
            await asyncio.gather(*(terminal.release() for terminal in left))

    def _cancel_tool(self, tool_id: str) -> None:
        """The client stops one tool call.

        Raises:
            InvalidParams: It is unknown, over, or cannot be cancelled.
        """
        stop = self._cancellable.get(tool_id)
        if stop is None:
            expected = {"field": "toolCallId", "expected": "a running tool call that can be cancelled"}
            raise InvalidParams("This tool call cannot be cancelled", expected)
        stop()

    async def _close(self) -> None:
        """Release everything; the turns have ended before."""
        if self.is_closed:
            return
        await self._stop_beside()
        if self._terminals is not None:
            # Before it is closed: their ends are still published and kept.
            await self._terminals._close()
        self.is_closed = True
        await self._servers.close()
        await self._publisher.close()


class _Behind:
    """Sends the client requests for files and commands behind all earlier events: a tool call is shown before its work.

    Requests that end something do not wait, or not for long: a store that hangs must not keep a command alive.
    """

    def __init__(self, caller: ClientCaller, session: Session) -> None:
        self._caller = caller
        self._session = session

    @property
    def capabilities(self) -> ClientCapabilities:
        return self._caller.capabilities

    async def call(self, request: Any, *, timeout_seconds: float | None = None) -> Any:
        publisher = self._session._publisher
        if isinstance(request, ReadFile | WriteFile | StartTerminal):
            await publisher.flush()
        elif isinstance(request, ReleaseTerminal) and (flush_future := publisher.flush_future()) is not None:
            # A client cannot show a terminal whose first event arrives after its release.
            await asyncio.wait([flush_future], timeout=RELEASE_PATIENCE_SECONDS)
        return await self._caller.call(request, timeout_seconds=timeout_seconds)
