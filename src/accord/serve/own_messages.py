"""The messages that this server reads itself: `initialize`, and those by which a client acknowledges and resumes.

`initialize` begins a connection, resumes one, or takes one over. The others (docs/remote-wire.md) reach no agent.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from accord.errors import InvalidRequest, ParseError, RequestError
from accord.jsonrpc.message import ErrorObject, Malformed, MessageRules
from accord.jsonrpc.parse import parse
from accord.jsonrpc.serialize import error_text
from accord.serve.connections import Connections
from accord.serve.message_text import RESUME, changed, params_of
from accord.serve.principals import Credentials, Principal
from accord.serve.remote_connection import RemoteConnection, log
from accord.transport.routing import Envelope, read_envelope

__all__ = [
    "OWN_PREFIX",
    "RECEIVED_METHOD",
    "RESUME_METHOD",
    "Introduction",
    "ReceivedTexts",
    "cursor_of",
    "malformed",
    "not_resumed",
    "read_introduction",
    "take_over",
    "with_id",
]

OWN_PREFIX = "_accord/"
RESUME_METHOD = "_accord/resume"
RECEIVED_METHOD = "_accord/received"
ACKNOWLEDGE_EVERY = 64

_MAX_DIGITS = 18
_RULES = MessageRules(null_ids=True, batches=False)


# --- `initialize`


class Introduction(NamedTuple):
    """An `initialize`."""

    message: Envelope
    params: dict[str, Any]
    resumes: str | None
    """The id of the connection that the client wants to take up again."""


def malformed(text: bytes) -> bytes | None:
    """The error answer to a text that is no JSON-RPC message; None if it is one."""
    message = parse(text, _RULES)
    if not isinstance(message, Malformed):
        return None
    error = message.error or ErrorObject(InvalidRequest.code, "Invalid request")
    return error_text(message.id, error)


def read_introduction(text: bytes) -> Introduction:
    """The first message of a connection.

    Raises:
        RequestError: It is no message, or no `initialize`.
    """
    message = read_envelope(text)
    if message.kind == "other":
        raise ParseError if parse(text, _RULES) == parse(b"", _RULES) else InvalidRequest
    if message.kind != "request" or message.method != "initialize":
        raise InvalidRequest("The first message must be initialize")
    params = params_of(text)
    meta = params.get("_meta")
    wanted = meta.get(RESUME) if isinstance(meta, dict) else None
    connection_id = wanted.get("connectionId") if isinstance(wanted, dict) else None
    return Introduction(message, params, connection_id if isinstance(connection_id, str) else None)


async def answered(connection: RemoteConnection, timeout_seconds: float) -> bytes | None:
    """The agent's answer to `initialize`; None if it did not answer in time or ended."""
    try:
        async with asyncio.timeout(timeout_seconds):
            return await asyncio.shield(connection.initialize_answer)
    except (TimeoutError, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None


def with_id(text: bytes, message: Envelope) -> bytes:
    """An answer under the id of another request."""
    return changed(text, id=message.id)


def error_answer(message: Envelope, error: RequestError) -> bytes:
    """The error answer to a request; the id is null where it had none."""
    return error_text(message.id, ErrorObject(error.code, error.message, error.data))


def has_fewer_capabilities(new: dict[str, Any], kept: dict[str, Any]) -> bool:
    """Whether a client lacks something that an earlier one declared in its `initialize`."""
    return any(_lacks(new.get(key), kept.get(key)) for key in ("clientCapabilities", "capabilities"))


def _lacks(new: Any, kept: Any) -> bool:
    if isinstance(kept, dict):
        return any(
            _lacks(new.get(key) if isinstance(new, dict) else None, value)
            for key, value in kept.items()
            if key != "_meta"
        )
    if kept in (None, False):
        return False
    if isinstance(kept, list):
        return not isinstance(new, list) or any(each not in new for each in kept)
    return bool(new != kept)


def take_over(
    connections: Connections,
    introduction: Introduction,
    principal: Principal,
    credentials: Credentials,
    connection_id: str,
    *,
    has_session_streams: bool = False,
) -> RemoteConnection | None:
    """The connection that goes on with a kept agent; None if there is none, or it speaks another version.

    It is for programs, whose sessions live in one process for each connection. The new client opens its sessions again,
    as after any reconnect; the process, its login and its running turns are still there.

    Raises:
        InvalidRequest: The agent was initialized by a client with more capabilities, and would use them.
    """
    orphan = connections.orphan(principal)
    if orphan is None:
        return None
    kept = orphan.initialize_params
    if introduction.params.get("protocolVersion") != kept.get("protocolVersion"):
        return None
    if has_fewer_capabilities(introduction.params, kept):
        message = "An agent of yours waits for a client with more capabilities"
        raise InvalidRequest(message, {"reason": "fewer_capabilities"})
    return connections.make_successor(
        orphan, credentials, has_session_streams=has_session_streams, connection_id=connection_id
    )


# --- acknowledgement and resumption


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
        """Take one text; returns the reply that is sent at once, if there is one."""
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
