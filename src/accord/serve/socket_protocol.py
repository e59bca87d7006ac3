"""uvicorn's WebSocket protocol for the handshake alone; behind it a socket is a `LinkedSocket`.

There are no extensions: what is negotiated in the handshake is forgotten with it.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from accord.serve.linked_socket import LinkedSocket
from accord.serve.socket_link import LINK, TEXTS

__all__ = ["SocketProtocol"]


class SocketProtocol(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._early = b""
        """The data that came before the upgrade was answered."""
        self.linked: LinkedSocket | None = None

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):
            extensions: dict[str, Any] = self.scope["extensions"]
            extensions[TEXTS] = {}
            extensions[LINK] = {"socket": lambda: self.linked}

    def data_received(self, data: bytes) -> None:
        if self.handshake_initiated and not self.handshake_complete:
            # Frames before the upgrade was answered, by a client that may not have been let in yet: no more of them.
            self._early += data
            self.read_paused = True
            self.transport.pause_reading()
        else:
            super().data_received(data)

    def start_keepalive(self) -> None:
        """The upgrade was accepted: nothing of the handshake is kept."""
        transport = self.transport
        linked = LinkedSocket(transport, self.connections, self.config.ws_max_size, self.config.ws_ping_interval or 0.0)
        self.linked = linked
        self.connections.discard(self)
        # What uvicorn closes when the application has returned.
        self.transport = linked  # type: ignore[assignment]
        transport.set_protocol(linked)
        self.conn.parser.close()  # a generator that holds its own object
        if self.read_paused:
            transport.resume_reading()
        if self._early:
            early, self._early = self._early, b""
            self.loop.call_soon(linked.data_received, early)

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self.scope.clear()  # type: ignore[attr-defined] # it holds this object

    async def receive(self) -> Any:
        """See ASGI."""
        # The first event is that a client wants to connect; it was put into uvicorn's own queue.
        return await super().receive() if self.linked is None else await self.linked.receive()

    async def send(self, message: MutableMapping[str, Any]) -> None:  # type: ignore[override]
        """See ASGI."""
        if self.linked is None:
            await super().send(message)  # type: ignore[arg-type]
        else:
            await self.linked.send(message)
