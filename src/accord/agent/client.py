"""The client of a connection in the author's API, and the interface by which a session's services send it requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from accord.connection import Connection
from accord.connection.handlers import extension_name
from accord.json_values import JsonValue
from accord.session.agent_requests import ElicitationDone, ElicitForm, ElicitUrl, RequestPermission
from accord.session.capability import ClientCapabilities, Implementation
from accord.session.dialect import Dialect
from accord.session.event import ToolChanged
from accord.telemetry import call_span, extension_params, link_facts

__all__ = ["Client", "ClientCaller", "ClientFeature"]

ClientFeature: TypeAlias = Literal[
    "elicit", "elicit_url", "read_files", "write_files", "terminals", "notices", "compaction", "toggles"
]
"""The features that `Client.can` knows: questions that the client answers, and events that it shows instead of text."""


class Client:
    """The client of one connection, in the agent author's API. Made by the agent for each connection."""

    def __init__(
        self, connection: Connection, dialect: Dialect, peer: Implementation | None, capabilities: ClientCapabilities
    ) -> None:
        self.name: str = "unknown" if peer is None else peer.name
        """The name the client gave, or "unknown"."""
        self.version: str = "unknown" if peer is None else peer.version
        """The version the client gave, or "unknown"."""
        self.title: str | None = None if peer is None else peer.title
        """The name the client gave for people to read."""
        self.capabilities: ClientCapabilities = capabilities
        """The capabilities that the client declared, nothing more."""
        self._connection = connection
        self._dialect = dialect
        self._facts = link_facts(dialect.edition.version, connection.transport)

    def __repr__(self) -> str:
        return f"<client {self.name} {self.version}>"

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open."""
        return self._connection.is_open

    def can(self, what: ClientFeature) -> bool:
        """Whether the client answers such questions (`elicit`, `elicit_url`), or shows such events without a downgrade.

        Files and terminals work in any case: where the client does not offer them they are the agent's own.

        Raises:
            ValueError: There is no such capability; the message lists those that exist.
        """
        capability = CAPABILITIES.get(what)
        if capability is None:
            known = ", ".join(sorted(CAPABILITIES))
            raise ValueError(f"there is no capability {what!r}: one of {known}")
        return capability(self)

    def _stand_in(self, request: RequestPermission) -> ToolChanged | None:
        """The tool call that a permission request without one is sent with in this edition."""
        return self._dialect.stand_in(request)

    async def complete_elicitation(self, elicitation_id: str) -> None:
        """Notify the client that an elicitation by address is finished, where the edition has a message for that."""
        method, encode = self._dialect.elicitation_done, self._dialect.encode_elicitation_done
        if method is not None and encode is not None and self.capabilities.elicit_url:
            await self._connection.notify(method, encode(ElicitationDone(elicitation_id)))

    def _has_request(self, request: type[Any]) -> bool:
        """Whether the edition has a request for this at all."""
        return bool(self._dialect.find(request))

    async def request(
        self, method: str, params: JsonValue = None, *, timeout_seconds: float | None = None
    ) -> JsonValue:
        """Call an extension method (`_name`) of the client; params and result are plain JSON."""
        name, connection = extension_name(method), self._connection
        with call_span("agent", name, params, self._facts, connection.next_request_id) as span:
            given = extension_params(span, params)
            return await connection.call_extension(name, given, timeout_seconds=timeout_seconds)

    async def notify(self, method: str, params: JsonValue = None) -> None:
        """Send an extension notification (`_name`)."""
        await self._connection.notify_extension(extension_name(method), params)


CAPABILITIES: dict[ClientFeature, Callable[[Client], bool]] = {
    "elicit": lambda client: client._has_request(ElicitForm) and client.capabilities.elicit_form,
    "elicit_url": lambda client: client._has_request(ElicitUrl) and client.capabilities.elicit_url,
    "read_files": lambda client: client.capabilities.read_files,
    "write_files": lambda client: client.capabilities.write_files,
    "terminals": lambda client: client.capabilities.terminals,
    "notices": lambda client: client.capabilities.notices,
    "compaction": lambda client: client.capabilities.compaction,
    "toggles": lambda client: client.capabilities.toggles,
}


class ClientCaller(Protocol):
    """Sends requests to the client, independent of its edition."""

    @property
    def capabilities(self) -> ClientCapabilities:
        """The capabilities of the client."""

    async def call(self, request: Any, *, timeout_seconds: float | None = None) -> Any:
        """Send one of `accord.session.agent_requests` to the client, and return its answer.

        Raises:
            RequestError: The client refused.
            CallTimeout: It did not answer in time.
            ConnectionLost: It is gone.
            LocalProtocolError: Its edition has no such request; nothing was sent.
        """
