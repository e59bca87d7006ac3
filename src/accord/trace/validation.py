"""Each message of a trace against the types of its edition, as the protocol reads them.

A message that fits only because the schema excuses a value (its leniency marks) is tolerated, not wrong. Unknown
variants are no fault: enums and unions are read open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from accord.jsonrpc.message import Failure, Malformed, Notification, ParsedMessage, Request, Result
from accord.jsonrpc.parse import parse
from accord.protocol.codec import Codec
from accord.protocol.edition import Edition
from accord.protocol.method import Side
from accord.protocol.salvage import Misfit
from accord.trace.conversation import TraceEditions
from accord.trace.index import TraceIndex
from accord.trace.index_columns import RecordKind

__all__ = ["MessageFinding", "validate_messages"]

Severity: TypeAlias = Literal["wrong", "tolerated"]
_SERVED: dict[str, Side] = {"client": "agent", "agent": "client"}
"""The side that serves the messages of an end."""


class MessageFinding(NamedTuple):
    """One fault of a message, or one value that its reader tolerates."""

    row: int
    severity: Severity
    message: str
    field: str = ""
    """The place in the params or the result."""


def validate_messages(index: TraceIndex, rows: Iterable[int] | None = None) -> Iterator[MessageFinding]:
    """The findings on some rows of a trace, in order; on all unless given."""
    editions = TraceEditions(index)
    for row in range(len(index)) if rows is None else rows:
        kind = index.kind(row)
        if kind in _TEXTS:
            edition = editions.edition(index.connection(row))
            yield from _text(index, row, edition)


_TEXTS = frozenset(
    {
        RecordKind.REQUEST,
        RecordKind.NOTIFICATION,
        RecordKind.RESULT,
        RecordKind.ERROR,
        RecordKind.BROKEN,
        RecordKind.BATCH,
    }
)


def _text(index: TraceIndex, row: int, edition: Edition) -> Iterator[MessageFinding]:
    found = parse(index.record(row).raw, edition.rules)
    for message in found if isinstance(found, list) else [found]:
        yield from _message(index, row, edition, message)


def _message(index: TraceIndex, row: int, edition: Edition, message: ParsedMessage) -> Iterator[MessageFinding]:
    match message:
        case Malformed():
            yield MessageFinding(row, "wrong", message.reason)
        case Request() | Notification():
            yield from _call(index, row, edition, message)
        case Result():
            asked = index.partner(row)
            if asked is None:
                yield MessageFinding(row, "wrong", "it answers no request that is in the trace")
                return
            side = _side(index, asked)
            method = None if side is None else edition.request(side, index.method(asked))
            if method is not None:
                yield from _fits(row, method.result, message.result, f"the result of {method.name}")
        case Failure():
            if index.partner(row) is None and message.id is not None:
                yield MessageFinding(row, "wrong", "it answers no request that is in the trace")


def _side(index: TraceIndex, row: int) -> Side | None:
    """The side that serves the message of a row; None between proxies."""
    source, target = index.ends(row)
    if source in _SERVED:
        return _SERVED[source]
    return next((side for end, side in _SERVED.items() if side == target), None)


def _call(index: TraceIndex, row: int, edition: Edition, message: Request | Notification) -> Iterator[MessageFinding]:
    side = _side(index, row)
    if side is None or _is_other_version(edition, message):
        return
    is_request = isinstance(message, Request)
    method: Any = (edition.request if is_request else edition.notification)(side, message.method)
    if method is None:
        other = edition.notification(side, message.method) if is_request else edition.request(side, message.method)
        if other is not None:
            form = (
                "a notification that was sent as a request" if is_request else "a request that was sent without an id"
            )
            yield MessageFinding(row, "wrong", f"{message.method} is {form}")
        elif not message.method.startswith(("_", "$/")):
            yield MessageFinding(row, "wrong", f"{edition.name} has no {message.method} that the {side} serves")
        return
    yield from _fits(row, method.params, message.params or b"{}", f"the params of {method.name}")


def _is_other_version(edition: Edition, message: Request | Notification) -> bool:
    """Whether it is a handshake for another version than the one that was agreed on: it has another shape."""
    if message.method != edition.initialize.name:
        return False
    try:
        asked: Any = Codec().decode(dict[str, Any], message.params or b"{}")
    except Misfit:
        return False
    return bool(asked.get("protocolVersion") != edition.version)


def _fits(row: int, kind: Any, text: Any, what: str) -> Iterator[MessageFinding]:
    codec = Codec()
    try:
        codec.decode(kind, text)
    except Misfit as misfit:
        where = f"{misfit.field} in {what}" if misfit.field else what
        yield MessageFinding(row, "wrong", f"{where} does not fit: expected {misfit.expected}", misfit.field)
        return
    if codec.dropped:
        yield MessageFinding(row, "tolerated", f"{codec.dropped} values in {what} were dropped, as the schema allows")
