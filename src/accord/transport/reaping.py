"""Reaps processes that have ended as soon as nobody lives in their process groups, so that none stays a zombie.

While an ended process is not reaped, its number cannot become another's, and a signal to its group hits only what it
started. When the group is empty there is nothing left to signal. Only Linux shows who lives in a group; elsewhere a
thread waits for each process, which reaps it.
"""

from __future__ import annotations

import asyncio
import contextlib
from threading import Thread
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary, WeakSet

from accord.transport.watchdog import living_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["reap_when_alone"]

# Processes that end together cost one look, and those that are released at once cost none.
FIRST_LOOK_SECONDS = 0.05
# A descendant in the background may live for long.
MAX_LOOK_SECONDS = 5.0


class EndedProcess(Protocol):
    """A process that has ended."""

    pid: int

    @property
    def is_reaped(self) -> bool:
        """Whether there is nothing left to do."""

    def reap_alone(self) -> None:
        """Reap it; nobody lives in its group."""


def reap_when_alone(process: EndedProcess) -> None:
    """Have the process reaped when its group is empty. To be called in its loop."""
    loop = asyncio.get_running_loop()
    if loop not in _reapers:
        _reapers[loop] = _Reaper()
    _reapers[loop].add(process)


class _Reaper:
    """The ended processes of one loop that are not reaped yet."""

    def __init__(self) -> None:
        self._held: WeakSet[EndedProcess] = WeakSet()
        # A handle of the timer would hold the loop, and so would never be forgotten with it.
        self._plans = 0
        self._is_looking = False
        self._pause = FIRST_LOOK_SECONDS

    def add(self, process: EndedProcess) -> None:
        self._held.add(process)
        self._pause = FIRST_LOOK_SECONDS
        if not self._is_looking:
            self._plan()

    def _plan(self) -> None:
        self._plans += 1
        asyncio.get_running_loop().call_later(self._pause, self._look, self._plans)

    def _look(self, plan: int) -> None:
        if plan != self._plans or self._is_looking:
            return
        held = [process for process in self._held if not process.is_reaped]
        self._held = WeakSet(held)
        if held:
            self._is_looking = True
            loop = asyncio.get_running_loop()
            # In a thread: to look at a thousand processes takes some 50 ms.
            Thread(target=self._find, args=(loop, held), name="accord-reap", daemon=True).start()

    def _find(self, loop: asyncio.AbstractEventLoop, held: Sequence[EndedProcess]) -> None:
        groups = living_groups()
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._reap, held, groups)

    def _reap(self, held: Sequence[EndedProcess], groups: set[int] | None) -> None:
        self._is_looking = False
        if groups is None:
            return
        for process in held:
            if process.pid not in groups:
                process.reap_alone()
                self._held.discard(process)
        if self._held:
            self._plan()
            self._pause = min(self._pause * 2, MAX_LOOK_SECONDS)


_reapers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Reaper] = WeakKeyDictionary()
