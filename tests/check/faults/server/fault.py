"""Faulty servers: the reference server with one step changed, and the rule that it breaks, in every edition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.check.faults.change import changed
from tests.check.faults.fault import FULL, EditionName
from tests.check.faults.reference.server import ReferenceServer

__all__ = ["SERVERS", "SERVER_FAULTS", "ServerFault", "server"]

SERVERS: dict[EditionName, type[ReferenceServer]] = {
    edition: type(f"Server{edition}", (ReferenceServer,), {"agent": staticmethod(agent)})
    for edition, agent in FULL.items()
}
"""The conforming servers."""


class ServerFault(NamedTuple):
    """One way in which a server can be wrong."""

    name: str
    edition: EditionName
    breaks: str
    note: str
    """For a rule that is only recorded: a word in the note of such a server, and of no conforming one."""
    make: Callable[[], ReferenceServer]


SERVER_FAULTS: list[ServerFault] = []


def server(number: str, name: str, /, *, note: str = "") -> Callable[..., None]:
    """A server that conforms, but for the steps that are named next."""

    def add(**steps: Any) -> None:
        SERVER_FAULTS.extend(
            ServerFault(name, edition, f"ACCORD-REMOTE-{number}", note, changed(reference, name, steps))
            for edition, reference in SERVERS.items()
        )

    return add
