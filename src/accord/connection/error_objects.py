"""Conversion of exceptions to JSON-RPC error objects and back: the one place for each direction.

Nothing internal crosses the wire. A `RequestError` that a handler raises is sent as it is; every other exception
becomes a generic -32603 whose `correlationId` finds the exception in the log. An error that came from the peer and was
not caught becomes a -32603 too: it answered our call, not the peer's.
"""

from __future__ import annotations

import logging
import os

from accord.errors import RequestError, request_error
from accord.jsonrpc.message import ErrorObject, RequestId
from accord.jsonrpc.serialize import error_text
from accord.protocol.salvage import Misfit

__all__ = [
    "CANCELLED",
    "error_answer",
    "internal_error",
    "invalid_params",
    "not_found",
    "raised",
    "refused",
    "serialize_error",
]

log = logging.getLogger("accord.connection")

CANCELLED = ErrorObject(-32800, "Request cancelled")


def refused(reason: str) -> ErrorObject:
    """-32600, with a sentence that says what to do instead."""
    return ErrorObject(-32600, reason)


def not_found(method: str) -> ErrorObject:
    """-32601: there is no handler."""
    return ErrorObject(-32601, "Method not found", {"method": method})


def invalid_params(misfit: Misfit) -> ErrorObject:
    """-32602 in our own words: the field, and the expected value."""
    return ErrorObject(-32602, "Invalid params", {"field": misfit.field, "expected": misfit.expected})


def internal_error(error: BaseException, doing: str) -> ErrorObject:
    """-32603: logs the exception under a fresh id; the answer has nothing but that id."""
    # Not uuid4: the import of uuid takes 2 ms of an agent's start, for an id that only has to be unique.
    correlation_id = os.urandom(16).hex()
    log.error("%s failed (correlation id %s)", doing, correlation_id, exc_info=error)
    return ErrorObject(-32603, "Internal error", {"correlationId": correlation_id})


def error_answer(error: BaseException, doing: str) -> ErrorObject:
    """The error response to a request whose handler raised."""
    if isinstance(error, RequestError) and not error.received:
        return ErrorObject(error.code, error.message, error.data)
    return internal_error(error, doing)


def raised(error: ErrorObject) -> RequestError:
    """The exception for a call that was answered with an error."""
    return request_error(error.code, error.message, error.data)


def serialize_error(id_: RequestId, error: ErrorObject, doing: str) -> bytes:
    """The answer as a text, also when its data cannot be written: then it is an internal error."""
    try:
        return error_text(id_, error)
    except (TypeError, ValueError, RecursionError) as problem:
        return error_text(id_, internal_error(problem, doing))
