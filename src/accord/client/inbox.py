"""The inbox dispatches an agent's updates and requests to sessions, also those that arrive before the id is known."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Any, TypeAlias

from accord.client.question import called, elicit_question, elicited
from accord.client.services import Services, Serving, unknown_session
from accord.client.session import Session
from accord.client.turn import Turn
from accord.connection import Handlers, current_request
from accord.errors import AccordError, MethodNotFound
from accord.json_values import JsonValue
from accord.protocol.codec import encode
from accord.session.agent_requests import ElicitForm, ElicitUrl, ReadFile, ReadTerminal
from accord.session.client_requests import ReopenSession, SessionOpened
from accord.session.dialect import Binding, EditionProposal
from accord.session.event import Noticed
from accord.telemetry import NO_SPAN, LinkFacts, OperationSpan, note_answer, served_span
from accord.transport.remote import LinkReport

__all__ = ["ExtensionCallback", "Inbox", "reopen"]

log = logging.getLogger("accord.client")

# How much an agent may send about sessions before their ids are known, and what each update costs beyond its text.
MAX_EARLY_BYTES = 4 * 1024 * 1024
EARLY_OVERHEAD_BYTES = 1024

# Requests with large answers that are made quickly: so many of each kind run at once, see `Handlers.on`.
LARGE_ANSWERS = (ReadFile, ReadTerminal)
LARGE_ANSWERS_AT_ONCE = 4

_UPDATE = attrgetter("update")


ExtensionCallback: TypeAlias = Callable[[JsonValue], JsonValue]
"""Handles a call of an extension method: gets its parameters and returns the result, both plain JSON."""


_LINK_NOTICES: dict[str, Callable[[str], Noticed]] = {
    "lost": functools.partial(Noticed, "The link to the agent broke and is opened again", "warning"),
    "resumed": functools.partial(Noticed, "The link to the agent is back, and nothing was missed", "info"),
    "gap": functools.partial(Noticed, "The connection to the agent is lost, and messages may be missing", "error"),
}


class Inbox:
    """All sessions of one agent, and the services of each."""

    def __init__(self, serving: Serving) -> None:
        self.requests: dict[str, ExtensionCallback] = {}
        self.dialect_requests: Mapping[str, ExtensionCallback] = {}
        self.notifications: dict[str, ExtensionCallback] = {}
        self.facts = LinkFacts()
        """The attributes of the spans of what is served."""
        self._serving = serving
        self._sessions: dict[str, Session] = {}
        self._services: dict[str, Services] = {}
        self._muted: set[str] = set()
        self._early: dict[str, list[tuple[Any, int]]] = {}
        self._early_bytes = 0
        self._closing: set[asyncio.Task[None]] = set()
        self.dropped_early = 0
        """Updates of unknown sessions that were dropped, beyond those that are kept."""

    def listen(self, handlers: Handlers, proposal: EditionProposal) -> None:
        """Register the handlers for the editions of a proposal."""
        for dialect in proposal.dialects:
            handlers.on(
                dialect.update,
                functools.partial(self._update, dialect.decode_update),
                run_handler=functools.partial(self._update_run, dialect.decode_update),
            )
            for binding in dialect.client_bindings:
                share = LARGE_ANSWERS_AT_ONCE if binding.request in LARGE_ANSWERS else 0
                handlers.on(binding.method, functools.partial(self._serve, binding), share=share)
        for name, handler in {**self.requests, **self.dialect_requests}.items():
            handlers.on_extension_request(name, functools.partial(self._extension, handler))
        for name, handler in self.notifications.items():
            handlers.on_extension_notification(name, handler)

    # --- sessions

    def add(self, session: Session) -> None:
        """Add a session, which may be a reopened one.

        One that gets the id of another replaces it: requests under that id are never judged by the directories and the
        turn of the earlier session.
        """
        earlier = self._sessions.get(session.id)
        if earlier is not None and earlier is not session:
            self.remove(earlier)
        self._sessions[session.id] = session
        if session.id not in self._services:
            self._services[session.id] = Services(session, self._serving)

    def first_turn(self) -> Turn | None:
        """A turn that runs, in any session."""
        turns = (turn for session in self._sessions.values() for turn in session._turns.sent)
        return next((turn for turn in turns if not turn.is_over and not turn._is_moving), None)

    def find(self, session_id: str) -> Session | None:
        """The session of an id, while it is open."""
        return self._sessions.get(session_id)

    def remove(self, session: Session) -> None:
        if self._sessions.get(session.id) is not session:
            return
        del self._sessions[session.id]
        services = self._services.pop(session.id, None)
        if services is not None:
            task = asyncio.get_running_loop().create_task(services.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def deliver_early(self, session: Session) -> None:
        """Deliver the updates that arrived before the id of the session was known."""
        early = self._early.pop(session.id, [])
        for update, size_bytes in early:
            self._early_bytes -= size_bytes
            session._receive(update)

    @contextlib.contextmanager
    def muted(self, session_id: str) -> Iterator[None]:
        """Drop the updates of a session meanwhile: they repeat known events."""
        self._muted.add(session_id)
        try:
            yield
        finally:
            self._muted.discard(session_id)

    def report_link(self, report: LinkReport, on_link: Callable[[LinkReport], None]) -> None:
        """The link to the agent's address changed: every open session gets an event, and then `on_link` the report."""
        log.warning("the link to the agent: %s (%s)", report.kind, report.reason)
        for session in self._sessions.values():
            session._apply(_LINK_NOTICES[report.kind](report.reason))
        try:
            on_link(report)
        except Exception:
            # The link goes on, or ends, all the same.
            log.exception("on_link failed")

    async def lost(self, error: AccordError) -> None:
        """The agent is gone: end the services that run for it."""
        for session in list(self._sessions.values()):
            session._lost(error)
        await self.close()

    async def close(self) -> None:
        """End everything that was started for the agent."""
        services, self._services = list(self._services.values()), {}
        closing = [service.close() for service in services]
        await asyncio.gather(*closing, *self._closing, return_exceptions=True)

    # --- updates and requests

    def _update(self, decode: Callable[[Any], tuple[str, Any]], params: Any) -> Awaitable[None] | None:
        session_id, update = decode(params)
        session = self._sessions.get(session_id)
        if session is not None:
            return None if self._muted and session_id in self._muted else session._receive(update)
        left_bytes = MAX_EARLY_BYTES - self._early_bytes
        # Not encoded in vain: a full buffer stays full, and the agent may send many more updates.
        size_bytes = EARLY_OVERHEAD_BYTES + (len(encode(params)) if left_bytes > EARLY_OVERHEAD_BYTES else 0)
        if size_bytes < left_bytes:
            self._early_bytes += size_bytes
            self._early.setdefault(session_id, []).append((update, size_bytes))
        else:
            self.dropped_early += 1
        return None

    def _update_run(
        self, decode: Callable[[Any], tuple[str, Any]], session_id: str, run: Iterator[Any]
    ) -> Awaitable[None] | None:
        session = self._sessions.get(session_id)
        if session is not None and session_id not in self._muted:
            return session._receive_run(map(_UPDATE, run))
        for params in run:
            self._update(decode, params)
        return None

    async def _serve(self, binding: Binding, params: Any) -> Any:
        request = binding.decode_params(params)
        session_id: str | None = getattr(request, "session_id", None)
        with self._span(request, self._sessions.get(session_id or "")) as span:
            answer = await self._answer(request, session_id)
            note_answer(span, request, answer)
        return binding.encode_result(answer)

    async def _answer(self, request: Any, session_id: str | None) -> Any:
        if session_id is None and isinstance(request, ElicitForm | ElicitUrl) and self._serving.elicit is not None:
            return elicited(await called(self._serving.elicit, elicit_question(None, request)))
        services = self._services.get(session_id or "")
        if services is None:
            raise unknown_session(session_id or "")
        return await services.serve(request)

    def _span(self, request: Any, session: Session | None) -> OperationSpan:
        """The span of a request of the agent: below the agent's, else below the turn that runs."""
        incoming = current_request()
        if incoming is None:
            return NO_SPAN
        turn = None if session is None else session.running_turn
        within = NO_SPAN if turn is None else turn._span
        return served_span(incoming.method, request, self.facts, incoming.id, within)

    async def _extension(self, handler: Callable[[Any], Any], params: Any) -> Any:
        session_id = params.get("sessionId") if isinstance(params, dict) else None
        session = self._sessions.get(session_id) if isinstance(session_id, str) else None
        # The agent waits for us: its deadlines rest meanwhile.
        waiting = contextlib.nullcontext() if session is None else session._while_agent_waits()
        with waiting, self._span(params, session):
            return await called(handler, params)


async def reopen(
    request: ReopenSession,
    send: Callable[[Any], Awaitable[SessionOpened]],
    muted: Callable[[str], AbstractContextManager[None]],
    *,
    can_resume: bool,
    can_load: bool,
) -> SessionOpened:
    """Reopen a session; where the agent can only replay the conversation, `muted` drops the updates of the replay.

    Raises:
        RequestError: The agent refused.
    """
    if request.replay or can_resume or not can_load:
        try:
            return await send(request)
        except MethodNotFound:
            # Some agents advertise that they resume sessions, and do not.
            if request.replay or not can_load:
                raise
    request.replay = True
    with muted(request.session_id):
        return await send(request)
