"""The interface that every framing's reader implements, and the handling of byte order marks."""

from __future__ import annotations

from codecs import BOM_UTF8 as BOM
from typing import Literal, Protocol

from accord.errors import FrameError

__all__ = ["BOM", "DEFAULT_MAX_BYTES", "Framing", "Reader", "is_blank", "over_limit", "strip_bom"]

Framing = Literal["lines", "headers", "auto"]
"""The separation of messages: by newlines, or by `Content-Length` headers."""

DEFAULT_MAX_BYTES = 64 * 1024 * 1024


class Reader(Protocol):
    """Cuts one stream of bytes into texts. The chunks may be cut anywhere; the texts come out the same."""

    def feed(self, data: bytes) -> list[bytes]:
        """The texts that `data` completes, in order. Never raises; empty for ever after a fault."""
        ...

    def finish(self) -> list[bytes]:
        """The rest when the stream has ended, as a text of its own, so that no bytes are lost silently."""
        ...

    @property
    def fault(self) -> FrameError | None:
        """Why reading cannot go on. Texts that were complete before it have been delivered."""
        ...

    @property
    def pending_bytes(self) -> int:
        """How much is held because its text is not complete yet; 0 between two texts and after a fault."""
        ...

    @property
    def framing(self) -> Literal["lines", "headers"] | None:
        """The peer's framing; None while that is not known."""
        ...


def is_blank(text: bytes) -> bool:
    """Whether a text is empty: no bytes, or white space only."""
    return not text or text.isspace()


def over_limit(max_bytes: int) -> FrameError:
    """The fault of a text that is larger than `max_bytes`."""
    return FrameError(f"a text is larger than the limit of {max_bytes} bytes", limit_bytes=max_bytes)


def strip_bom(opening: bytes) -> bytes | None:
    """The opening of a stream without its mark, or None while it is too short to decide."""
    if len(opening) < len(BOM) and BOM.startswith(opening):
        return None
    return opening.removeprefix(BOM)
