"""Reaching an agent and agreeing on an edition, one proposal after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias, TypeVar

from accord.client.door import Door
from accord.client.handshake import Proposal, propose
from accord.connection import Connection, Handlers
from accord.connection.sender import Observer
from accord.errors import AccordError, ConnectionLost, DeadlineExceeded, NegotiationFailed, RequestError
from accord.session.capability import ClientCapabilities, Implementation
from accord.session.client_requests import Initialized
from accord.session.dialect import Dialect

__all__ = ["Attempt", "DialledLink", "dial", "loss_of", "lost_session"]

T = TypeVar("T")

Listen: TypeAlias = Callable[[Handlers, Proposal], None]
Agreed: TypeAlias = tuple[Connection, Dialect, Initialized]


class DialledLink:
    """One connection to the agent, after the handshake."""

    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self.connection = connection
        self.dialect = dialect


async def dial(
    door: Door,
    plan: Sequence[Proposal],
    client: Implementation,
    capabilities: ClientCapabilities,
    listen: Listen,
    make: Callable[..., Connection],
    observers: Sequence[Observer],
) -> Agreed:
    """Shake hands, on the same connection as long as there is one, and with a new process where that did not do.

    `listen` registers who handles what the agent says in the editions of a proposal, before that is made: an agent may
    speak right behind its answer.

    Raises:
        AccordError: How the first proposal failed; none of the others did better.
    """
    dialled = _Dialled(door, client, capabilities, listen, make, observers)
    failure: AccordError | None = None
    try:
        for proposal in plan:
            try:
                return await dialled.propose(proposal)
            except (RequestError, NegotiationFailed, ConnectionLost) as error:
                failure = failure or error
    except BaseException:
        await asyncio.shield(dialled.close())
        raise
    await dialled.close()
    raise failure or NegotiationFailed("the agent agreed to no edition")


class _Dialled:
    """The connection of the moment."""

    def __init__(
        self,
        door: Door,
        client: Implementation,
        capabilities: ClientCapabilities,
        listen: Listen,
        make: Callable[..., Connection],
        observers: Sequence[Observer],
    ) -> None:
        self._door = door
        self._client = client
        self._capabilities = capabilities
        self._listen = listen
        self._make = make
        self._observers = observers
        self._connection: Connection | None = None

    async def propose(self, proposal: Proposal) -> Agreed:
        """Make one proposal, to a new process if the one before did not take it.

        One that refused a proposal may hear no second one: it is on its way out, or holds that it has been asked.
        """
        connection = self._connection
        if connection is not None and (connection.is_open or not self._door.can_reopen):
            try:
                return await self._propose(connection, proposal)
            except (RequestError, NegotiationFailed, ConnectionLost):
                if not self._door.can_reopen:
                    raise
        return await self._propose(await self._start(), proposal)

    async def _propose(self, connection: Connection, proposal: Proposal) -> Agreed:
        self._listen(connection.handlers, proposal)
        return connection, *await propose(connection, proposal, self._client, self._capabilities)

    async def _start(self) -> Connection:
        await self.close()
        connection = self._connection = self._make(await self._door.open(), handlers=Handlers())
        for observer in self._observers:
            connection.observe(observer)
        connection.start()
        return connection

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


class Attempt:
    """An attempt to reach an agent: it has its time, and can be given up by who did not make it."""

    def __init__(self) -> None:
        self._work: asyncio.Task[Any] | None = None

    async def make(self, work: Coroutine[Any, Any, T], seconds: float | None) -> T:
        """What comes of it.

        Raises:
            DeadlineExceeded: Nothing, in that time.
            ConnectionLost: It was given up.
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

    async def give_up(self) -> None:
        """Return when nothing is left of it."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.wait([self._work])


def loss_of(connection: Connection, lost: AccordError | None, *, we_closed: bool) -> ConnectionLost:
    """Why a connection is gone, with what its transport knows about its process."""
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
    """Why a session cannot go on in the process that took the place of a lost one."""
    reason = lost or ConnectionLost("the agent was started again")
    message = f"the session is lost, because the agent can neither resume nor load it: {reason.message}"
    return ConnectionLost(message, exit_status=reason.exit_status, stderr_tail=reason.stderr_tail)
