"""One row of an edition's method table: a name, who serves it, what it takes and gives, and its gate.

Rows are also the handles of typed calls: `await connection.call(v1.SESSION_NEW, v1.NewSessionRequest(...))` gives a
`NewSessionResponse`. This module knows no edition.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeAlias, TypeVar

from accord.jsonrpc.serialize import notification_head

__all__ = ["Method", "NotificationMethod", "RequestMethod", "Side"]

Side: TypeAlias = Literal["agent", "client", "both", "proxy"]
"""Who serves a method."""

P = TypeVar("P")
R_co = TypeVar("R_co", covariant=True)


class RequestMethod(Generic[P, R_co]):
    """A method that is answered.

    `gate` is the path of the capability, inside those of the side that serves the method, without which it must not
    be called; empty if it is always there.
    """

    __slots__ = ("gate", "name", "params", "result", "side")

    def __init__(self, name: str, side: Side, params: type[P], result: type[R_co], *, gate: str = "") -> None:
        self.name = name
        """The name on the wire."""
        self.side = side
        """Who serves it."""
        self.params: Any = params
        """The type of the parameters."""
        self.result: Any = result
        """The type of the result."""
        self.gate = gate
        """The capability that it needs."""

    def __repr__(self) -> str:
        return f"<request {self.name}>"


class NotificationMethod(Generic[P]):
    """A method that is not answered; `gate` as in `RequestMethod`, `head` is all of its texts before their params."""

    __slots__ = ("gate", "head", "name", "params", "side")

    def __init__(self, name: str, side: Side, params: type[P], *, gate: str = "") -> None:
        self.name = name
        """The name on the wire."""
        self.side = side
        """Who takes it."""
        self.params: Any = params
        """The type of the parameters."""
        self.gate = gate
        """The capability that it needs."""
        self.head: bytes = notification_head(name)
        """The text of a message up to its parameters."""

    def __repr__(self) -> str:
        return f"<notification {self.name}>"


Method: TypeAlias = RequestMethod[Any, Any] | NotificationMethod[Any]
"""A row of an edition's table of methods."""
