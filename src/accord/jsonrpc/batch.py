"""The answers to one batch: held back until the last is there, then sent as one array."""

from __future__ import annotations

from accord.jsonrpc.serialize import array_text

__all__ = ["BatchAnswer"]


class BatchAnswer:
    """Collects `expected` answers. A batch of notifications alone expects none and is never answered."""

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self._texts: list[bytes] = []
        self.size_bytes = 0
        """All answers that were added."""

    def add(self, text: bytes) -> bytes | None:
        """One answer; the whole array once it was the last."""
        self._texts.append(text)
        self.size_bytes += len(text)
        self._missing -= 1
        return None if self._missing else array_text(self._texts)
