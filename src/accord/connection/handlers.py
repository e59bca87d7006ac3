"""The registry of handlers: by method, extensions by name, and hooks that run when a message is read."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias, TypeVar, overload

import msgspec

from accord.errors import LocalProtocolError
from accord.json_values import JsonValue
from accord.protocol.edition import Edition
from accord.protocol.method import Method, NotificationMethod, RequestMethod

__all__ = ["Arrival", "Handler", "Handlers", "RunHandler", "extension_name"]

P = TypeVar("P")
R = TypeVar("R")

RequestHandler: TypeAlias = Callable[[P], Awaitable[R | None] | R | None]
"""Handles a request; None is an empty result where the method allows one."""
NotificationHandler: TypeAlias = Callable[[P], Awaitable[None] | None]
"""Handles a notification."""
Arrival: TypeAlias = Callable[[P], object]
"""Is called with a message when it is read, before its handler."""
RunHandler: TypeAlias = Callable[[str, Iterator[P]], Awaitable[None] | None]
"""Handles notifications of one session that were read together: gets the session's id and takes them one by one.

It returns when there is none left, or earlier with an awaitable, which must end before the next one is taken. Its
exception is the failure of the notification that it took last.
"""
JsonHandler: TypeAlias = Callable[[JsonValue], JsonValue]
"""Handles a message outside the specification: params and result are plain JSON."""


class Handler(msgspec.Struct, frozen=True):
    """A callable, and whether calling it may suspend."""

    call: JsonHandler
    suspends: bool
    share: int = 0
    """While it runs, one `share`th of the connection's budget is kept for its answer; 0 for nothing."""
    call_run: RunHandler[JsonValue] | None = None
    """The same for several notifications of one session."""


EXTENSION_SHARE = 16
"""The share of extension requests, whose answers have an unknown size before the first one."""


def _handler(call: JsonHandler, share: int = 0, call_run: RunHandler[Any] | None = None) -> Handler:
    return Handler(call, inspect.iscoroutinefunction(call), share, call_run)


class Handlers:
    """Handlers of one side, for as many editions as there are rows registered; may serve many connections.

    A request handler's return value is the answer. A notification handler that is a plain function runs at once while
    the text is read; one that is a coroutine function runs in its session's lane. An extension handler gets and gives
    plain JSON values.
    """

    def __init__(self) -> None:
        self.by_method: dict[Method, Handler] = {}
        """The handlers of methods of an edition."""
        self.arrivals: dict[Method, Arrival[Any]] = {}
        """Functions that get a message when it is read, before its handler."""
        self._offers: dict[Edition, Callable[[], None]] = {}
        self.extension_requests: dict[str, Handler] = {}
        """The handlers of extension requests, by name."""
        self.extension_notifications: dict[str, Handler] = {}
        """The handlers of extension notifications, by name."""

    @overload
    def on(self, method: RequestMethod[P, R], handler: RequestHandler[P, R], *, share: int = 0) -> None: ...
    @overload
    def on(
        self,
        method: NotificationMethod[P],
        handler: NotificationHandler[P],
        *,
        run_handler: RunHandler[P] | None = None,
    ) -> None: ...
    def on(
        self, method: Method, handler: JsonHandler, *, share: int = 0, run_handler: RunHandler[Any] | None = None
    ) -> None:
        """Handle a method from now on; the last registration counts.

        `share` is for requests with large answers that are made quickly, such as reading a file: no more than that many
        run at once, so that a peer which sends requests and does not read keeps few answers in memory. See
        `accord.connection.admission`.

        `run_handler` is for a plain function that handles notifications: it gets those of one session that were read
        together, which saves a call for each.
        """
        self.by_method[method] = _handler(handler, share, run_handler)

    def on_arrival(self, method: RequestMethod[P, Any] | NotificationMethod[P], hook: Arrival[P]) -> None:
        """Call `hook` when a message is read, before and regardless of what its session's lane still holds.

        For messages that must not wait behind a handler: a cancel, the arrival of a prompt. The hook must not block.
        For a request, its result is `current_request().arrival` in the handler, and an exception is the answer: then
        the handler is not called.
        """
        self.arrivals[method] = hook

    def offer(self, edition: Edition, register: Callable[[], None]) -> None:
        """Offer one more edition, for agents: `register` is called when a client selects it and registers its handlers.

        So an agent that offers every edition imports the one that is spoken.
        """
        self._offers[edition] = register

    def offers(self, edition: Edition) -> bool:
        """Whether its `initialize` has a handler."""
        return edition in self._offers or (edition.is_loaded and edition.initialize in self.by_method)

    def select(self, edition: Edition) -> None:
        """Register the handlers of the edition that a client selected."""
        register = self._offers.pop(edition, None)
        if register is not None:
            register()

    def on_extension_request(self, name: str, handler: JsonHandler) -> None:
        """Answer an extension request: params as plain JSON in, result as plain JSON out."""
        self.extension_requests[extension_name(name)] = _handler(handler, EXTENSION_SHARE)

    def on_extension_notification(self, name: str, handler: JsonHandler) -> None:
        """Take an extension notification: params as plain JSON."""
        self.extension_notifications[extension_name(name)] = _handler(handler)


def extension_name(name: str) -> str:
    """The name of an extension method, if it is one.

    Raises:
        LocalProtocolError: It does not start with an underscore.
    """
    if not name.startswith("_"):
        raise LocalProtocolError("the name of an extension method starts with an underscore", field=name)
    return name
