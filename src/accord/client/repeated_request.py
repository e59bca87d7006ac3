"""Requests that another server takes, where one that is about to end has refused them or never received them.

`ConnectedAgent` and its sessions use this for prompts and for the opening of sessions; nothing was done for what is
repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

from accord.client.deadline import Deadlines
from accord.client.inbox import Inbox
from accord.client.launch import AgentLauncher
from accord.client.negotiate import AgentConnection
from accord.errors import AccordError, ConnectFailed, ConnectionLost, RequestError
from accord.transport.remote import Retry, is_refused

__all__ = ["before_sending", "elsewhere"]

T = TypeVar("T")

_UNAVAILABLE = 503


class ReconnectingAgent(Protocol):
    _inbox: Inbox
    _launcher: AgentLauncher
    _deadlines: Deadlines
    _may_respawn: bool

    def _connected(self) -> AgentConnection: ...


@contextlib.asynccontextmanager
async def before_sending(lock: asyncio.Lock) -> AsyncIterator[None]:
    """One such block at a time; a link that is lost in it is lost before the request that it prepares."""
    try:
        async with lock:
            yield
    except ConnectionLost as error:
        error.unsent = True
        raise


async def elsewhere(agent: ReconnectingAgent, ask: Callable[[], Awaitable[T]]) -> T:
    """The result of `ask`, from another server where this one is about to end and refuses; its turns end before.

    Raises:
        RequestError: It was refused, and no connection can be made again.
        ConnectFailed: No other server took it in time.
    """
    retry, leaves = Retry(agent._deadlines.reconnect_seconds), False
    while True:
        left = agent._connected()
        try:
            return await ask()
        except (RequestError, ConnectionLost, ConnectFailed) as error:
            # 503: a server that is about to end, which the load balancer does not know yet.
            leaves = leaves or not isinstance(error, ConnectFailed) or error.status == _UNAVAILABLE
            # Once in any case: the balancer may have chosen a server that ended in this moment.
            if not _may_repeat(agent, error, again=leaves or not retry.is_running) or not await retry.wait():
                raise
        while left.connection.is_open and (turn := agent._inbox.first_turn()) is not None:
            await turn._wait_over()
        await left.connection.close()


def _may_repeat(agent: ReconnectingAgent, error: AccordError, *, again: bool) -> bool:
    """Whether nothing was done for a request that another server may take."""
    launcher = agent._launcher
    if not agent._may_respawn or not launcher.can_reopen:
        return False
    if isinstance(error, RequestError):
        return isinstance(error.data, dict) and error.data.get("reason") == "draining"
    if isinstance(error, ConnectFailed):
        return again and launcher.address is not None and not is_refused(error)
    return isinstance(error, ConnectionLost) and error.unsent and launcher.address is not None
