"""The messages of docs/remote-wire.md, by which a client and this server acknowledge and resume: no agent gets them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from accord.errors import InvalidRequest
from accord.jsonrpc.message import ErrorObject
from accord.jsonrpc.serialize import error_text
from accord.serve.introduction import error_answer, malformed
from accord.serve.message_text import params_of
from accord.serve.remote_connection import RemoteConnection, log
from accord.transport.routing import Envelope, read_envelope

__all__ = ["OWN_PREFIX", "RECEIVED_METHOD", "RESUME_METHOD", "DirectReply", "ReceivedTexts", "cursor_of", "not_resumed"]

OWN_PREFIX = "_accord/"
RESUME_METHOD = "_accord/resume"
RECEIVED_METHOD = "_accord/received"
ACKNOWLEDGE_EVERY = 64

_MAX_DIGITS = 18


class DirectReply(NamedTuple):
    """A text for the client that is in none of its streams; `refusal` says why its socket is closed then."""

    text: bytes
    refusal: str = ""


class ReceivedTexts:
    """The texts of one socket, behind `initialize`: they go to the agent, or are answered here."""

    __slots__ = ("_connection", "_unacknowledged")

    def __init__(self, connection: RemoteConnection) -> None:
        self._connection = connection
        self._unacknowledged = 0

    def take(self, text: bytes) -> DirectReply | None:
        """Take one text; what has to be said at once."""
        connection, message = self._connection, read_envelope(text)
        if message.kind == "other":
            connection.refuse_text(malformed(text) or error_answer(message, InvalidRequest()))
            return None
        if message.method.startswith(OWN_PREFIX):
            return self._own(text, message)
        connection.receive(text, message)
        self._unacknowledged += 1
        if self._unacknowledged < ACKNOWLEDGE_EVERY or not connection.streams.acknowledges:
            return None
        self._unacknowledged = 0
        params = {"cursor": str(connection.received)}
        return DirectReply(json.dumps({"jsonrpc": "2.0", "method": RECEIVED_METHOD, "params": params}).encode())

    def _own(self, text: bytes, message: Envelope) -> DirectReply | None:
        """A message of docs/remote-wire.md: it is not counted, and the agent does not get it."""
        if message.method == RECEIVED_METHOD:
            cursor = cursor_of(params_of(text).get("cursor"))
            if cursor is not None:
                self._connection.acknowledge(None, cursor)
        elif message.method == RESUME_METHOD:
            name = self._connection.principal.name
            log.info("refused a socket of %s: the connection to be resumed is not known", name)
            return DirectReply(not_resumed(message, "unknown"), "not resumed")
        elif message.kind == "request":
            return DirectReply(error_text(message.id, ErrorObject(-32601, "Method not found")))
        return None


def cursor_of(value: Any) -> int | None:
    """The number of a cursor; None if it is none of ours."""
    return (
        int(value)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS
        else None
    )


def not_resumed(message: Envelope, reason: str) -> bytes:
    """The answer to a client whose connection cannot be taken up again."""
    error = ErrorObject(-32002, "The connection cannot be taken up again", {"reason": reason})
    return error_text(message.id, error)
