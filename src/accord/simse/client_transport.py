"""The client's link to a backend of simse's page: it does not wait for ever for an answer to `initialize`."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from accord.dialects import TranslatedTransport
from accord.simse.client_translator import ClientTranslator
from accord.transport.interface import Transport

__all__ = ["INITIALIZE_SECONDS", "ClientTransport"]

INITIALIZE_SECONDS = 30.0


class ClientTransport(TranslatedTransport):
    """Speaks v1 to a client, over a `link` to a backend that speaks the page.

    A backend that does not answer `initialize` within `initialize_seconds` is taken for one that does not know it.
    `tools` are the names of the tools that the client runs.
    """

    def __init__(
        self, link: Transport, tools: Collection[str] = (), initialize_seconds: float = INITIALIZE_SECONDS
    ) -> None:
        self._page = ClientTranslator(tools)
        super().__init__(link, self._page)
        self._initialize_seconds = initialize_seconds
        self._silence: asyncio.TimerHandle | None = None

    async def send(self, text: bytes | bytearray) -> None:
        """Send the translation of one text; `initialize` starts the timer."""
        await super().send(text)
        if self._silence is None and self._page.awaits_initialize:
            loop = asyncio.get_running_loop()
            self._silence = loop.call_later(self._initialize_seconds, self._give_up_initialize)

    async def close(self) -> None:
        """End the link below."""
        if self._silence is not None:
            self._silence.cancel()
        await super().close()

    def _give_up_initialize(self) -> None:
        # An answer in time leaves nothing to give up.
        self.inject(self._page.take_silence().to_us)
