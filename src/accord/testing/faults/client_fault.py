"""How a small change of a conforming client becomes a fault in every edition that has the rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, TypeVar

from accord.testing.faults.client import PlainClient, PlainClientJune, PlainClientV1, PlainClientV2
from accord.testing.faults.client_full import FullClientJune, FullClientV1, FullClientV2
from accord.testing.faults.fault import breaks

__all__ = ["ALL", "FULL", "PLAIN", "breaks_as_client", "chokes"]

EditionName: TypeAlias = Literal["v1", "v2_june", "v2"]
ALL: tuple[EditionName, ...] = ("v1", "v2_june", "v2")
PLAIN: dict[EditionName, type[PlainClient]] = {"v1": PlainClientV1, "v2_june": PlainClientJune, "v2": PlainClientV2}
FULL: dict[EditionName, type[PlainClient]] = {"v1": FullClientV1, "v2_june": FullClientJune, "v2": FullClientV2}

C = TypeVar("C", bound=type[PlainClient])


def breaks_as_client(
    id_: str, *editions: EditionName, of: dict[EditionName, type[PlainClient]] = FULL, note: str = ""
) -> Callable[[C], C]:
    """Let a class change the conforming client of some editions, by default of all."""

    def add(change: C) -> C:
        for edition in editions or ALL:
            # What is changed for one edition only may be a subclass of its client already.
            bases = (change,) if issubclass(change, of[edition]) else (change, of[edition])
            breaks(f"ACCORD-CLIENT-{id_}", edition, side="client", note=note)(type(change.__name__, bases, {}))
        return change

    return add


def chokes(name: str, id_: str, choker: bytes, *editions: EditionName) -> None:
    """A client that ends at a line with certain bytes in it."""
    breaks_as_client(id_, *editions)(type(name, (PlainClient,), {"choker": choker}))
