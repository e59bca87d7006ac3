"""The log of messages: one line for each, with direction, method, id, size, and the time that an answer took.

Nothing of their content is logged: prompts, files and keys pass here. A connection has this observer only where the
logger of this module is enabled when the connection is made: while the log is off, no message pays for it.
"""

from __future__ import annotations

import logging
import time
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

__all__ = ["MessageLog"]

log = logging.getLogger("accord.connection.message_log")

# A peer that never answers must not make this grow without limit, and the names are the peer's text.
MAX_OPEN = 4096
MAX_CHARACTERS = 80
OTHER: dict[str, Literal["in", "out"]] = {"in": "out", "out": "in"}


class _Envelope(msgspec.Struct):
    method: str | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _Error(msgspec.Struct):
    code: int


_decode = msgspec.json.Decoder(_Envelope).decode
_decode_error = msgspec.json.Decoder(_Error).decode


class MessageLog:
    """An observer of one connection; `side` is ours."""

    def __init__(self, side: str) -> None:
        self._side = side
        self._open: dict[tuple[str, bytes], tuple[str, float]] = {}
        """The requests that are not answered, by direction and id: their method, and when they passed."""

    def __call__(self, direction: Literal["in", "out"], text: bytes) -> None:
        try:
            envelope = _decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            what = "several messages at once" if bytes(text[:64]).lstrip()[:1] == b"[" else "no message"
            log.debug("%s %s %s, %d bytes", self._side, direction, what, len(text))
            return
        id_ = b"" if envelope.id is UNSET else bytes(envelope.id)
        if envelope.method is not UNSET:
            self._asked(direction, envelope.method[:MAX_CHARACTERS], id_, len(text))
        else:
            self._answered(direction, envelope, id_, len(text))

    def _asked(self, direction: Literal["in", "out"], method: str, id_: bytes, size: int) -> None:
        if not id_:
            log.debug("%s %s %s, %d bytes", self._side, direction, method, size)
            return
        if len(self._open) >= MAX_OPEN:
            del self._open[next(iter(self._open))]
        self._open[direction, id_] = (method, time.monotonic())
        log.debug("%s %s %s id=%s, %d bytes", self._side, direction, method, _shown(id_), size)

    def _answered(self, direction: Literal["in", "out"], envelope: _Envelope, id_: bytes, size: int) -> None:
        method, begun = self._open.pop((OTHER[direction], id_), (None, 0.0))
        what = "result" if envelope.error is UNSET else f"error {_code(envelope.error)}"
        took = "" if method is None else f", {(time.monotonic() - begun) * 1000:.0f} ms"
        log.debug(
            "%s %s %s of %s id=%s, %d bytes%s",
            self._side,
            direction,
            what,
            method or "no request",
            _shown(id_),
            size,
            took,
        )


def _shown(id_: bytes) -> str:
    return id_[:MAX_CHARACTERS].decode("utf-8", "replace")


def _code(error: Raw) -> str:
    try:
        return str(_decode_error(error).code)
    except msgspec.DecodeError:
        return "without a code"
