"""The clients of one session that several may have open: its events go to all of them, its questions too.

The first answer counts. Which connection opens which session is decided in `session_registry`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from accord.agent.client import Client, ClientCaller
from accord.agent.publisher import BatchRest, EventPublisher
from accord.agent.queued_events import QueuedEvent
from accord.connection import Connection
from accord.connection.outgoing import Withdrawal
from accord.errors import AccordError, RequestError, TransportError
from accord.session.agent_requests import (
    ANSWERED,
    Elicited,
    ElicitForm,
    ElicitUrl,
    PermissionGiven,
    ReadFile,
    RequestPermission,
    WriteFile,
)
from accord.session.capability import ClientCapabilities
from accord.session.dialect import Dialect, UpdateEncoder
from accord.session.event import Event
from accord.stores.interface import Store

__all__ = ["Attachment", "SessionClients", "SharedPublisher", "publisher_of"]

log = logging.getLogger("accord.agent")

# Every client can be asked these, and again: the others have effects that belong to one client.
_QUESTIONS = (RequestPermission, ElicitForm, ElicitUrl)
_REPEATABLE = (*_QUESTIONS, ReadFile, WriteFile)


@dataclass(eq=False)
class Attachment:
    """One client of a session: the functions that send it requests and events."""

    caller: ClientCaller
    client: Client
    view: EventPublisher

    @classmethod
    def make(
        cls, session_id: str, dialect: Dialect, client: Client, caller: ClientCaller, connection: Connection
    ) -> Attachment:
        """A client of a session, which gets its events in the form that its connection has agreed on."""
        encoder = dialect.encoder(client.capabilities)
        return cls(caller, client, EventPublisher(session_id, dialect, encoder, connection, None, _log_failure))


def _log_failure(error: Exception) -> None:
    log.warning("an event could not be sent to a client: %s", error)


@dataclass(eq=False)
class _Question:
    request: Any
    timeout_seconds: float | None
    answer: asyncio.Future[Any]
    asked: dict[Attachment, asyncio.Task[None]] = field(default_factory=dict)


class SessionClients:
    """The clients of one session, as its `ClientCaller`: questions go to all of them, other requests to the last."""

    def __init__(self) -> None:
        self.attachments: list[Attachment] = []
        self._capabilities = ClientCapabilities()
        self._open: list[_Question] = []
        self._came: asyncio.Event = asyncio.Event()

    @property
    def capabilities(self) -> ClientCapabilities:
        """Those of the client that came last, also when it is gone: its files are not to be replaced by local ones."""
        return self._capabilities

    @property
    def asks(self) -> bool:
        """Whether a question is open."""
        return bool(self._open)

    @property
    def is_forsaken(self) -> bool:
        """Whether a question is open, and there is no client to answer it."""
        return self.asks and not self.attachments

    def attach(self, attachment: Attachment) -> None:
        self.attachments.append(attachment)
        self._capabilities = attachment.client.capabilities
        self._came.set()
        self._came = asyncio.Event()

    def ask_open(self, attachment: Attachment) -> None:
        """Ask a client that has come the questions that wait."""
        for question in self._open:
            self._ask(question, attachment)

    def detach(self, attachment: Attachment) -> None:
        if attachment in self.attachments:
            self.attachments.remove(attachment)
        if self.attachments:
            self._capabilities = self.attachments[-1].client.capabilities

    async def call(self, request: Any, *, timeout_seconds: float | None = None) -> Any:
        """See `ClientCaller.call`."""
        if isinstance(request, _QUESTIONS):
            return await self._ask_all(request, timeout_seconds)
        while True:
            while not self.attachments:
                await self._came.wait()
            attachment = self.attachments[-1]
            try:
                return await attachment.caller.call(request, timeout_seconds=timeout_seconds)
            except TransportError:
                if not isinstance(request, _REPEATABLE):
                    raise
                self.detach(attachment)

    async def _ask_all(self, request: Any, timeout_seconds: float | None) -> Any:
        question = _Question(request, timeout_seconds, asyncio.get_running_loop().create_future())
        self._open.append(question)
        for attachment in tuple(self.attachments):
            self._ask(question, attachment)
        try:
            return await question.answer
        finally:
            self._open.remove(question)
            # The others are asked no more: a call that is cancelled is withdrawn, and says which answer counts.
            withdrawal = _withdrawal(question.answer)
            for task in question.asked.values():
                task.cancel(withdrawal)

    def _ask(self, question: _Question, attachment: Attachment) -> None:
        if attachment not in question.asked:
            task = asyncio.get_running_loop().create_task(self._ask_one(question, attachment))
            question.asked[attachment] = task

    async def _ask_one(self, question: _Question, attachment: Attachment) -> None:
        try:
            answer = await attachment.caller.call(question.request, timeout_seconds=question.timeout_seconds)
        except TransportError:
            self.detach(attachment)  # it is asked again when a client comes
        except AccordError as error:
            others = [task for each, task in question.asked.items() if each is not attachment and not task.done()]
            # A client that cannot answer does not answer for the others.
            if not question.answer.done() and (not others or not isinstance(error, RequestError)):
                question.answer.set_exception(error)
        else:
            if not question.answer.done():
                question.answer.set_result(answer)


def _withdrawal(answer: asyncio.Future[Any]) -> Withdrawal | None:
    """The answer of another client, for those whose question is withdrawn; None where there is none.

    The content of a form is not repeated: it was typed for the agent.
    """
    if not answer.done() or answer.cancelled() or answer.exception() is not None:
        return None
    given = answer.result()
    said: dict[str, Any]
    if isinstance(given, PermissionGiven):
        said = {"outcome": "cancelled"} if given.option is None else {"outcome": "selected", "optionId": given.option}
    elif isinstance(given, Elicited):
        said = {"action": given.action}
    else:
        return None
    return Withdrawal({ANSWERED: said})


class SharedPublisher(EventPublisher):
    """The publisher of a session with any number of clients: commits once, and sends to the view of each.

    `target` is the view that is being opened: a replay goes to it alone.
    """

    def __init__(
        self,
        session_id: str,
        dialect: Dialect,
        view: EventPublisher,
        store: Store | None,
        on_failure: Callable[[Exception], None],
        clients: SessionClients,
    ) -> None:
        super().__init__(session_id, dialect, view.encoder, view.connection, store, on_failure)
        self.target = view
        self._clients = clients

    async def replay(self, events: list[Event], encoder: UpdateEncoder) -> None:
        """See `EventPublisher.replay`."""
        self.encoder = encoder
        await self.target.replay(events, encoder)

    @property
    def _holds_back(self) -> bool:
        for attachment in self._clients.attachments:  # noqa: SIM110 - three times in a turn, and half the time of `any`
            if attachment.view.encoder.holds_back:
                return True
        return False

    def _teach(self, event: Event) -> None:
        for attachment in self._clients.attachments:
            attachment.view.encoder.encode(event)

    def _try_batch(self, batch: list[QueuedEvent]) -> tuple[Exception | None, BatchRest | None]:
        attachments = self._clients.attachments
        if not attachments:
            self._held_is_due = False
            return None, None
        if len(attachments) > 1 or self._held_is_due:
            return None, BatchRest(None, [], batch)
        return attachments[0].view._try_batch(batch)

    async def _send_rest(self, rest: BatchRest) -> Exception | None:
        if rest.view is None:
            return await self._send_batch(rest.batch)
        failed = await rest.view._send_rest(rest)
        if not isinstance(failed, TransportError):
            return failed
        for attachment in [each for each in self._clients.attachments if each.view is rest.view]:
            self._clients.detach(attachment)
        return None

    async def _send_batch(self, batch: list[QueuedEvent]) -> Exception | None:
        failure: Exception | None = None
        held_is_due, self._held_is_due = self._held_is_due, False
        for attachment in tuple(self._clients.attachments):
            attachment.view._held_is_due = held_is_due
            failed = await attachment.view._send_batch(batch)
            if isinstance(failed, TransportError):
                self._clients.detach(attachment)
            else:
                failure = failed or failure
        return failure


def publisher_of(
    attachment: Attachment,
    clients: SessionClients | None,
    dialect: Dialect,
    session_id: str,
    store: Store | None,
    on_failure: Callable[[Exception], None],
) -> EventPublisher:
    """The publisher of a session: for its only client, or for all that share it."""
    if clients is not None:
        return SharedPublisher(session_id, dialect, attachment.view, store, on_failure, clients)
    view = attachment.view
    return EventPublisher(session_id, dialect, view.encoder, view.connection, store, on_failure)
