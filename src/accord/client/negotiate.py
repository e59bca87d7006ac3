"""Negotiation: starts an agent and agrees on the edition with it, one proposal after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from accord.client.launch import AgentLauncher
from accord.connection import Connection, Handlers
from accord.connection.sender import Observer
from accord.dialects import DialectPlugin
from accord.errors import (
    AccordError,
    ConnectionLost,
    DeadlineExceeded,
    LocalProtocolError,
    NegotiationFailed,
    RequestError,
)
from accord.session.capability import AgentCapabilities, ClientCapabilities, Implementation
from accord.session.client_requests import Initialize, Initialized, Prompt
from accord.session.dialect import Binding, Dialect, EditionProposal, decode_initialized, proposals_for
from accord.telemetry import LinkFacts, OperationSpan, call_span, link_facts, with_context

__all__ = ["AgentConnection", "StartAttempt", "loss_of", "lost_session", "negotiate", "proposals_for_dialect"]

T = TypeVar("T")

Listen: TypeAlias = Callable[[Handlers, EditionProposal], None]
Agreed: TypeAlias = tuple[Connection, Dialect, Initialized]


@dataclass(frozen=True, eq=False)
class AgentConnection:
    """One connection to the agent, after the handshake."""

    connection: Connection
    dialect: Dialect

    @property
    def facts(self) -> LinkFacts:
        """The attributes of its spans."""
        return link_facts(self.dialect.edition.version, self.connection.transport)

    async def request(
        self,
        request: Any,
        capabilities: AgentCapabilities,
        *,
        timeout_seconds: float | None = None,
        span: OperationSpan | None = None,
        on_answer: Callable[[Any], None] | None = None,
    ) -> Any:
        """Send one of the requests of `accord.session.client_requests`, in the messages of the agent's edition.

        Its span is `span`, which goes on, or one of its own. `on_answer` gets the answer before any later message of
        the agent is handled.

        Raises:
            LocalProtocolError: The edition has no such request, or the agent does not serve it.
            RequestError: It answered with an error.
            ConnectionLost: It is gone.
        """
        encoded = self.dialect.encode(request)
        what = type(request).__name__
        if encoded is None:
            raise LocalProtocolError(f"{self.dialect.edition.name} does not have {what}", field=what)
        binding, params = encoded
        if binding.needs and not getattr(capabilities, binding.needs):
            raise LocalProtocolError(f"this agent does not offer {binding.needs}", field=what)
        id_ = self.connection.next_request_id
        if span is not None:
            span.set("jsonrpc.request.id", str(id_))
            return await self._send(binding, params, request, timeout_seconds, span, on_answer)
        with call_span("client", binding.method.name, request, self.facts, id_) as own:
            return await self._send(binding, params, request, timeout_seconds, own, on_answer)

    async def _send(
        self,
        binding: Binding,
        params: Any,
        request: Any,
        timeout_seconds: float | None,
        span: OperationSpan,
        on_answer: Callable[[Any], None] | None,
    ) -> Any:
        if span.is_recorded:
            params = binding.encode_params(with_context(span, request))
        on_reply = None if on_answer is None else lambda result: on_answer(binding.decode_result(result, request))
        result = await self.connection.call(binding.method, params, timeout_seconds=timeout_seconds, on_reply=on_reply)
        return binding.decode_result(result, request)

    def prompt_span(self, prompt: Prompt) -> OperationSpan:
        """The span of a prompt, from its request to the end of its turn."""
        return call_span("client", self.dialect.find(Prompt)[0].method.name, prompt, self.facts)


def proposals_for_dialect(choice: str, dialect: DialectPlugin) -> tuple[EditionProposal, ...]:
    """The proposals to an agent that speaks a dialect, which belongs to a single edition.

    Raises:
        LocalProtocolError: The caller insists on another edition.
    """
    if choice not in ("auto", dialect.edition):
        expected = f"auto or {dialect.edition}"
        raise LocalProtocolError(f"{dialect.name} is a dialect of another edition", field="edition", expected=expected)
    return proposals_for(dialect.edition)


async def negotiate(
    launcher: AgentLauncher,
    plan: Sequence[EditionProposal],
    client: Implementation,
    capabilities: ClientCapabilities,
    listen: Listen,
    make: Callable[..., Connection],
    observers: Sequence[Observer],
) -> Agreed:
    """Make the proposals of `plan` in order: on the open connection, or with a new process where the last one refused.

    `listen` registers the handlers for the editions of a proposal before it is made: an agent may send messages right
    behind its answer.

    Raises:
        AccordError: All proposals failed; this is the exception of the first one.
    """
    negotiator = _Negotiator(launcher, client, capabilities, listen, make, observers)
    failure: AccordError | None = None
    try:
        for proposal in plan:
            try:
                return await negotiator.propose(proposal)
            except (RequestError, NegotiationFailed, ConnectionLost) as error:
                failure = failure or error
    except BaseException:
        await asyncio.shield(negotiator.close())
        raise
    await negotiator.close()
    raise failure or NegotiationFailed("the agent agreed to no edition")


class _Negotiator:
    """Makes proposals, and starts a new connection where the last one cannot be used."""

    def __init__(
        self,
        launcher: AgentLauncher,
        client: Implementation,
        capabilities: ClientCapabilities,
        listen: Listen,
        make: Callable[..., Connection],
        observers: Sequence[Observer],
    ) -> None:
        self._launcher = launcher
        self._client = client
        self._capabilities = capabilities
        self._listen = listen
        self._make = make
        self._observers = observers
        self._connection: Connection | None = None

    async def propose(self, proposal: EditionProposal) -> Agreed:
        """Make one proposal, to a new process if the one before refused.

        A process that refused a proposal may accept no second one: it is exiting, or takes itself for initialized.
        """
        connection = self._connection
        if connection is not None and (connection.is_open or not self._launcher.can_reopen):
            try:
                return await self._propose(connection, proposal)
            except (RequestError, NegotiationFailed, ConnectionLost):
                if not self._launcher.can_reopen:
                    raise
        return await self._propose(await self._start(), proposal)

    async def _propose(self, connection: Connection, proposal: EditionProposal) -> Agreed:
        self._listen(connection.handlers, proposal)
        request = Initialize(self._client, self._capabilities)
        facts = link_facts(None, connection.transport)
        with call_span("client", "initialize", request, facts, connection.next_request_id) as span:
            params = proposal.params(with_context(span, request))
            result = await connection.initialize(params, proposal.readable)
        if connection.edition is None:
            raise LocalProtocolError("no edition was agreed on")
        return connection, *decode_initialized(connection.edition, result, request)

    async def _start(self) -> Connection:
        await self.close()
        connection = self._connection = self._make(await self._launcher.open(), handlers=Handlers())
        for observer in self._observers:
            connection.observe(observer)
        connection.start()
        return connection

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


class StartAttempt:
    """A start of an agent with a timeout; another task can cancel it."""

    def __init__(self) -> None:
        self._work: asyncio.Task[Any] | None = None

    async def run(self, work: Coroutine[Any, Any, T], seconds: float | None) -> T:
        """The result of `work`.

        Raises:
            DeadlineExceeded: There is none within `seconds`.
            ConnectionLost: The start was cancelled with `cancel`.
        """
        task: asyncio.Task[T] = asyncio.get_running_loop().create_task(work)
        self._work = task
        try:
            async with asyncio.timeout(seconds):
                return await task
        except TimeoutError:
            raise DeadlineExceeded("start", seconds or 0.0) from None
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and caller.cancelling() == 0:
                raise ConnectionLost("this side closed the connection", clean=True) from None
            raise

    async def cancel(self) -> None:
        """Cancel the start, and return when its task has ended."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.wait([self._work])


def loss_of(connection: Connection, lost: AccordError | None, *, we_closed: bool) -> ConnectionLost:
    """The reason why a connection is lost, with the exit status and stderr of its process."""
    if isinstance(lost, ConnectionLost):
        return lost
    link = connection.transport
    message = "this side closed the connection" if we_closed else "the agent closed the connection"
    return ConnectionLost(
        message if lost is None else str(lost),
        exit_status=getattr(link, "exit_status", None),
        stderr_tail=getattr(link, "stderr_tail", ""),
        clean=lost is None,
    )


def lost_session(lost: ConnectionLost | None) -> ConnectionLost:
    """The error for a session that cannot be reopened in the process that replaced a lost one."""
    reason = lost or ConnectionLost("the agent was started again")
    message = f"the session is lost, because the agent can neither resume nor load it: {reason.message}"
    return ConnectionLost(message, exit_status=reason.exit_status, stderr_tail=reason.stderr_tail)
