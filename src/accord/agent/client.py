"""Who is on the other end, as an author sees it: its name, what it can do, and methods beside the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.connection import Connection
from accord.connection.handlers import extension_name
from accord.errors import LocalProtocolError
from accord.session.ask import AskPermission, ElicitationDone, ElicitForm, ElicitUrl
from accord.session.capability import ClientCapabilities, Implementation
from accord.session.dialect import Dialect
from accord.session.event import ToolChanged

__all__ = ["Client"]


class Client:
    """The client of one connection. `capabilities` are what it declared, nothing more."""

    def __init__(
        self, connection: Connection, dialect: Dialect, peer: Implementation | None, capabilities: ClientCapabilities
    ) -> None:
        self.name = "unknown" if peer is None else peer.name
        self.version = "unknown" if peer is None else peer.version
        self.title = None if peer is None else peer.title
        self.capabilities = capabilities
        self._connection = connection
        self._dialect = dialect

    def __repr__(self) -> str:
        return f"<client {self.name} {self.version}>"

    @property
    def is_connected(self) -> bool:
        """Whether it is still there, as far as anybody knows."""
        return self._connection.is_open

    def can(self, what: str) -> bool:
        """Whether something may be asked of this client, or shown to it as it is: see `CAPABILITIES` for the words.

        Raises:
            LocalProtocolError: Nobody has such a capability; says which there are.
        """
        capability = CAPABILITIES.get(what)
        if capability is None:
            known = ", ".join(sorted(CAPABILITIES))
            raise LocalProtocolError(f"there is no capability {what!r}: one of {known}", field=what)
        return capability(self)

    def stand_in(self, ask: AskPermission) -> ToolChanged | None:
        """The tool call that a question about none is asked under in this edition. For the framework."""
        return self._dialect.stand_in(ask)

    async def end_elicitation(self, elicitation_id: str) -> None:
        """Tell the client that what was begun at an address is finished, where the edition has words for that."""
        method, say = self._dialect.elicitation_done, self._dialect.say_elicitation_done
        if method is not None and say is not None and self.capabilities.elicit_url:
            await self._connection.notify(method, say(ElicitationDone(elicitation_id)))

    def speaks(self, ask: type[Any]) -> bool:
        """Whether the edition has words for an ask at all."""
        return bool(self._dialect.find(ask))

    async def request(self, method: str, params: Any = None, *, timeout_seconds: float | None = None) -> Any:
        """Call an extension method (`_name`) of the client; params and result are plain JSON."""
        return await self._connection.call_extension(extension_name(method), params, timeout_seconds=timeout_seconds)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send an extension notification (`_name`)."""
        await self._connection.notify_extension(extension_name(method), params)


CAPABILITIES: dict[str, Callable[[Client], bool]] = {
    "elicit": lambda client: client.speaks(ElicitForm) and client.capabilities.elicit_form,
    "elicit_url": lambda client: client.speaks(ElicitUrl) and client.capabilities.elicit_url,
    "read_files": lambda client: client.capabilities.read_files,
    "write_files": lambda client: client.capabilities.write_files,
    "terminals": lambda client: client.capabilities.terminals,
    "notices": lambda client: client.capabilities.notices,
    "compaction": lambda client: client.capabilities.compaction,
    "toggles": lambda client: client.capabilities.toggles,
}
"""What authors may ask for: questions that the client answers, and what it shows as such instead of as text.

Files and terminals work in any case: without the capability they are the agent's own.
"""
