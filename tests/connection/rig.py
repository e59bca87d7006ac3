"""One connection under test and a hand that holds the other end of its memory link.

`Hand` speaks raw texts: it can say what no well-behaved peer would. `talk` makes it, `initialized` a connection that
is past its handshake.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from accord.connection import Connection, Handlers
from accord.protocol import v1, v2, v2_june
from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from accord.transport import memory_pair
from accord.transport.interface import Transport
from tests.limits import limit
from tests.transport.one_by_one import OneByOne

BOUND_SECONDS = limit(10.0)

REQUEST_PARAMS: dict[str, dict[str, Any]] = {
    "v1": {"protocolVersion": 1, "clientCapabilities": {}},
    "v2": {"protocolVersion": 2, "info": {"name": "hand", "version": "1"}, "capabilities": {}},
    "v2_june": {"protocolVersion": 2, "clientInfo": {"name": "hand", "version": "1"}, "capabilities": {}},
}
RESULTS: dict[str, dict[str, Any]] = {
    "v1": {"protocolVersion": 1, "agentCapabilities": {}},
    "v2": {"protocolVersion": 2, "info": {"name": "hand", "version": "1"}, "capabilities": {"session": {}}},
    "v2_june": {"protocolVersion": 2, "capabilities": {"session": {}}},
}


class Hand:
    """The other end, by hand. Every wait is bounded."""

    def __init__(self, transport: Transport) -> None:
        self.transport = OneByOne(transport)
        self._next = 1000

    async def say(self, text: bytes | str | dict[str, Any] | list[Any]) -> None:
        if isinstance(text, dict | list):
            text = json.dumps(text)
        async with asyncio.timeout(BOUND_SECONDS):
            await self.transport.send(text.encode() if isinstance(text, str) else text)

    async def notify(self, method: str, params: Any) -> None:
        await self.say({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any = None, id_: Any = None) -> Any:
        """Send a request without waiting; gives its id."""
        if id_ is None:
            id_ = self._next
            self._next += 1
        await self.say({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return id_

    async def hear(self) -> Any:
        async with asyncio.timeout(BOUND_SECONDS):
            text = await self.transport.receive()
        assert text is not None, "the connection closed"
        return json.loads(text)

    async def answer_to(self, id_: Any) -> Any:
        """The next message that carries this id; what comes before it is passed over."""
        while True:
            message = await self.hear()
            if isinstance(message, dict) and message.get("id") == id_ and "method" not in message:
                return message

    async def request(self, method: str, params: Any = None) -> Any:
        return await self.answer_to(await self.ask(method, params))

    async def is_alive(self) -> bool:
        """Whether the other end still answers."""
        answer = await self.request("_are_you_there")
        return bool(answer["error"]["code"] == -32601)

    async def update(self, session: str, text: str) -> None:
        chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": text}}
        await self.notify("session/update", {"sessionId": session, "update": chunk})


def agent_handlers() -> Handlers:
    """Shakes hands in every edition and makes sessions in v1."""
    handlers = Handlers()
    handlers.on(v1.INITIALIZE, lambda params: v1.InitializeResponse(params.protocol_version))
    handlers.on(
        v2.INITIALIZE,
        lambda params: v2.InitializeResponse(params.protocol_version, v2.Implementation("test", "1")),
    )
    handlers.on(v2_june.INITIALIZE, lambda params: v2_june.InitializeResponse(params.protocol_version))
    handlers.on(v1.SESSION_NEW, lambda _: v1.NewSessionResponse("s"))
    handlers.on(v2.SESSION_NEW, lambda _: v2.NewSessionResponse("s"))
    handlers.on(v2_june.SESSION_NEW, lambda _: v2_june.NewSessionResponse("s"))
    return handlers


@asynccontextmanager
async def talk(
    side: Literal["agent", "client"], handlers: Handlers | None = None, **options: Any
) -> AsyncIterator[tuple[Connection, Hand]]:
    """A started connection and the hand on its other end."""
    ours, theirs = memory_pair()
    if handlers is None:
        handlers = agent_handlers() if side == "agent" else Handlers()
    async with asyncio.timeout(limit(60)), Connection(ours, side, handlers, **options) as connection:
        yield connection, Hand(theirs)


async def initialize(connection: Connection, hand: Hand, edition: Edition = V1) -> None:
    """Shake hands in an edition, whichever side is under test."""
    if connection.side == "agent":
        answer = await hand.request("initialize", REQUEST_PARAMS[edition.name])
        assert answer["result"]["protocolVersion"] == edition.version
        return
    calling = asyncio.ensure_future(connection.initialize(REQUEST_PARAMS[edition.name], (edition,)))
    asked = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS[edition.name]})
    await calling


@asynccontextmanager
async def initialized(
    side: Literal["agent", "client"], handlers: Handlers | None = None, edition: Edition = V1, **options: Any
) -> AsyncIterator[tuple[Connection, Hand]]:
    """As `talk`, past the handshake."""
    async with talk(side, handlers, **options) as (connection, hand):
        await initialize(connection, hand, edition)
        yield connection, hand


async def until(condition: Callable[[], bool]) -> None:
    """Give the loop turns until something holds; bounded."""
    async with asyncio.timeout(BOUND_SECONDS):
        while not condition():
            await asyncio.sleep(0)


def is_paused(connection: Connection) -> bool:
    """Whether the connection does not read, because its budget is spent."""
    return connection._budget.waiter is not None


def has_waiting_sender(transport: Any) -> bool:
    """Whether a sender waits for room in a memory link."""
    return bool(transport._outgoing.queue.waiting)


EDITIONS = (V1, V2, V2_JUNE)
UPDATES: dict[str, Any] = {"v1": v1.SESSION_UPDATE, "v2": v2.SESSION_UPDATE, "v2_june": v2_june.SESSION_UPDATE}
