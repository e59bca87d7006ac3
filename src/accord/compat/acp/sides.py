"""The official SDK's own `AgentSideConnection` and `ClientSideConnection`, on an `EngineConnection`.

One is made by its own class from streams that lead nowhere, in every version from 0.11 on; then the connection below it
is exchanged. Its attribute `_conn` and the router in `_conn._handler` are all that is used of its inside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Literal

from accord.compat.acp.engine import EngineConnection, Observer, Router
from accord.transport.interface import Transport

__all__ = ["agent_side", "client_side", "installed_sdk"]

_LEFT: set[asyncio.Future[None]] = set()
"""The exchanged connections while they end: the loop itself holds its tasks weakly."""


def installed_sdk(module: str = "acp") -> Any:
    """A module of the user's official SDK.

    Raises:
        ImportError: It is not installed, or another package is named `acp`.
    """
    try:
        import_module("acp.core")
        return import_module(module)
    except ImportError as error:
        message = "accord.compat.acp runs objects of the official SDK: install agent-client-protocol, 0.11 or newer"
        raise ImportError(message) from error


def agent_side(
    to_agent: Any, transport: Transport, *, use_unstable_protocol: bool, observers: Iterable[Observer]
) -> Any:
    """The `AgentSideConnection` of an agent, over a transport; it does not read yet."""
    return _side("agent", "AgentSideConnection", to_agent, transport, use_unstable_protocol, observers)


def client_side(
    to_client: Any, transport: Transport, *, use_unstable_protocol: bool, observers: Iterable[Observer]
) -> Any:
    """The `ClientSideConnection` of a client, over a transport; it does not read yet."""
    return _side("client", "ClientSideConnection", to_client, transport, use_unstable_protocol, observers)


def _side(
    side: Literal["agent", "client"],
    name: str,
    given: Any,
    transport: Transport,
    use_unstable_protocol: bool,  # noqa: FBT001
    observers: Iterable[Observer],
) -> Any:
    make: Callable[..., Any] = getattr(installed_sdk(f"acp.{side}.connection"), name)
    writer, reader = _nowhere()
    made = make(given, writer, reader, listening=False, use_unstable_protocol=use_unstable_protocol)
    theirs = made._conn  # noqa: SLF001 - see above
    router: Router = theirs._handler  # noqa: SLF001
    made._conn = EngineConnection(transport, side, router, observers)  # noqa: SLF001
    ending = asyncio.ensure_future(theirs.close())
    _LEFT.add(ending)
    ending.add_done_callback(_LEFT.discard)
    return made


class _NowhereTransport(asyncio.WriteTransport):
    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Nothing is sent here: the SDK's own connection is exchanged before it has something to send."""

    def is_closing(self) -> bool:
        return True

    def close(self) -> None:
        """There is nothing to close."""


def _nowhere() -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    return asyncio.StreamWriter(_NowhereTransport(), protocol, None, loop), reader
