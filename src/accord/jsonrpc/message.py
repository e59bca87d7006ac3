"""The kinds of message: request, notification, result, error, and malformed text with the error that answers it.

`params`, `result` and `error.data` stay undecoded JSON: their types belong to `accord.protocol`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

__all__ = [
    "ErrorObject",
    "Failure",
    "Malformed",
    "MessageRules",
    "Notification",
    "ParsedMessage",
    "Request",
    "RequestId",
    "Result",
    "named_id",
]

RequestId: TypeAlias = int | str | None
"""Compared by type and value: `1` and `"1"` are two ids. Fractions and booleans are none."""


def named_id(value: Any) -> Any:
    """The id that a peer means where it names one of ours: `3.0` is `3`.

    JSON-RPC 2.0, 5: the id of an answer is "the same as the value of the id member in the Request". JSON has one type
    of number, and some encoders write all of them with a fraction; the string `"3"` is another value.
    """
    return int(value) if type(value) is float and value.is_integer() else value


JsonText: TypeAlias = bytes | msgspec.Raw


class MessageRules(msgspec.Struct, frozen=True):
    """The deviations that an edition allows beyond the common core."""

    null_ids: bool = True
    """Whether a request may have the id null; it is answered with that id."""
    batches: bool = False
    """Whether a JSON array is a batch. Otherwise it gets one error and nothing in it is done."""


class Request(msgspec.Struct, frozen=True):
    """A message that must be answered exactly once."""

    id: RequestId
    method: str
    params: JsonText | None


class Notification(msgspec.Struct, frozen=True):
    """A message that is never answered."""

    method: str
    params: JsonText | None


class Result(msgspec.Struct, frozen=True):
    id: RequestId
    result: JsonText


class ErrorObject(msgspec.Struct, frozen=True):
    """The peer's reason why a call failed."""

    code: int
    message: str
    data: Any = None


class Failure(msgspec.Struct, frozen=True):
    """The answer to a call that failed; `id` is null where the peer could not read the call's id."""

    id: RequestId
    error: ErrorObject


class Malformed(msgspec.Struct, frozen=True):
    """A text that is no message.

    `error` is what to answer it with, under `id`; None where it must not be answered, because it is a notification or
    looked like an answer. In the latter case `id` is the call that it failed to answer, if it named one.
    """

    reason: str
    error: ErrorObject | None = None
    id: RequestId = None


ParsedMessage: TypeAlias = Request | Notification | Result | Failure | Malformed
