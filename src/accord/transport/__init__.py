"""Transports move texts between two sides: in memory, over stdio, to a child process.

It never looks into a text. Every way is imported when it is first used: what imports this package for the
`Transport` protocol alone pays neither for an event loop nor for processes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from accord.transport.interface import Transport

if TYPE_CHECKING:
    from accord.transport.check import TransportCheckFailed, check_transport
    from accord.transport.child import ChildTransport, spawn
    from accord.transport.memory import MemoryTransport, memory_pair
    from accord.transport.stdio import StdioTransport, open_stdio
    from accord.transport.streams import StreamTransport

__all__ = [
    "ChildTransport",
    "MemoryTransport",
    "StdioTransport",
    "StreamTransport",
    "Transport",
    "TransportCheckFailed",
    "check_transport",
    "memory_pair",
    "open_stdio",
    "spawn",
]

_HOMES = {
    "ChildTransport": "child",
    "MemoryTransport": "memory",
    "StdioTransport": "stdio",
    "StreamTransport": "streams",
    "TransportCheckFailed": "check",
    "check_transport": "check",
    "memory_pair": "memory",
    "open_stdio": "stdio",
    "spawn": "child",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
