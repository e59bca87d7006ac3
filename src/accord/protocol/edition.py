"""The editions as objects: version, rules, and a method table that is imported at its first use.

`V1`, `V2` and `V2_JUNE` are the editions; `edition.draft` is the same one with its unstable extras. Nothing above
`session` compares editions: the table and the rules have the differences.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from accord.jsonrpc.message import MessageRules
from accord.protocol.method import Method, NotificationMethod, RequestMethod, Side

__all__ = ["EDITIONS", "V1", "V2", "V2_JUNE", "Edition"]


class Edition:
    """A version of the protocol, with its rules and its table of methods."""

    def __init__(
        self,
        name: str,
        version: int,
        methods: Callable[[], tuple[Method, ...]],
        home: str,
        *,
        rules: MessageRules,
        cancels_requests: bool = True,
        initializes_once: bool = False,
        draft: Edition | None = None,
    ) -> None:
        self.name = name
        """The name: v1, v2 or v2_june."""
        self.version = version
        """The `protocolVersion` that it announces."""
        self.rules = rules
        """The JSON-RPC variants that it allows."""
        self.cancels_requests = cancels_requests
        """Whether it has `$/cancel_request`."""
        self.initializes_once = initializes_once
        """Whether an `initialize` is refused after the first other request, also where it would change nothing."""
        self.draft: Edition = draft or self
        """The edition with its unstable text."""
        self._methods = methods
        self._home = home

    def __repr__(self) -> str:
        return f"<edition {self.name}>"

    @property
    def is_loaded(self) -> bool:
        """Whether the table is imported: before that, no caller can have a row of it."""
        return self._home in sys.modules

    @functools.cached_property
    def methods(self) -> tuple[Method, ...]:
        """Every method, in the order of the table."""
        return self._methods()

    @functools.cached_property
    def with_drafts(self) -> Edition:
        """This edition, and behind its own rows those that only its unstable text has; its own rows do not change."""

        def methods() -> tuple[Method, ...]:
            own = {(method.name, method.side) for method in self.methods}
            return (*self.methods, *(m for m in self.draft.methods if (m.name, m.side) not in own))

        return self if self.draft is self else self.with_methods(methods)

    @functools.cached_property
    def as_client(self) -> Edition:
        """`with_drafts` for a client, which also reads the capabilities of the unstable text in `initialize`."""

        def methods() -> tuple[Method, ...]:
            return tuple(self.draft.initialize if m is self.initialize else m for m in self.with_drafts.methods)

        return self if self.draft is self else self.with_methods(methods)

    def with_methods(self, methods: Callable[[], tuple[Method, ...]], home: str = "") -> Edition:
        """This edition with another table, which the module `home` imports."""
        return Edition(
            self.name,
            self.version,
            methods,
            home or self._home,
            rules=self.rules,
            cancels_requests=self.cancels_requests,
            initializes_once=self.initializes_once,
        )

    @functools.cached_property
    def requires_info(self) -> bool:
        """Whether `info` is required in `initialize`."""
        fields = msgspec.structs.fields(self.initialize.params)
        return any(field.encode_name == "info" and field.required for field in fields)

    @functools.cached_property
    def _requests(self) -> dict[tuple[str, Side], RequestMethod[Any, Any]]:
        return {key: m for m in self.methods if isinstance(m, RequestMethod) for key in _keys(m)}

    @functools.cached_property
    def _notifications(self) -> dict[tuple[str, Side], NotificationMethod[Any]]:
        return {key: m for m in self.methods if isinstance(m, NotificationMethod) for key in _keys(m)}

    def request(self, side: Side, name: str) -> RequestMethod[Any, Any] | None:
        """The request that `side` serves under a name."""
        return self._requests.get((name, side))

    def notification(self, side: Side, name: str) -> NotificationMethod[Any] | None:
        """The notification that `side` takes under a name."""
        return self._notifications.get((name, side))

    @property
    def initialize(self) -> RequestMethod[Any, Any]:
        """The row of `initialize`."""
        return self._requests["initialize", "agent"]


def _keys(method: Method) -> list[tuple[str, Side]]:
    sides: list[Side] = ["agent", "client", "proxy"] if method.side == "both" else [method.side]
    return [(method.name, side) for side in sides]


def _v1() -> tuple[Method, ...]:
    from accord.protocol.v1 import METHODS

    return METHODS


def _v1_draft() -> tuple[Method, ...]:
    from accord.protocol.v1.draft import METHODS

    return METHODS


def _v2() -> tuple[Method, ...]:
    from accord.protocol.v2 import METHODS

    return METHODS


def _v2_draft() -> tuple[Method, ...]:
    from accord.protocol.v2.draft import METHODS

    return METHODS


def _v2_june() -> tuple[Method, ...]:
    from accord.protocol.v2_june import METHODS

    return METHODS


_V1: dict[str, Any] = {"rules": MessageRules(null_ids=True, batches=False)}
_V2: dict[str, Any] = {
    "rules": MessageRules(null_ids=False, batches=False),
    "initializes_once": True,  # v2 rule 15
}
_JUNE: dict[str, Any] = {"rules": MessageRules(null_ids=True, batches=True), "cancels_requests": False}
_V1_DRAFT = Edition("v1", 1, _v1_draft, "accord.protocol.v1.draft", **_V1)
_V2_DRAFT = Edition("v2", 2, _v2_draft, "accord.protocol.v2.draft", **_V2)

V1 = Edition("v1", 1, _v1, "accord.protocol.v1", draft=_V1_DRAFT, **_V1)
"""The stable protocol of today."""
V2 = Edition("v2", 2, _v2, "accord.protocol.v2", draft=_V2_DRAFT, **_V2)
"""The v2 draft of today."""
V2_JUNE = Edition("v2_june", 2, _v2_june, "accord.protocol.v2_june", **_JUNE)
"""The v2 draft of June 2026."""

EDITIONS: tuple[Edition, ...] = (V1, V2, V2_JUNE)
