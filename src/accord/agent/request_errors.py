"""The mapping of exceptions to an agent's error responses; the only place that does this.

A `RequestError` of an author is sent unchanged. Errors of the store and the workspace have a code and a sentence with
advice. Every other exception is logged and not sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accord.connection.error_objects import error_answer
from accord.errors import (
    AuthRequired,
    InternalError,
    InvalidParams,
    RequestError,
    ResourceNotFound,
    SessionInUse,
    StoreError,
)
from accord.session.capability import AuthMethod
from accord.session.event import WorkError
from accord.workspace.errors import WorkspaceError

__all__ = [
    "DRAINING",
    "SESSION_LOST",
    "answerable",
    "client_reason",
    "drained",
    "draining",
    "lost_session",
    "store_error",
    "unknown_session",
    "work_error",
]

# Advice for the user when the store cannot keep a session. The path is in the log only.
_REMEDIES = {
    "full": "The disk that keeps the sessions is full: free some space and try again",
    "read_only": "The sessions' database is read-only: give the agent a place where it may write",
    "busy": "The sessions' database is in use by another process for too long: try again",
    "damaged": "The sessions' database is damaged: move the file away, the agent will make a new one",
    "moved": "The sessions' database was deleted, moved or replaced: put it back, or restart the agent",
    "newer": "The sessions' database was made by a newer version of this agent: update it",
    "foreign": "The file for the sessions' database belongs to another program: give the agent another path",
    "no_locks": "The sessions' database is on a file system that cannot lock files: give the agent a local disk",
    "away": "The sessions' database cannot be reached: try again; loading the session shows what was kept",
    "slow": "The sessions' database did not answer in time: try again; loading the session shows what was kept",
    "denied": "The sessions' database refuses this agent: its operator must check the user and the password",
    "closed": "The agent is shutting down",
    "unwritable": "Something in this session cannot be written down as JSON",
    "lost": "This machine lost the session: load or resume it, and prompt again",
    "unreadable": "Something in this session was kept by a newer version of this agent: update it",
}


DRAINING = "draining"
"""The `reason` of requests that a server does not begin, because it is about to end."""
SESSION_LOST = "session_lost"
"""The `reason` where a session was open until its process lost it, or gave it to another one."""


def unknown_session(session_id: str) -> ResourceNotFound:
    """-32002, as every edition wants it for a session that is not open here."""
    return ResourceNotFound("There is no such session: open it with session/new first", {"sessionId": session_id})


def lost_session(session_id: str) -> ResourceNotFound:
    """-32002 for a session that was open here until this process lost it; it may be opened again."""
    message = "This session is not open here any more: load or resume it"
    return ResourceNotFound(message, {"sessionId": session_id, "reason": SESSION_LOST})


def draining(session_id: str | None) -> ResourceNotFound:
    """-32002 for a prompt, or a session to be opened, at a server that is about to end: nothing was done."""
    message = "This server is about to end: connect again, load the session there and repeat the request"
    return ResourceNotFound(message, {"sessionId": session_id, "reason": DRAINING})


def drained(*, asks: bool) -> InternalError:
    """-32603 for a turn that did not end before its server did."""
    what = "the turn waited for an answer" if asks else "the turn was over"
    return InternalError(f"The server ended {'while' if asks else 'before'} {what}", {"reason": "drained"})


def store_error(error: StoreError, session_id: str | None = None) -> RequestError:
    if error.reason == "unknown_session":
        return unknown_session(session_id or error.session_id or "")
    if error.reason == "in_use":
        return SessionInUse(session_id or error.session_id)
    if error.reason == "not_owned":
        return lost_session(session_id or error.session_id or "")
    if error.reason == "bad_cursor":
        return InvalidParams("This cursor is not one of this agent's", {"field": "cursor", "expected": "a nextCursor"})
    message = _REMEDIES.get(error.reason, "The session could not be kept")
    return InternalError(message, {"reason": f"store_{error.reason}"})


def answerable(error: Exception, methods: Sequence[AuthMethod] = ()) -> Exception:
    """The exception that may answer a request; an exception without such a form is returned unchanged."""
    if isinstance(error, AuthRequired) and not error.received and "authMethods" not in error.data:
        return AuthRequired(error.message, [_auth_method(method) for method in methods])
    if isinstance(error, StoreError):
        return store_error(error)
    if isinstance(error, WorkspaceError):
        return RequestError(f"{str(error)[:1].upper()}{str(error)[1:]}", code=error.code)
    return error


MAX_REASON = 500
# Where clients put the sentence that says what happened: the official SDKs under `details`, others elsewhere.
_DETAILS = ("details", "detail", "message", "reason", "error")


def client_reason(error: RequestError) -> str:
    """The reason that a client gave for its error: the message, and the details where its data have some."""
    data = error.data
    if isinstance(data, dict):
        data = next((data[key] for key in _DETAILS if isinstance(data.get(key), str)), None)
    details = data.strip()[:MAX_REASON] if isinstance(data, str) else ""
    if not details or details in error.message:
        return error.message
    return f"{error.message}: {details}"


def work_error(error: Exception, methods: Sequence[AuthMethod] = ()) -> WorkError:
    """The same for a turn that failed."""
    answer = error_answer(answerable(error, methods), "a prompt handler")
    return WorkError(answer.code, answer.message, answer.data)


def _auth_method(method: AuthMethod) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": method.id, "name": method.name, "type": method.type}
    return fields if method.description is None else {**fields, "description": method.description}
