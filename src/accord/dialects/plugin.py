"""The interface of a dialect plug-in: one hook for each side of a connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from accord.errors import LocalProtocolError
from accord.json_values import JsonValue
from accord.transport.interface import Transport

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

__all__ = ["DialectPlugin", "dialect_names", "load_dialect"]


class DialectPlugin:
    """A dialect of ACP for either side of a connection; subclass it and override the hooks of the sides it serves.

    A client speaks it by `accord.connect(...).use_dialect(plugin)`, an agent serves clients of it by
    `Agent.use_dialect(plugin)`, and an entry of `acp.json` names it where it is registered as an entry point of the
    group `accord.dialects`. One object may serve many connections: the state of a connection belongs to its transport.
    """

    name: ClassVar[str]
    """Its name in a config and in messages."""
    edition: ClassVar[Literal["1", "2", "2-june"]] = "1"
    """The edition that is spoken above the plug-in: a client insists on it."""

    def link_to_agent(self, link: Transport, *, start_seconds: float | None) -> Transport:  # noqa: ARG002 - subclasses do
        """The client's side: a transport that speaks `edition`, over a new `link` to an agent of the dialect.

        Called again for every new process of the agent. `start_seconds` is how long the agent may take to answer
        `initialize`; None means without a limit.

        Raises:
            LocalProtocolError: This dialect has no such side.
        """
        raise LocalProtocolError(f"no client of ours speaks the dialect {self.name}", field="dialect")

    def agent_requests(self) -> Mapping[str, Callable[[JsonValue], JsonValue]]:
        """The client's side: handlers of the extension requests (`_name`) that `link_to_agent` makes of messages.

        A handler gets the params as plain JSON and gives the result, or something to await that gives it. While it
        runs, the deadlines of the session that the params name (`sessionId`) rest.
        """
        return {}

    def link_to_client(self, link: Transport) -> Transport:  # noqa: ARG002 - subclasses do
        """The agent's side: a transport that speaks `edition`, over a new `link` to any client.

        The client may speak the dialect or plain ACP; messages of plain ACP must pass unchanged.

        Raises:
            LocalProtocolError: This dialect has no such side.
        """
        raise LocalProtocolError(f"no agent of ours serves the dialect {self.name}", field="dialect")


GROUP = "accord.dialects"


def dialect_names() -> tuple[str, ...]:
    """The names of all installed plug-ins; none of them is imported."""
    return tuple(sorted(_installed().names))


def load_dialect(name: str) -> DialectPlugin:
    """The plug-in of a name, imported and called without arguments.

    Raises:
        LocalProtocolError: No installed package has it, or what it has is no plug-in.
    """
    known = dialect_names()
    if name not in known:
        raise LocalProtocolError(
            f"no dialect {name!r} is installed", field="dialect", expected=f"one of {', '.join(known)}"
        )
    plugin = _installed()[name].load()()
    if not isinstance(plugin, DialectPlugin):
        expected = "a class or a function that gives an accord.DialectPlugin"
        raise LocalProtocolError(f"the entry point {name!r} of {GROUP} gives none", field="dialect", expected=expected)
    return plugin


def _installed() -> EntryPoints:
    from importlib.metadata import entry_points  # noqa: PLC0415 - every agent imports this module at its start

    return entry_points(group=GROUP)
