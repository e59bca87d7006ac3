"""A session, its client and the calls of extension methods for handlers in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from accord.agent.blocking.services import BlockingFiles, BlockingMcpServers, BlockingTerminal, BlockingTerminals
from accord.agent.client import Client, ClientFeature
from accord.agent.client_connection import Extension
from accord.agent.session import Session
from accord.agent.threads import HandlerScope, blocking_view
from accord.json_values import JsonValue
from accord.protocol.model import UNSET
from accord.session.capability import ClientCapabilities
from accord.session.event import Event, Meta, Severity
from accord.session.option import Command
from accord.session.transcript import Transcript

__all__ = ["BlockingClient", "BlockingExtension", "BlockingSession"]

T = TypeVar("T")


class BlockingClient:
    """`Client`, blocking. Made for handlers without `async`."""

    def __init__(self, client: Client, scope: HandlerScope) -> None:
        self.name: str | None = client.name
        """See `Client.name`."""
        self.version: str | None = client.version
        """See `Client.version`."""
        self.title: str | None = client.title
        """See `Client.title`."""
        self._client = client
        self._scope = scope

    def __repr__(self) -> str:
        return f"<blocking {self._client!r}>"

    @property
    def capabilities(self) -> ClientCapabilities:
        """The capabilities that the client declared."""
        return self._client.capabilities

    @property
    def is_connected(self) -> bool:
        """Whether it is still connected, as far as this side knows."""
        return self._client.is_connected

    def can(self, what: ClientFeature) -> bool:
        """See `Client.can`."""
        return self._client.can(what)

    def complete_elicitation(self, elicitation_id: str) -> None:
        """See `Client.complete_elicitation`."""
        self._scope.wait(self._client.complete_elicitation, elicitation_id)

    def request(self, method: str, params: JsonValue = None, *, timeout_seconds: float | None = None) -> JsonValue:
        """See `Client.request`."""
        return self._scope.wait(self._client.request, method, params, timeout_seconds=timeout_seconds)

    def notify(self, method: str, params: JsonValue = None) -> None:
        """See `Client.notify`."""
        self._scope.wait(self._client.notify, method, params)


class BlockingSession:
    """`Session`, blocking. Made for handlers without `async`.

    `spawn` takes a plain function here, and runs it in a thread of its own.
    """

    def __init__(self, session: Session, scope: HandlerScope) -> None:
        self.id: str = session.id
        """See `Session.id`."""
        self.cwd: str = session.cwd
        """See `Session.cwd`."""
        self.additional_directories: tuple[str, ...] = session.additional_directories
        """See `Session.additional_directories`."""
        self.meta: Meta = session.meta
        """See `Session.meta`."""
        self.client: BlockingClient = BlockingClient(session.client, scope)
        """See `Session.client`."""
        self._session = session
        self._scope = scope

    def __repr__(self) -> str:
        return f"<blocking {self._session!r}>"

    # --- services

    @property
    def files(self) -> BlockingFiles:
        """Text files, the client's where it offers them, otherwise those on the local disk."""
        return BlockingFiles(self._session, self._scope)

    @property
    def terminals(self) -> BlockingTerminals:
        """Commands, in the client's terminals where it offers them, otherwise our own."""
        return BlockingTerminals(self._session, self._scope)

    def mcp(self) -> BlockingMcpServers:
        """See `Session.mcp`."""
        return BlockingMcpServers(self._scope.wait(self._session.mcp), self._scope)

    # --- stored state

    @property
    def state(self) -> JsonValue:
        """The author's own state: any JSON value, kept with `save`."""
        return self._session.state

    @state.setter
    def state(self, state: Any) -> None:
        self._session.state = state

    @property
    def title(self) -> str | None:
        """The title in lists of sessions; changed by `set_title`."""
        return self._session.title

    @property
    def broke_off(self) -> bool:
        """See `Session.broke_off`."""
        return self._session.broke_off

    @property
    def is_closed(self) -> bool:
        """Whether the client, or the end of its connection, closed the session."""
        return self._session.is_closed

    def save(self, state: JsonValue = UNSET) -> None:
        """See `Session.save`."""
        self._scope.wait(self._session.save, state)

    def history(self, *, refused: bool = False) -> Transcript:
        """See `Session.history`."""
        return self._scope.wait(self._session.history, refused=refused)

    # --- settings

    def option(self, option_id: str) -> str | bool:
        """See `Session.option`."""
        return self._session.option(option_id)

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001 - a value
        """See `Session.set_option`."""
        self._scope.wait(self._session.set_option, option_id, value)

    @property
    def commands(self) -> list[Command]:
        """The slash commands it offers."""
        return self._session.commands

    def set_commands(self, commands: Sequence[Command]) -> None:
        """See `Session.set_commands`."""
        self._scope.wait(self._session.set_commands, commands)

    def set_title(self, title: str | None) -> None:
        """See `Session.set_title`."""
        self._scope.wait(self._session.set_title, title)

    def notice(self, title: str, description: str | None = None, *, severity: Severity = "info") -> None:
        """See `Session.notice`."""
        self._scope.wait(self._session.notice, title, description, severity=severity)

    def send(self, event: Event) -> None:
        """See `Session.send`."""
        self._scope.wait(self._session.send, event)

    # --- beside the turns

    def spawn(self, work: Callable[[], T]) -> Future[T]:
        """Run a function in a thread beside the turns, until it is done or the session closes.

        Objects that it uses are bound to the session, not to the turn that began it: a tool call in the background, the
        session itself. When the session closes, their verbs raise `asyncio.CancelledError`.
        """
        outcome: Future[T] = Future()
        self._scope.wait(self._spawn, work, outcome)
        return outcome

    async def _spawn(self, work: Callable[[], T], outcome: Future[T]) -> None:
        def ended(task: asyncio.Task[T]) -> None:
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is None:
                outcome.set_result(task.result())
            else:
                outcome.set_exception(error)

        outcome.set_running_or_notify_cancel()
        self._session.spawn(self._scope.threads.run(work)).add_done_callback(ended)

    def keep(self, terminal: BlockingTerminal) -> None:
        """See `Session.keep`."""
        self._scope.wait(self._keep, terminal)

    async def _keep(self, terminal: BlockingTerminal) -> None:
        self._session.keep(terminal._terminal)


class BlockingExtension:
    """`Extension`, blocking. Made for handlers without `async`."""

    def __init__(self, extension: Extension, scope: HandlerScope) -> None:
        self.params: JsonValue = extension.params
        """See `Extension.params`."""
        self.client: BlockingClient = BlockingClient(extension.client, scope)
        """See `Extension.client`."""
        self.session: BlockingSession | None = (
            None if extension.session is None else BlockingSession(extension.session, scope)
        )
        """See `Extension.session`."""


blocking_view.register(Session, BlockingSession)
blocking_view.register(Extension, BlockingExtension)
