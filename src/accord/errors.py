"""Every exception of Accord in one tree: whose fault it was, and what can be done now.

AccordError
├── TransportError                the link
│   ├── ConnectFailed             it never came up
│   ├── ConnectionLost            it was up and is gone: exit status, stderr tail
│   └── FrameError                bytes that are no text, or a text over the limit
├── ProtocolError
│   ├── LocalProtocolError        you: nothing was sent
│   │   └── BacklogExceeded       a handler's own call could not be served within the memory budget
│   └── RemoteProtocolError       the peer
├── NegotiationFailed             no edition that both sides speak
├── CallTimeout                   the peer did not answer in time (also a TimeoutError)
├── DeadlineExceeded              an agent took too long in one phase of its work (also a TimeoutError)
├── StoreError                    a session could not be kept or found
└── RequestError                  a JSON-RPC error object: raised to answer, caught when answered
    ├── ParseError -32700         ├── AuthRequired -32000
    ├── InvalidRequest -32600     ├── ResourceNotFound -32002
    ├── MethodNotFound -32601     ├── PermissionDenied -32003
    ├── InvalidParams -32602      ├── UnsupportedVersion -32022
    ├── InternalError -32603      ├── RateLimited -32029
    ├── RequestCancelled -32800   ├── ElicitationRequired -32042
    └── SessionInUse -32009

Facts are attributes; the text is for people. This module knows nothing of bytes, tasks or methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from accord.json_values import JsonValue

__all__ = [
    "AccordError",
    "AuthRequired",
    "BacklogExceeded",
    "CallTimeout",
    "ConnectFailed",
    "ConnectionLost",
    "DeadlineExceeded",
    "ElicitationRequired",
    "FrameError",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "LocalProtocolError",
    "MethodNotFound",
    "NegotiationFailed",
    "ParseError",
    "PermissionDenied",
    "ProtocolError",
    "RateLimited",
    "RemoteProtocolError",
    "RequestCancelled",
    "RequestError",
    "ResourceNotFound",
    "SessionInUse",
    "StoreError",
    "TransportError",
    "UnsupportedVersion",
    "request_error",
]


class AccordError(Exception):
    """The base of every exception that Accord raises on purpose."""


class TransportError(AccordError):
    """A failure of the link, not of the messages on it."""


class ConnectFailed(TransportError):
    """The link never came up: no such program, no permission to run it, a closed port, an address that refuses.

    `argv` is the command, where it is one; `status` the HTTP status of an address that answered.
    """

    def __init__(self, message: str, *, argv: tuple[str, ...] = (), status: int | None = None) -> None:
        super().__init__(message)
        self.argv = argv
        self.status = status


class ConnectionLost(TransportError):
    """The link is gone.

    `exit_status` is that of the agent process where there was one and it has ended (negative: the signal that killed
    it). `stderr_tail` is the end of what it wrote to stderr. `clean` says that the stream ended between two texts
    without a reported failure: the peer closed the link, or this side did. `unsent` says that nothing was sent, because
    the link was gone before.
    """

    def __init__(
        self,
        message: str = "the connection is closed",
        *,
        exit_status: int | None = None,
        stderr_tail: str = "",
        clean: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.exit_status = exit_status
        self.stderr_tail = stderr_tail
        self.clean = clean
        self.unsent: bool = False

    def __str__(self) -> str:
        parts = [self.message]
        if self.exit_status is not None:
            parts.append(f"exit status {self.exit_status}")
        tail = self.stderr_tail.strip()
        if tail:
            parts.append(f"stderr ended with:\n{tail}")
        return "; ".join(parts)


class FrameError(TransportError):
    """A frame that cannot be read any further: over the size limit, or a header without a length."""

    def __init__(self, message: str, *, limit_bytes: int | None = None) -> None:
        super().__init__(message)
        self.limit_bytes = limit_bytes


class ProtocolError(AccordError):
    """A rule of the protocol was broken."""


class LocalProtocolError(ProtocolError):
    """This program broke it; nothing was sent."""

    def __init__(self, message: str, *, field: str = "", expected: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.expected = expected


class BacklogExceeded(LocalProtocolError):
    """A handler waits for an answer while its own connection's backlog is full.

    The answer may stand behind more unhandled messages than the connection may hold (four times
    `max_backlog_bytes`). Handle updates faster, make the call outside the handler, or raise the budget.
    """


class RemoteProtocolError(ProtocolError):
    """The peer broke it: an answer that is no answer, a result of the wrong shape."""

    def __init__(self, message: str, *, field: str = "", expected: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.expected = expected


class NegotiationFailed(AccordError):
    """No edition that both sides speak.

    `answered` is the version the peer offered instead, where it offered one.
    """

    def __init__(self, message: str, *, answered: int | None = None) -> None:
        super().__init__(message)
        self.answered = answered


class CallTimeout(AccordError, TimeoutError):
    """The peer did not answer a call in time. The call was withdrawn where the edition has a message for that."""

    def __init__(self, method: str, timeout_seconds: float) -> None:
        super().__init__(f"no answer to {method} within {timeout_seconds:g} s")
        self.method = method
        self.timeout_seconds = timeout_seconds

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are made from the facts: the text alone is not what the constructor takes.
        return type(self), (self.method, self.timeout_seconds), self.__dict__


class DeadlineExceeded(AccordError, TimeoutError):
    """An agent took too long; `phase` says at what.

    `start`: from starting it to its answer to `initialize`. `first`: from a prompt to the first sign of life. `idle`:
    no sign of life in the middle of a turn. `turn`: the turn as a whole. `cancel`: the turn was cancelled and did not
    end.
    """

    def __init__(self, phase: str, seconds: float) -> None:
        super().__init__(f"the agent took longer than {seconds:g} s ({phase})")
        self.phase = phase
        self.seconds = seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.phase, self.seconds), self.__dict__


class StoreError(AccordError):
    """A session could not be kept, found or read back.

    `reason` is one of `unknown_session`, `session_exists`, `bad_cursor`, `unwritable` (an event that JSON cannot
    express), `unreadable` (a kept event that this version does not understand), `full`, `read_only`, `busy` (locked by
    another process for too long), `damaged`, `moved` (deleted, moved or replaced while it was open), `newer` (made by a
    later version), `foreign` (another program's file), `in_use` (another process owns the session), `not_owned` (this
    process lost it), `session_differs` (where it was to be copied to there is one of its id with more or fewer events),
    `no_locks` (the file system has none), `no_home` (the environment names no folder), `closed`, or `failed` for
    everything else; of PostgreSQL also `away` (it cannot be reached), `slow` (it did not answer in time), `denied` (it
    refuses the user), `bad_address` (of the connection string), `name_taken` (another process has the name of this
    node), `pooled` (a pooler in transaction mode, where the lease needs a connection of its own) and `missing_extra`
    (psycopg is not installed). `path` is the file, where there is one.
    """

    def __init__(
        self, message: str, *, reason: str = "failed", path: str | None = None, session_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.path = path
        self.session_id = session_id


class RequestError(AccordError):
    """A JSON-RPC error object.

    Raise one in a handler to answer a request with exactly that code, message and data; catch one when a call was
    answered so. `received` is True for an error that came from the peer: uncaught, it is not passed on as an answer.
    """

    code: int = -32603
    default_message: ClassVar[str] = "The request failed"

    def __init__(
        self, message: str = "", data: JsonValue = None, *, code: int | None = None, received: bool = False
    ) -> None:
        self.message: str = message or self.default_message
        self.data = data
        self.received = received
        if code is not None:
            self.code = code
        super().__init__(self.message)

    @classmethod
    def from_answer(cls, code: int, message: str, data: JsonValue = None) -> Self:
        """The exception for a received error object, independent of a subclass's own constructor."""
        error = cls.__new__(cls)
        RequestError.__init__(error, message, data, code=code, received=True)
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are made from the facts: classes differ in what their constructors take.
        return _remake, (type(self), self.__dict__)

    def __str__(self) -> str:
        text = f"{self.message} ({self.code})"
        return text if self.data is None else f"{text}: {self.data!r}"


def _remake(kind: type[RequestError], facts: dict[str, Any]) -> RequestError:
    error = kind.from_answer(kind.code, facts["message"])
    error.__dict__.clear()
    error.__dict__.update(facts)
    return error


class ParseError(RequestError):
    """-32700: what was received is not JSON."""

    code = -32700
    default_message = "Parse error"


class InvalidRequest(RequestError):
    """-32600: JSON, but no JSON-RPC message, or one that is not allowed in this state."""

    code = -32600
    default_message = "Invalid request"


class MethodNotFound(RequestError):
    """-32601: the peer has no handler for this method; `method` names it."""

    code = -32601
    default_message = "Method not found"

    @property
    def method(self) -> str | None:
        """The method without a handler, if the answer names it."""
        return _text_of(self.data, "method")


class InvalidParams(RequestError):
    """-32602: invalid parameters; `field` says where, `expected` which value was expected."""

    code = -32602
    default_message = "Invalid params"

    @property
    def field(self) -> str | None:
        """Where the parameters went wrong, as a dotted path."""
        return _text_of(self.data, "field")

    @property
    def expected(self) -> str | None:
        """A description of the expected value."""
        return _text_of(self.data, "expected")


class InternalError(RequestError):
    """-32603: the other side failed; `correlation_id` finds the reason in its log."""

    code = -32603
    default_message = "Internal error"

    @property
    def correlation_id(self) -> str | None:
        """The id under which the log of the failed side has the exception."""
        return _text_of(self.data, "correlationId")


class RequestCancelled(RequestError):
    """-32800: the request was cancelled before it was done."""

    code = -32800
    default_message = "Request cancelled"


class AuthRequired(RequestError):
    """-32000: log in first; `auth_methods` are the ways offered, as the wire had them.

    An agent that raises it need name no methods: those it offers are filled in.
    """

    code = -32000
    default_message = "Authentication required"

    def __init__(self, message: str = "", auth_methods: Sequence[JsonValue] | None = None) -> None:
        data: dict[str, Any] = {"reason": "auth_required"}
        if auth_methods is not None:
            data["authMethods"] = list(auth_methods)
        super().__init__(message, data)

    @property
    def auth_methods(self) -> list[JsonValue]:
        """The offered ways to log in; empty if the answer named none."""
        methods = self.data.get("authMethods") if isinstance(self.data, Mapping) else None
        return list(methods) if isinstance(methods, list) else []


class ResourceNotFound(RequestError):
    """-32002: no such session, file or other thing."""

    code = -32002
    default_message = "Resource not found"


class PermissionDenied(RequestError):
    """-32003: not allowed; `scope` names the permission that was missing."""

    code = -32003
    default_message = "Permission denied"

    def __init__(self, scope: str | None = None, message: str = "") -> None:
        data = {"reason": "permission_denied"}
        super().__init__(message, data if scope is None else {**data, "scope": scope})

    @property
    def scope(self) -> str | None:
        """The permission that was missing."""
        return _text_of(self.data, "scope")


class UnsupportedVersion(RequestError):
    """-32022: none of the versions the agent has fits the one that was asked for."""

    code = -32022
    default_message = "Unsupported protocol version"

    @property
    def supported(self) -> list[int]:
        """The versions the agent has."""
        versions = self.data.get("supported") if isinstance(self.data, Mapping) else None
        return [v for v in versions if type(v) is int] if isinstance(versions, list) else []


class RateLimited(RequestError):
    """-32029: too much, too fast; `retry_after` is in seconds."""

    code = -32029
    default_message = "Rate limited"

    def __init__(self, retry_after: float | None = None, message: str = "") -> None:
        data: dict[str, Any] = {"reason": "rate_limited"}
        super().__init__(message, data if retry_after is None else {**data, "retryAfter": retry_after})

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next try, if the answer says so."""
        seconds: Any = self.data.get("retryAfter") if isinstance(self.data, Mapping) else None
        # A peer may send any JSON here: a bool, a negative number, a number larger than any float.
        return float(seconds) if type(seconds) in (int, float) and 0 <= seconds < 2**63 else None


class ElicitationRequired(RequestError):
    """-32042: the user must visit an address first. Only June's unstable text has it."""

    code = -32042
    default_message = "The user must act first"


class SessionInUse(RequestError):
    """-32009: another process of the agent has the session open, and alone may write to it until it ends."""

    code = -32009
    default_message = "The session is open in another process: close it there and try again"

    def __init__(self, session_id: str | None = None, message: str = "") -> None:
        data = {"reason": "session_in_use"}
        super().__init__(message, data if session_id is None else {**data, "sessionId": session_id})

    @property
    def session_id(self) -> str | None:
        """The session, if the answer names it."""
        return _text_of(self.data, "sessionId")


_BY_CODE: dict[int, type[RequestError]] = {int(kind.code): kind for kind in RequestError.__subclasses__()}

_BY_REASON: dict[str, type[RequestError]] = {
    "auth_required": AuthRequired,
    "rate_limited": RateLimited,
    "permission_denied": PermissionDenied,
    "session_in_use": SessionInUse,
}


def request_error(code: int, message: str, data: Any = None) -> RequestError:
    """The exception for a received error object.

    `data.reason` decides first: servers put the same reason under different codes. Then the code. An unknown code gives
    a plain `RequestError`.
    """
    reason = _text_of(data, "reason")
    kind = _BY_REASON.get(reason) if reason is not None else None
    if kind is None:
        kind = _BY_CODE.get(code, RequestError)
    return kind.from_answer(code, message, data)


def _text_of(data: Any, key: str) -> str | None:
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, str) else None
