"""Transports move texts between two sides: in memory, over stdio, to a child process, to an address.

They never parse a text. Each transport is imported when it is first used: an import of this package for the `Transport`
interface alone loads neither asyncio nor subprocess code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy import lazy_exports
from accord.transport.interface import Transport as Transport

if TYPE_CHECKING:
    from accord.transport.check import (
        TransportCheckFailed as TransportCheckFailed,
        check_transport as check_transport,
    )
    from accord.transport.child import (
        ChildTransport as ChildTransport,
        spawn as spawn,
    )
    from accord.transport.http import (
        HttpTransport as HttpTransport,
        connect_http as connect_http,
    )
    from accord.transport.memory import (
        MemoryTransport as MemoryTransport,
        memory_pair as memory_pair,
    )
    from accord.transport.remote import (
        LinkReport as LinkReport,
        RemoteOptions as RemoteOptions,
    )
    from accord.transport.stdio import (
        StdioTransport as StdioTransport,
        open_stdio as open_stdio,
    )
    from accord.transport.streams import (
        StreamTransport as StreamTransport,
    )
    from accord.transport.websocket import (
        WebSocketTransport as WebSocketTransport,
        connect_websocket as connect_websocket,
    )

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "accord.transport.check": "TransportCheckFailed check_transport",
            "accord.transport.child": "ChildTransport spawn",
            "accord.transport.http": "HttpTransport connect_http",
            "accord.transport.memory": "MemoryTransport memory_pair",
            "accord.transport.remote": "LinkReport RemoteOptions",
            "accord.transport.stdio": "StdioTransport open_stdio",
            "accord.transport.streams": "StreamTransport",
            "accord.transport.websocket": "WebSocketTransport connect_websocket",
        },
        eager=("Transport",),
    )
