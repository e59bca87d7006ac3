"""Deadlines of an agent: its start, its first sign of life, silence between two of them, a whole turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from accord.errors import DeadlineExceeded

__all__ = ["Deadlines", "Watch"]


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Time limits of an agent; None is no limit. `accord.DeadlineExceeded.phase` names the one that passed."""

    start_seconds: float | None = 60.0
    """For the start of its program and the handshake."""
    first_seconds: float | None = None
    """From a prompt to the first sign of life."""
    idle_seconds: float | None = None
    """Between two signs of life in a turn. Time in which the agent waits for an answer of the user does not count."""
    turn_seconds: float | None = None
    """For a whole turn."""
    cancel_seconds: float | None = 30.0
    """From a cancel to the end of the turn."""
    connect_seconds: float | None = 20.0
    """For one attempt to connect to an address; `accord.ConnectFailed` says that it passed."""
    reconnect_seconds: float | None = 60.0
    """How long a link to an address that broke is tried again, at most as long as the server keeps the connection."""


class Watch:
    """One turn's clock. It rests while the agent waits for us: for an answer, or for events to be consumed."""

    def __init__(self, deadlines: Deadlines, late: Callable[[DeadlineExceeded], None]) -> None:
        self._deadlines = deadlines
        self._late = late
        self._loop = asyncio.get_running_loop()
        self._alive = False
        self._ended = False
        self._is_cancelled = False
        self._rests = 0
        self._last_sign = self._loop.time()
        self._silence: asyncio.TimerHandle | None = None
        self._whole: asyncio.TimerHandle | None = None
        if deadlines.turn_seconds is not None:
            self._whole = self._loop.call_later(deadlines.turn_seconds, self._ring, "turn", deadlines.turn_seconds)
        self._set()

    def sign_of_life(self) -> None:
        """Note a message of the agent; cheap, because it is called for every update."""
        if self._alive and self._deadlines.idle_seconds is None:
            return
        self._last_sign = self._loop.time()
        if not self._alive:
            self._alive = True
            self._set()

    def rest(self) -> None:
        """The agent waits for us."""
        self._rests += 1
        self._unset()

    def go_on(self) -> None:
        """The agent no longer waits for us."""
        self._rests -= 1
        self._last_sign = self._loop.time()
        self._set()

    def cancelled(self) -> None:
        """The turn was cancelled, and has a last deadline; cancelling again gives it no more time."""
        if self._is_cancelled:
            return
        self._is_cancelled = True
        self.stop()
        seconds = self._deadlines.cancel_seconds
        if seconds is not None:
            self._whole = self._loop.call_later(seconds, self._ring, "cancel", seconds)

    def stop(self) -> None:
        """It is over: later signs of life start no timer."""
        self._ended = True
        self._unset()
        if self._whole is not None:
            self._whole.cancel()
            self._whole = None

    @property
    def _seconds(self) -> float | None:
        return self._deadlines.idle_seconds if self._alive else self._deadlines.first_seconds

    def _set(self) -> None:
        self._unset()
        if self._seconds is not None and not self._rests and not self._ended:
            self._silence = self._loop.call_at(self._last_sign + self._seconds, self._check)

    def _unset(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _check(self) -> None:
        seconds = self._seconds
        if seconds is None:
            return
        if self._loop.time() >= self._last_sign + seconds:
            self._ring("idle" if self._alive else "first", seconds)
        else:
            self._set()

    def _ring(self, phase: str, seconds: float) -> None:
        self.stop()
        self._late(DeadlineExceeded(phase, seconds))
