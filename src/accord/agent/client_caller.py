"""What the services of a session need of the link to its client: what it offers, and a way to ask for it."""

from __future__ import annotations

from typing import Any, Protocol

from accord.session.capability import ClientCapabilities

__all__ = ["ClientCaller"]


class ClientCaller(Protocol):
    """Asks the client in no edition's words."""

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the client lets its agent use."""

    async def call(self, request: Any, *, timeout_seconds: float | None = None) -> Any:
        """The answer to one of the asks of `accord.session.request`.

        Raises:
            RequestError: The client refused.
            CallTimeout: It did not answer in time.
            ConnectionLost: It is gone.
            LocalProtocolError: Its edition has no words for this; nothing was sent.
        """
