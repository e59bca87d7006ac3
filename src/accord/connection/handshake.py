"""The agent's side of `initialize`: the selection of the edition, and the rules for a repeated `initialize`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accord.connection.error_objects import refused
from accord.connection.handlers import Handler, Handlers
from accord.errors import RequestError
from accord.jsonrpc.message import ErrorObject
from accord.protocol.edition import Edition
from accord.protocol.negotiation import Selection, select_as_agent

__all__ = ["Handshake", "announcing", "complete"]

_UNNAMED = {"name": "unknown", "version": "unknown"}


class Handshake:
    """The state of the handshake: the agreed edition, and the messages that wait for it.

    `held` are the texts that arrived while an `initialize` is being handled: they wait for its outcome, so that a
    client may send its first requests without waiting for the answer.
    """

    def __init__(self, editions: Sequence[Edition], handlers: Handlers, *, strict: bool) -> None:
        self._editions = editions
        self._handlers = handlers
        self._strict = strict
        self.edition: Edition | None = None
        self.held: list[bytes] | None = None
        self.used = False
        """Whether a request other than `initialize` came."""

    @property
    def offered(self) -> list[Edition]:
        """The editions with a handler for `initialize`."""
        return [edition for edition in self._editions if self._handlers.offers(edition)]

    def select(self, params: Any) -> Selection | ErrorObject:
        """The edition that the raw params of an `initialize` select, or the error to answer; changes nothing."""
        selection = select_as_agent(params, self.offered, strict=self._strict)
        if isinstance(selection, RequestError):
            return ErrorObject(selection.code, selection.message, selection.data)
        if self.edition is not None:
            again = self._again(selection)
            if again is not None:
                return again
        return selection

    def _again(self, selection: Selection) -> ErrorObject | None:
        # v2 rule 15: repeatable until the first other request, and never downwards. Where an edition is silent,
        # a repetition is welcome as long as it does not change the edition under running sessions.
        edition = self.edition
        if edition is None or (not self.used and selection.version >= edition.version):
            return None
        if edition.initializes_once or selection.edition is not edition:
            return refused("This connection is initialized already")
        return None


def complete(params: Any, selection: Selection) -> Any:
    """The params for the selected edition: a client of a newer version may omit fields that this one requires."""
    if selection.exact or not selection.edition.requires_info or "info" in params:
        return params
    return {**params, "info": _UNNAMED}


def announcing(handler: Handler, version: int) -> Handler:
    """The handler with the selected version in its answer, also where the author's handler echoes the client's."""

    async def initialize(params: Any) -> Any:
        result = handler.call(params)
        if handler.suspends or hasattr(result, "__await__"):
            result = await result
        if hasattr(result, "protocol_version"):
            result.protocol_version = version
        return result

    return Handler(initialize, suspends=True)
