"""Faulty peers: a reference peer with one fault, and the rule it breaks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from tests.check.faults.change import changed
from tests.check.faults.reference.agent_june import FullJune, PlainJune
from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.agent_v2 import FullV2, PlainV2
from tests.check.faults.reference.client import PlainClientJune, PlainClientV1, PlainClientV2
from tests.check.faults.reference.client_full import FullClientJune, FullClientV1, FullClientV2

__all__ = [
    "ALL",
    "FAULTS",
    "FULL",
    "FULL_CLIENTS",
    "JUNE",
    "PLAIN",
    "PLAIN_CLIENTS",
    "V1",
    "V2",
    "Fault",
    "FaultyPeer",
    "breaks",
    "breaks_as_client",
    "client",
    "full",
    "plain",
]

EditionName: TypeAlias = Literal["v1", "v2_june", "v2"]
Side: TypeAlias = Literal["agent", "client"]
Editions: TypeAlias = tuple[EditionName, ...]
References: TypeAlias = dict[EditionName, type]
Row: TypeAlias = Callable[..., None]

V1: Editions = ("v1",)
JUNE: Editions = ("v2_june",)
V2: Editions = ("v2",)
ALL: Editions = V1 + JUNE + V2

PLAIN: References = {"v1": PlainV1, "v2_june": PlainJune, "v2": PlainV2}
FULL: References = {"v1": FullV1, "v2_june": FullJune, "v2": FullV2}
PLAIN_CLIENTS: References = {"v1": PlainClientV1, "v2_june": PlainClientJune, "v2": PlainClientV2}
FULL_CLIENTS: References = {"v1": FullClientV1, "v2_june": FullClientJune, "v2": FullClientV2}


class FaultyPeer(Protocol):
    """What can be judged in place of a program."""

    async def serve(self, lines: AsyncIterator[bytes], write: Callable[[bytes], None], /) -> None:
        """Live until there are no more lines."""
        ...


class Fault(NamedTuple):
    """One way to be wrong."""

    name: str
    edition: EditionName
    side: Side
    breaks: str
    """The id of the rule; what necessarily falls with it is said by the manifest of the check."""
    note: str
    """For a rule that is only recorded: a word in the note of a peer like this, and of no conforming one."""
    make: Callable[[], FaultyPeer]


FAULTS: list[Fault] = []
"""All of them, in the order of their modules."""

C = TypeVar("C", bound=type)


# --- rows: steps of a reference peer that are changed


def plain(id_: str, editions: Editions, name: str, /, *, note: str = "") -> Row:
    """An agent that does the least, but for the steps that are named next."""
    return _row(PLAIN, Fault(name, "v1", "agent", id_, note, PLAIN["v1"]), editions)


def full(id_: str, editions: Editions, name: str, /, *, note: str = "") -> Row:
    """An agent that does everything, but for the steps that are named next."""
    return _row(FULL, Fault(name, "v1", "agent", id_, note, FULL["v1"]), editions)


def client(topic: str, editions: Editions, name: str, /, *, note: str = "", of: References = FULL_CLIENTS) -> Row:
    """A client that does everything, but for the steps that are named next."""
    return _row(of, Fault(name, "v1", "client", f"ACCORD-CLIENT-{topic}", note, of["v1"]), editions)


def _row(references: References, fault: Fault, editions: Editions) -> Row:
    def add(**steps: Any) -> None:
        FAULTS.extend(
            fault._replace(edition=edition, make=changed(references[edition], fault.name, steps))
            for edition in editions
        )

    return add


# --- classes: changes that remember something


def breaks(id_: str, *editions: EditionName, note: str = "") -> Callable[[C], C]:
    """Let a class be a faulty agent, named like it; one that was written for v1 changes June's agents as well."""

    def add(change: C) -> C:
        for edition in editions:
            references = FULL if any(issubclass(change, each) for each in FULL.values()) else PLAIN
            FAULTS.append(Fault(change.__name__, edition, "agent", id_, note, _of(change, references[edition])))
        return change

    return add


def breaks_as_client(topic: str, *editions: EditionName) -> Callable[[C], C]:
    """Let a class change the reference client that does everything."""

    def add(change: C) -> C:
        for edition in editions:
            peer = _of(change, FULL_CLIENTS[edition])
            FAULTS.append(Fault(change.__name__, edition, "client", f"ACCORD-CLIENT-{topic}", "", peer))
        return change

    return add


def _of(change: type, reference: type) -> type:
    return change if issubclass(change, reference) else type(change.__name__, (change, reference), {})
