"""Blocking lines over two descriptors: what reading and writing costs without an SDK."""

from __future__ import annotations

import json
import os
from typing import Any

__all__ = ["Lines"]

_READ_BYTES = 1 << 20


class Lines:
    def __init__(self, read_from: int, write_to: int) -> None:
        self._read_from = read_from
        self._write_to = write_to
        self._held = b""

    def read(self) -> bytes:
        """The next line without its end.

        Raises:
            SystemExit: There is none.
        """
        pieces = []
        while True:
            line, end, rest = self._held.partition(b"\n")
            pieces.append(line)
            if end:
                self._held = rest
                return b"".join(pieces)
            self._held = self.read_some()

    def read_some(self) -> bytes:
        """Whatever is there, cut anywhere."""
        data = os.read(self._read_from, _READ_BYTES)
        if not data:
            raise SystemExit(0)
        return data

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._write_to, view) :]

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
