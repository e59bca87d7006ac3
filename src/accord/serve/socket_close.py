"""The close codes of a WebSocket: those that the server sends, and what those of a client mean."""

from __future__ import annotations

__all__ = ["close_code", "is_fault", "is_finished"]

_FINISHED, _NO_CODE = 1000, 1005
# Closes for what the client did: the log names them.
_FAULTS = frozenset({1002, 1003, 1007, 1008, 1009, 1010, 1011})
_CODES = {
    "the server ends": 1012,
    "its token was revoked": 1008,
    "its token expired": 1008,
    "its root was changed": 1008,
    "its client does not read": 1008,
    "the client closed it": 1000,
}


def close_code(end_reason: str) -> int:
    """The code of a connection that has ended for this reason."""
    return _CODES.get(end_reason, 1011)


def is_finished(code: int, reason: str | None) -> bool:
    """Whether a client closed its connection for good; `reason` is None where no close frame came.

    A close frame without a code is as deliberate as one with 1000; a lost socket has no reason.
    """
    return code == _FINISHED or (code == _NO_CODE and reason is not None)


def is_fault(code: int) -> bool:
    """Whether the socket was closed for something that the client did."""
    return code in _FAULTS
