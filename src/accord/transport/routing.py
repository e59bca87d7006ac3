"""The routing of messages to streams of streamable HTTP, for both sides: tables and two state machines, without I/O.

The text of this transport is still a draft, and servers differ; everything that depends on it is here. A stream is
named by its session's id; None is the connection stream. Other transports have one stream and need no routes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.message import RequestId

__all__ = [
    "BEGINNING_METHODS",
    "CLOSING_METHODS",
    "NEW_METHOD",
    "OPENING_METHODS",
    "PROMPT_METHOD",
    "RESUME_METHOD",
    "ClientRoutes",
    "Envelope",
    "ServerRoutes",
    "SessionChange",
    "Stream",
    "read_agent_envelope",
    "read_envelope",
    "read_updates",
]

Stream: TypeAlias = str | None
"""The id of the session whose stream it is; None for the connection stream."""

CONNECTION_METHODS = frozenset({"initialize", "authenticate", "auth/login", "logout", "session/new", "session/list"})
"""Requests of the connection, also where their params name a session; so is every method that begins with `$/`."""

OPENING_METHODS = frozenset({"session/load", "session/resume", "session/fork"})
"""Requests that replay a session: the replay and the answer take one stream, in order."""

CREATING_METHODS = frozenset({"session/new", "session/fork"})
"""Requests whose answer names a session that the client did not know."""

CLOSING_METHODS = frozenset({"session/close", "session/delete"})
"""Requests after which there is nothing more to read of a session."""

NEW_METHOD = "session/new"
PROMPT_METHOD = "session/prompt"
RESUME_METHOD = "session/resume"
BEGINNING_METHODS = OPENING_METHODS | CREATING_METHODS | {PROMPT_METHOD}
"""Requests that begin something, which a server that is about to end refuses."""

_KEPT_METHODS = OPENING_METHODS | CREATING_METHODS | CLOSING_METHODS

# An update begins like this in nearly every implementation; matching it costs a tenth of decoding the text.
_UPDATE_HEAD = re.compile(
    rb'\{"jsonrpc":"2\.0","method":"(session/update)","params":\{"sessionId":"([!#-\[\]-~]{1,128})"[,}]'
)


class Envelope(NamedTuple):
    """The facts of one text that routing needs."""

    kind: Literal["request", "notification", "answer", "other"]
    """`other` is everything that is no JSON-RPC object: broken JSON, an array, a scalar."""
    id: RequestId = None
    method: str = ""
    session_id: str | None = None
    """`params.sessionId`, or `result.sessionId` of an answer, where it is a string."""
    is_error: bool = False
    """Whether it is an answer with an error."""


class SessionChange(NamedTuple):
    """A session is open from now on, or is not any more."""

    session_id: str
    is_open: bool


class _Scope(Struct, rename="camel"):
    session_id: str | UnsetType = UNSET


class _Message(Struct):
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: _Scope | UnsetType | None = UNSET
    result: _Scope | UnsetType | None = UNSET
    error: msgspec.Raw | UnsetType = UNSET


_decode_message = msgspec.json.Decoder(_Message).decode
_OTHER = Envelope("other")
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_agent_envelope(text: bytes | bytearray) -> Envelope:
    """The envelope of a text that an agent sent: the beginning of an update is enough.

    Never for a client's text at a host: behind the beginning of an update may be a second `method`, which counts.
    """
    head = _UPDATE_HEAD.match(text)
    if head is not None:
        return Envelope("notification", method="session/update", session_id=head[2].decode("ascii"))
    return read_envelope(text)


def read_updates(texts: Sequence[bytes | bytearray]) -> Envelope | None:
    """The one envelope of updates of one session, as `read_agent_envelope` reads each; None if they are not alike."""
    first = texts[0]
    head = _UPDATE_HEAD.match(first)
    if head is None:
        return None
    begin = bytes(first[: head.end()])
    for text in texts:
        if not text.startswith(begin):
            return None
    return Envelope("notification", method="session/update", session_id=head[2].decode("ascii"))


def read_envelope(text: bytes | bytearray) -> Envelope:
    """The envelope of a text; never raises. Of members with one name the last counts, as for nearly every reader."""
    try:
        message = _decode_message(text)
    except _REFUSED:
        return _read_odd(text)
    if isinstance(message.method, str):
        session_id = message.params.session_id if isinstance(message.params, _Scope) else UNSET
        return _asked(message.id, message.method, session_id)
    if message.result is UNSET and message.error is UNSET:
        return _OTHER
    session_id = message.result.session_id if isinstance(message.result, _Scope) else UNSET
    return _answered(message.id, session_id, is_error=message.error is not UNSET)


def _read_odd(text: bytes | bytearray) -> Envelope:
    """A text that the typed decode refuses: a key has a strange type, or a string half of a surrogate pair."""
    try:
        message: Any = json.loads(text)
    except (ValueError, RecursionError):
        return _OTHER
    if not isinstance(message, dict):
        return _OTHER
    method, id_ = message.get("method"), message.get("id", UNSET)
    if isinstance(method, str):
        return _asked(id_, method, _string_in(message.get("params")))
    if "result" not in message and "error" not in message:
        return _OTHER
    return _answered(id_, _string_in(message.get("result")), is_error="error" in message)


def _asked(id_: Any, method: str, session_id: Any) -> Envelope:
    session = session_id if isinstance(session_id, str) else None
    if id_ is UNSET:
        return Envelope("notification", method=method, session_id=session)
    return Envelope("request", id_ if type(id_) in (int, str) else None, method, session)


def _answered(id_: Any, session_id: Any, *, is_error: bool) -> Envelope:
    session = session_id if isinstance(session_id, str) else None
    return Envelope("answer", id_ if type(id_) in (int, str) else None, "", session, is_error)


def _string_in(value: Any) -> str | None:
    session_id = value.get("sessionId") if isinstance(value, dict) else None
    return session_id if isinstance(session_id, str) else None


def scope_of(message: Envelope) -> Stream:
    """The session that a request or a notification belongs to, by its method and its params."""
    if message.method in CONNECTION_METHODS or message.method.startswith("$/"):
        return None
    return message.session_id


class ServerRoutes:
    """The stream of every message that a server sends on one connection.

    Call `received` for every message of the client, in the order in which they take effect, and `stream_of` for every
    message of the agent, in order. It remembers one entry per open request.
    """

    def __init__(self) -> None:
        self._answers: dict[RequestId, tuple[Stream, Stream]] = {}
        """Of each open request: the stream of its answer, and the session that it opens."""
        self._opening: dict[str, list[Stream]] = {}
        """The streams of the calls that open a session just now: its replay takes that of the first."""

    def received(self, message: Envelope, *, header: str | None = None, has_reader: bool = False) -> None:
        """Take a message of the client; `header` is its `Acp-Session-Id`.

        `has_reader` says whether the stream of its session is being read: known servers and clients disagree on which
        stream a replay takes, and all clients accept the session's stream if they read it and the connection's if not.
        """
        if message.kind != "request":
            return
        session = scope_of(message)
        if session is None and message.method not in CONNECTION_METHODS and not message.method.startswith("$/"):
            session = header
        if message.method not in OPENING_METHODS or session is None:
            self._answers[message.id] = (session, None)
            return
        stream = session if has_reader else None
        self._answers[message.id] = (stream, session)
        self._opening.setdefault(session, []).append(stream)

    def stream_of(self, message: Envelope) -> Stream:
        """The stream on which a message of the agent has to be sent; ask once per message."""
        if message.kind == "answer":
            return self._answered(message.id)
        if message.kind == "other":
            return None
        session = scope_of(message)
        if session is not None and session in self._opening:
            return self._opening[session][0]
        return session

    def _answered(self, id_: RequestId) -> Stream:
        stream, opened = self._answers.pop(id_, (None, None))
        if opened is not None:
            streams = self._opening[opened]
            streams.remove(stream)
            if not streams:
                del self._opening[opened]
        return stream


class ClientRoutes:
    """The `Acp-Session-Id` of every message that a client sends on one connection; and the sessions that it opens."""

    def __init__(self) -> None:
        self._questions: dict[RequestId, str] = {}
        """The sessions of the server's open requests."""
        self._calls: dict[RequestId, tuple[str, Stream]] = {}
        """The methods and sessions of the client's open requests which open, create or close a session."""

    def session_of(self, message: Envelope) -> Stream:
        """The session that a message of the client belongs to; ask once per message."""
        if message.kind == "answer":
            return self._questions.pop(message.id, None)
        session = scope_of(message)
        if message.kind == "request" and message.method in _KEPT_METHODS:
            self._calls[message.id] = (message.method, session)
        return session

    def received(self, message: Envelope) -> SessionChange | None:
        """Take a message of the server; returns the session that it opens or ends, if there is one."""
        if message.kind == "request":
            session = scope_of(message)
            if session is not None:
                self._questions[message.id] = session
        elif message.kind == "answer":
            method, session = self._calls.pop(message.id, ("", None))
            if method in CREATING_METHODS:
                session = message.session_id
            if session is not None and not message.is_error:
                return SessionChange(session, is_open=method not in CLOSING_METHODS)
        return None
