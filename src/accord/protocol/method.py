"""One row of an edition's method table: a name, the serving side, and the types of params and result.

Rows are also the handles of typed calls: `await connection.call(v1.SESSION_NEW, v1.NewSessionRequest(...))` gives a
`NewSessionResponse`. The capability that a method needs is in the dialect (`Binding.needs`). This module is independent
of any edition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from accord.jsonrpc.serialize import notification_head

__all__ = ["Method", "NotificationMethod", "RequestMethod", "Side", "drafted", "rows"]

Side: TypeAlias = Literal["agent", "client", "both", "proxy"]
"""The side that serves a method."""

P = TypeVar("P")
R_co = TypeVar("R_co", covariant=True)


class RequestMethod(Generic[P, R_co]):
    """A method with a result."""

    __slots__ = ("name", "params", "result", "side")

    def __init__(self, name: str, side: Side, params: type[P], result: type[R_co]) -> None:
        self.name = name
        """The name on the wire."""
        self.side = side
        """The side that serves it."""
        self.params: Any = params
        """The type of the parameters."""
        self.result: Any = result
        """The type of the result."""

    def __repr__(self) -> str:
        return f"<request {self.name}>"


class NotificationMethod(Generic[P]):
    """A method without a result; `head` is the text of its messages up to their params."""

    __slots__ = ("head", "name", "params", "side")

    def __init__(self, name: str, side: Side, params: type[P]) -> None:
        self.name = name
        """The name on the wire."""
        self.side = side
        """The side that receives it."""
        self.params: Any = params
        """The type of the parameters."""
        self.head: bytes = notification_head(name)
        """The text of a message up to its parameters."""

    def __repr__(self) -> str:
        return f"<notification {self.name}>"


Method: TypeAlias = RequestMethod[Any, Any] | NotificationMethod[Any]
"""A row of an edition's table of methods."""


def rows(namespace: Mapping[str, object]) -> tuple[Method, ...]:
    """The rows that a module defines, in its order."""
    return tuple(value for value in namespace.values() if isinstance(value, RequestMethod | NotificationMethod))


def drafted(stable: tuple[Method, ...], drafts: tuple[Method, ...]) -> tuple[Method, ...]:
    """A stable table with the rows of its unstable text: those that have grown in their places, new ones behind."""
    by_key = {_key(method): method for method in drafts}
    grown = [by_key.pop(_key(method), method) for method in stable]
    return (*grown, *by_key.values())


def _key(method: Method) -> tuple[type[Method], str, Side]:
    return type(method), method.name, method.side
