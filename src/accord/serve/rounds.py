"""One timer for all sockets of a loop that need a sign of life at intervals: pings, and comments of event streams."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Protocol
from weakref import WeakKeyDictionary

__all__ = ["Rounds", "RoundsMember"]


class RoundsMember(Protocol):
    slot: int

    def ping(self) -> None:
        """Called once per interval."""


class Rounds:
    """Calls each member once per interval.

    The members are in slots, one of which is called at a time, so that no round holds up the loop.
    """

    SLOTS = 15
    _of_loops: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[float, Rounds]]] = WeakKeyDictionary()

    def __init__(self, interval_seconds: float) -> None:
        self._pause_seconds = interval_seconds / self.SLOTS
        self._slots: list[set[RoundsMember]] = [set() for _ in range(self.SLOTS)]
        self._next = 0
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    def running(cls, interval_seconds: float) -> Rounds:
        """The rounds of the running loop with this interval; with 0 no member is called."""
        rounds = cls._of_loops.setdefault(asyncio.get_running_loop(), {})
        if interval_seconds not in rounds:
            rounds[interval_seconds] = cls(interval_seconds)
        return rounds[interval_seconds]

    def add(self, member: RoundsMember) -> None:
        member.slot = self._next - 1  # the one whose turn is the farthest off
        self._slots[member.slot].add(member)
        if self._timer is None and self._pause_seconds > 0:
            self._timer = asyncio.get_running_loop().call_later(self._pause_seconds, self._go_on)

    def discard(self, member: RoundsMember) -> None:
        self._slots[member.slot].discard(member)

    def _go_on(self) -> None:
        self._timer = None
        for member in list(self._slots[self._next]):
            member.ping()
        self._next = (self._next + 1) % self.SLOTS
        if any(self._slots):
            self._timer = asyncio.get_running_loop().call_later(self._pause_seconds, self._go_on)
