"""Reaching an agent and agreeing on an edition, one proposal after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from accord.client.door import Door
from accord.client.handshake import Proposal, propose
from accord.connection import Connection, Handlers
from accord.errors import AccordError, ConnectionLost, NegotiationFailed, RequestError
from accord.session.ability import ClientAbilities, Peer
from accord.session.ask import Initialized
from accord.session.dialect import Dialect

__all__ = ["Observer", "dial"]

Observer: TypeAlias = Callable[[Any, bytes | bytearray], None]
"""Sees every text, `in` or `out`."""

Listen: TypeAlias = Callable[[Handlers, Proposal], None]


async def dial(
    door: Door,
    plan: Sequence[Proposal],
    client: Peer,
    abilities: ClientAbilities,
    listen: Listen,
    make: Callable[..., Connection],
    observers: Sequence[Observer],
) -> tuple[Connection, Dialect, Initialized]:
    """Shake hands, on the same connection as long as there is one, and with a new process where the old one left.

    `listen` registers who handles what the agent says in the editions of a proposal, before that is made: an agent may
    speak right behind its answer.

    Raises:
        AccordError: How the first proposal failed; none of the others did better.
    """
    connection: Connection | None = None
    failure: AccordError | None = None
    try:
        for proposal in plan:
            if connection is None or not connection.is_open:
                if connection is not None and not door.can_reopen:
                    break
                connection = await _start(door, make, observers, connection)
            listen(connection.handlers, proposal)
            try:
                return connection, *await propose(connection, proposal, client, abilities)
            except (RequestError, NegotiationFailed, ConnectionLost) as error:
                failure = failure or error
    except BaseException:
        if connection is not None:
            await asyncio.shield(connection.close())
        raise
    if connection is not None:
        await connection.close()
    raise failure or NegotiationFailed("the agent agreed to no edition")


async def _start(
    door: Door, make: Callable[..., Connection], observers: Sequence[Observer], before: Connection | None
) -> Connection:
    if before is not None:
        await before.close()
    connection = make(await door.open(), handlers=Handlers())
    for observer in observers:
        connection.observe(observer)
    connection.start()
    return connection
