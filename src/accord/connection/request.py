"""A request of the peer: one object from its arrival to its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

import msgspec

from accord.connection.handlers import Handler
from accord.jsonrpc.message import RequestId
from accord.jsonrpc.serialize import BatchAnswer

__all__ = ["CURRENT", "IncomingRequest", "OpenRequest", "WithdrawnByPeer", "current_request"]


class WithdrawnByPeer(msgspec.Struct, frozen=True):
    """The message of the `CancelledError` in a handler whose request was withdrawn; has the `_meta` of the withdrawal.

    It is not passed on: calls that such a handler waits for are withdrawn without it.
    """

    meta: dict[str, Any]


class OpenRequest(msgspec.Struct, eq=False):
    """A request of the peer, from its arrival to its answer."""

    id: RequestId
    method: str
    handler: Handler
    params: Any
    """The params; None as soon as the handler has them, so that they can be freed while it runs."""
    result: Any
    """The type the handler must return; Any for extensions."""
    batch: BatchAnswer | None = None
    size_bytes: int = 0
    """How long its text is."""
    arrival: Any = None
    """The result of the arrival hook."""
    task: asyncio.Task[None] | None = None
    began: bool = False
    arrived: bool = False
    """Whether an arrival hook accepted it: then only its handler decides how it ends."""
    admitted: bool = False
    """Whether its handler may start without a further look at the budget."""
    reserved: tuple[int, int] | None = None
    """The bytes that `Admission` reserves for its answer, and the lapse since when."""
    weighs: bool = False
    """Whether its text counts while it runs."""
    finish: Callable[[Any], Any] | None = None
    """Is called with the result before it is sent; with None where there is none."""


CURRENT: ContextVar[OpenRequest | None] = ContextVar("CURRENT", default=None)


class IncomingRequest(Protocol):
    """A request of the peer whose handler runs. Made by the connection."""

    @property
    def id(self) -> str | int | None:
        """The id that the peer gave the request."""

    @property
    def method(self) -> str:
        """The name of the method."""

    @property
    def arrival(self) -> object:
        """The result of the hook that was registered with `Handlers.on_arrival`; None without a hook."""


def current_request() -> IncomingRequest | None:
    """The request whose handler this code runs in."""
    return CURRENT.get()
