"""What every edition's dialect can do: say events as updates, and hear updates as events.

A `Voice` belongs to one session of an agent, an `Ear` to one session of a client: both remember what an edition does
not repeat. What an edition cannot show is said in the nearest words it has (docs/editions.md has the table); an empty
list means that it has no words at all and nothing is lost by silence.
"""

from typing import Any, Protocol

from accord.session.event import Event

__all__ = ["Ear", "Voice"]


class Voice(Protocol):
    """How an agent tells one session's events in one edition.

    After a restart without replay it must first say the session's history to nobody, so that it knows what the client
    knows.
    """

    client_terminals: set[str]
    """The terminals that the client itself runs and shows, by id; only v1 has them. Nothing is said of their output."""

    def say(self, event: Event) -> list[Any]:
        """The updates, in order, that go out as `session/update` notifications."""
        ...

    def flush(self) -> list[Any]:
        """What was held back where an edition can only repeat a growing whole; a change of state says it by itself."""
        ...


class Ear(Protocol):
    """How a client hears one session's updates in one edition."""

    def hear(self, update: Any) -> list[Event]:
        """The events that an update stands for. Unknown updates become `UnknownUpdate`, never nothing."""
        ...
