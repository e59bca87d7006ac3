"""The direction of messages in a recording that names none, by the method tables and by open requests.

A method that one side serves comes from the other. A method that both serve, or that no edition has, is of the side
that used it last. An answer belongs to the oldest open request with its id; where both sides have one, to the one whose
result it fits. Otherwise the direction is unknown (`?`).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from accord.jsonrpc.message import Failure, Malformed, MessageRules, Notification, ParsedMessage, Request, Result
from accord.jsonrpc.parse import parse
from accord.protocol.codec import Codec
from accord.protocol.edition import EDITIONS
from accord.protocol.method import RequestMethod
from accord.protocol.salvage import Misfit

__all__ = ["UNKNOWN", "DirectionFinder", "Ends", "parsed"]

ANY_RULES = MessageRules(null_ids=True, batches=True)
"""The rules that accept the messages of every edition."""
UNKNOWN = "?"
MAX_OPEN_REQUESTS = 100_000
"""Requests beyond that are forgotten, the oldest first: a file is no reason for unbounded memory."""


class Ends(NamedTuple):
    """The side that sent a text and the one that received it."""

    source: str
    target: str


_BY_SERVER = {"agent": Ends("client", "agent"), "client": Ends("agent", "client")}
_NEITHER = Ends(UNKNOWN, UNKNOWN)


def parsed(text: bytes) -> list[ParsedMessage]:
    """The messages of a text, of any edition; several for a batch."""
    found = parse(text, ANY_RULES)
    return found if isinstance(found, list) else [found]


class _Open(NamedTuple):
    ends: Ends
    method: str


class DirectionFinder:
    """The directions of the messages of one recording, in their order."""

    def __init__(self) -> None:
        self._open: dict[tuple[type, Any], list[_Open]] = {}
        self._count = 0
        self._last_user: dict[str, Ends] = {}

    def find(self, text: bytes) -> Ends:
        """The ends of the next text; of a batch, those of its first message that has any."""
        found = [self._ends(message) for message in parsed(text)]
        return next((ends for ends in found if ends is not _NEITHER), _NEITHER)

    def _ends(self, message: ParsedMessage) -> Ends:
        match message:
            case Request():
                ends = self._by_method(message.method)
                self._opened(message.id, _Open(ends, message.method))
                return ends
            case Notification():
                return self._by_method(message.method)
            case Result():
                return self._answer(message.id, message.result)
            case Failure():
                return self._answer(message.id, None)
            case Malformed():
                return _NEITHER

    def _by_method(self, method: str) -> Ends:
        servers = _servers().get(method, frozenset())
        if len(servers) == 1:
            ends = _BY_SERVER[next(iter(servers))]
            self._last_user[method] = ends
            return ends
        return self._last_user.get(method, _NEITHER)

    def _opened(self, id_: Any, request: _Open) -> None:
        if self._count >= MAX_OPEN_REQUESTS:
            oldest = next(iter(self._open))
            self._count -= len(self._open.pop(oldest))
        self._open.setdefault((type(id_), id_), []).append(request)
        self._count += 1

    def _answer(self, id_: Any, result: Any) -> Ends:
        waiting = self._open.get((type(id_), id_), [])
        chosen = _chosen(waiting, result)
        if chosen is None:
            return _NEITHER
        waiting.remove(chosen)
        self._count -= 1
        if not waiting:
            del self._open[type(id_), id_]
        if chosen.ends is _NEITHER:
            return _NEITHER
        return Ends(chosen.ends.target, chosen.ends.source)


def _chosen(waiting: list[_Open], result: Any) -> _Open | None:
    if len({request.ends for request in waiting}) <= 1:
        return waiting[0] if waiting else None
    if result is None:
        return None
    fitting = [request for request in waiting if _fits(request, result)]
    return fitting[0] if len({request.ends for request in fitting}) == 1 else None


def _fits(request: _Open, result: Any) -> bool:
    for edition in EDITIONS:
        for server, ends in _BY_SERVER.items():
            row = edition.draft.request(server, request.method)  # type: ignore[arg-type]
            if row is not None and ends == request.ends and _is_result_of(row, result):
                return True
    return False


def _is_result_of(row: RequestMethod[Any, Any], result: Any) -> bool:
    try:
        Codec().decode(row.result, result)
    except Misfit:
        return False
    return True


@functools.cache
def _servers() -> dict[str, frozenset[str]]:
    """The sides that serve each method, in any edition or draft."""
    found: dict[str, set[str]] = {}
    for edition in EDITIONS:
        for row in (*edition.methods, *edition.draft.methods):
            sides = {"agent", "client"} if row.side == "both" else {row.side} & {"agent", "client"}
            found.setdefault(row.name, set()).update(sides)
    return {name: frozenset(sides) for name, sides in found.items()}
