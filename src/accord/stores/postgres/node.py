"""The record of a node: one process of a fleet as the database knows it."""

from __future__ import annotations

import msgspec

__all__ = ["NodeRecord"]


class NodeRecord(msgspec.Struct, frozen=True):
    """One incarnation of a node: a process that holds a lease, and the sessions that it owns.

    Times are seconds since 1970 by the clock of the database. `is_live` says whether the lease lasted when this was
    read. An incarnation whose lease has ended never lives again: its process takes a new one.
    """

    incarnation: str
    name: str
    address: str = ""
    version: str = ""
    started_at: float = 0.0
    until: float = 0.0
    draining: bool = False
    left_seconds: float = 0.0
    """The rest of its lease when this was read."""
    is_live: bool = True
    sessions: int = 0
    """The sessions that it owns; counted by `PostgresStore.counts` and 0 elsewhere."""
