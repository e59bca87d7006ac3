"""Knows when an agent that fails is tried again, when it is left alone, and what to call its state. Reads no clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from accord.errors import CallTimeout, ConnectFailed, DeadlineExceeded, TransportError

__all__ = ["Backoff", "CircuitBreaker", "CircuitState", "Health", "HealthState", "is_passing"]

HealthState: TypeAlias = Literal["healthy", "degraded", "unhealthy"]
CircuitState: TypeAlias = Literal["closed", "open", "half-open"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often something is tried, and how long to wait in between, in seconds.

    Each wait is `factor` times the one before, at most `cap_seconds`, and off by up to `jitter` of itself either way,
    so that many who failed together do not come back together.
    """

    tries: int = 3
    base_seconds: float = 1.0
    factor: float = 2.0
    cap_seconds: float = 30.0
    jitter: float = 0.25

    def waits(self, chance: Callable[[], float] = random.random) -> Iterator[float]:
        """The waits between the tries: one fewer than there are tries. `chance` gives numbers from 0 to 1."""
        for number in range(self.tries - 1):
            seconds = min(self.base_seconds * self.factor**number, self.cap_seconds)
            yield seconds * (1 + self.jitter * (2 * chance() - 1))


class Health:
    """What the last calls of one agent say about it."""

    def __init__(self, *, degraded_at: int = 3, unhealthy_at: int = 5) -> None:
        self._degraded_at = degraded_at
        self._unhealthy_at = unhealthy_at
        self.failures = 0
        """How many calls failed since one succeeded."""
        self.last_error: Exception | None = None

    @property
    def state(self) -> HealthState:
        """In one word."""
        if self.failures >= self._unhealthy_at:
            return "unhealthy"
        return "degraded" if self.failures >= self._degraded_at else "healthy"

    def succeeded(self) -> None:
        """A call went well: all is forgiven."""
        self.failures, self.last_error = 0, None

    def failed(self, error: Exception) -> None:
        """A call failed."""
        self.failures += 1
        self.last_error = error


class CircuitBreaker:
    """Leaves an agent alone that keeps failing, and after a while lets one call at a time find out about it.

    Closed, it lets every call pass. After `opens_after` failures in a row it is open and lets none pass, for
    `rest_seconds` of `clock`. Then it is half-open: one call at a time; `closes_after` successes close it, a failure
    opens it again. Whoever was allowed must say how it went.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        opens_after: int = 5,
        rest_seconds: float = 30.0,
        closes_after: int = 2,
    ) -> None:
        self._clock = clock
        self._opens_after = opens_after
        self._rest_seconds = rest_seconds
        self._closes_after = closes_after
        self._failures = 0
        self._successes = 0
        self._opened_at: float | None = None
        self._is_trying = False

    @property
    def state(self) -> CircuitState:
        """Where it stands now."""
        if self._opened_at is None:
            return "closed"
        return "open" if self._clock() < self._opened_at + self._rest_seconds else "half-open"

    @property
    def rest(self) -> float:
        """Seconds until it may be tried again; 0 if it may now."""
        return 0.0 if self._opened_at is None else max(self._opened_at + self._rest_seconds - self._clock(), 0.0)

    def allow(self) -> bool:
        """Whether a call may be made now."""
        state = self.state
        if state == "closed":
            return True
        if state == "open" or self._is_trying:
            return False
        self._is_trying = True
        return True

    def succeeded(self) -> None:
        """The call went well."""
        self._failures, self._is_trying = 0, False
        if self._opened_at is None:
            return
        self._successes += 1
        if self._successes >= self._closes_after:
            self._opened_at = None

    def failed(self) -> None:
        """The call failed."""
        self._failures += 1
        was_trying, self._is_trying = self._is_trying, False
        if was_trying or (self._opened_at is None and self._failures >= self._opens_after):
            self._opened_at, self._successes = self._clock(), 0

    def given_up(self) -> None:
        """The call was not made after all, or cancelled: nothing is known."""
        self._is_trying = False


def is_passing(error: BaseException) -> bool:
    """Whether the same call may go well in a moment: time ran out, or the link is gone. What was refused is refused."""
    if isinstance(error, ConnectFailed):
        # No program, no right to run it: waiting does not help.
        return not isinstance(error.__cause__, FileNotFoundError | PermissionError | NotADirectoryError | ValueError)
    return isinstance(error, TransportError | CallTimeout | DeadlineExceeded | OSError)
