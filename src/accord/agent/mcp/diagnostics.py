"""What was noticed about a server beside the protocol; it may explain a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from accord.errors import TransportError
from accord.transport.interface import ProcessTransport

__all__ = ["Diagnostics"]

_SHOWN_CHARACTERS = 120


@dataclass
class Diagnostics:
    """The program and how its link ended, the last bad HTTP status, and what came that was no message."""

    on_broken: Callable[[], None]
    """Called when it is clear that no answer can come any more, and the package would not notice."""
    child: ProcessTransport | None = None
    loss: TransportError | None = None
    http_status: int | None = None
    nonsense_count: int = 0
    first_nonsense: str = ""

    async def on_stream_exception(self, error: Exception) -> None:
        """Note something that was read and is no message; the talk goes on."""
        self.nonsense_count += 1
        if self.nonsense_count == 1:
            self.first_nonsense = str(error)[:_SHOWN_CHARACTERS]
