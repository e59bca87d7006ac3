"""What a faulty peer is: a small change of a conforming one, and the rule it breaks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Literal, NamedTuple, Protocol, TypeVar

__all__ = ["FAULTS", "Fault", "FaultyPeer", "breaks"]


class FaultyPeer(Protocol):
    """What can be judged in place of a program."""

    async def serve(self, lines: AsyncIterator[bytes], write: Callable[[bytes], None], /) -> None:
        """Live until there are no more lines."""
        ...


class Fault(NamedTuple):
    """One way to be wrong."""

    name: str
    edition: Literal["v1", "v2_june", "v2"]
    side: Literal["agent", "client"]
    breaks: str
    """The id of the rule; what necessarily falls with it is said by the manifest of the check."""
    note: str
    """For a rule that is only recorded: a word in the note of a peer like this, and of no conforming one."""
    make: Callable[[], FaultyPeer]


FAULTS: list[Fault] = []
"""All of them, in the order of their rooms."""

P = TypeVar("P", bound=Callable[[], FaultyPeer])


def breaks(
    id_: str,
    *editions: Literal["v1", "v2_june", "v2"],
    side: Literal["agent", "client"] = "agent",
    note: str = "",
) -> Callable[[P], P]:
    """Let a class be a fault, named like it, in some editions."""

    def add(make: P) -> P:
        FAULTS.extend(Fault(make.__name__, edition, side, id_, note, make) for edition in editions)
        return make

    return add
