"""Several agents at once: started together, each with its health; a failing one leaves the others alone.

`Backoff` and `CircuitBreaker` decide when an agent that fails is tried again; they read no clock themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, TypeVar

from accord.client import ConnectedAgent
from accord.client.question import PermissionCallback
from accord.config.connect import connect_to
from accord.config.entry import AgentEntry
from accord.config.errors import FleetFailed, UnknownAgent
from accord.errors import AccordError, CallTimeout, ConnectFailed, ConnectionLost, DeadlineExceeded, TransportError

__all__ = ["Backoff", "CircuitBreaker", "Fleet", "Health", "is_passing"]

HealthState: TypeAlias = Literal["healthy", "degraded", "unhealthy"]
CircuitState: TypeAlias = Literal["closed", "open", "half-open"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """The number of tries, and the waits in between, in seconds.

    Each wait is `factor` times the one before, at most `cap_seconds`, and off by up to `jitter` of itself either way,
    so that many clients that failed together do not retry together.
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
    """The health of one agent, by its last calls."""

    def __init__(self, *, degraded_at: int = 3, unhealthy_at: int = 5) -> None:
        self._degraded_at = degraded_at
        self._unhealthy_at = unhealthy_at
        self.failures = 0
        """How many calls failed since one succeeded."""
        self.last_error: Exception | None = None

    @property
    def state(self) -> HealthState:
        if self.failures >= self._unhealthy_at:
            return "unhealthy"
        return "degraded" if self.failures >= self._degraded_at else "healthy"

    def succeeded(self) -> None:
        """A call succeeded: the failures are forgotten."""
        self.failures, self.last_error = 0, None

    def failed(self, error: Exception) -> None:
        self.failures += 1
        self.last_error = error


class CircuitBreaker:
    """Blocks calls to an agent that keeps failing, and after a while lets one call at a time test it.

    Closed, it lets every call pass. After `opens_after` failures in a row it is open and lets none pass, for
    `rest_seconds` of `clock`. Then it is half-open: one call at a time; `closes_after` successes close it, a failure
    opens it again. The caller must report the outcome of every allowed call.
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
        self._failures, self._is_trying = 0, False
        if self._opened_at is None:
            return
        self._successes += 1
        if self._successes >= self._closes_after:
            self._opened_at = None

    def failed(self) -> None:
        self._failures += 1
        was_trying, self._is_trying = self._is_trying, False
        if was_trying or (self._opened_at is None and self._failures >= self._opens_after):
            self._opened_at, self._successes = self._clock(), 0

    def given_up(self) -> None:
        """The call was not made after all, or cancelled: it counts neither as success nor as failure."""
        self._is_trying = False


def is_passing(error: BaseException) -> bool:
    """Whether the same call may succeed later: a timeout, or a lost link. A refusal is final."""
    if isinstance(error, ConnectFailed):
        # No program, no right to run it: waiting does not help.
        return not isinstance(error.__cause__, FileNotFoundError | PermissionError | NotADirectoryError | ValueError)
    return isinstance(error, TransportError | CallTimeout | DeadlineExceeded | OSError)


log = logging.getLogger("accord.config")

_Result = TypeVar("_Result")


class Member:
    """One agent of a fleet: `agent` while it is up, and its health."""

    def __init__(self, entry: AgentEntry, breaker: CircuitBreaker) -> None:
        self.entry = entry
        self.agent: ConnectedAgent | None = None
        self.error: Exception | None = None
        """The reason why it is not up."""
        self.health = Health()
        self.breaker = breaker
        self.starting = asyncio.Lock()


class Fleet:
    """Agents from a config: `async with Fleet(entries) as fleet: await fleet.agent().new_session()`.

    Opening starts all of them at once and fails only if none starts; the failed ones are in `failures`. `on_question`
    answers where an entry's policy is `prompt`, and `connect` makes an agent from an entry. Prompts are sent by a
    session, once, and never through a fleet; idempotent requests go through `call`.
    """

    def __init__(
        self,
        entries: Iterable[AgentEntry],
        *,
        default: str | None = None,
        on_question: PermissionCallback | None = None,
        connect: Callable[..., ConnectedAgent] = connect_to,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        self._connect = connect
        self._on_question = on_question
        self._former: list[ConnectedAgent] = []
        self._backoff = backoff or Backoff()
        self._pause = pause
        self.members = {entry.name: Member(entry, CircuitBreaker(clock)) for entry in entries}
        if default is not None and default not in self.members:
            raise UnknownAgent(default, known=list(self.members))
        self._default = default

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.TaskGroup() as group:
                for member in self.members.values():
                    group.create_task(self._start(member))
        except BaseException:
            await asyncio.shield(self.close())
            raise
        if not any(member.agent for member in self.members.values()):
            raise FleetFailed(self.failures)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        agents = [*self._former, *(member.agent for member in self.members.values() if member.agent is not None)]
        self._former = []
        for member in self.members.values():
            member.agent = None
        await asyncio.gather(*(agent.close() for agent in agents))

    @property
    def failures(self) -> dict[str, Exception]:
        """The agents that are not up, with the reasons."""
        return {name: member.error for name, member in self.members.items() if member.error is not None}

    @property
    def default(self) -> str:
        """The name of the default agent; while that is down, of the first one that is up."""
        up = [name for name, member in self.members.items() if member.agent is not None]
        if self._default is not None and (self._default in up or not up):
            return self._default
        return up[0] if up else next(iter(self.members), "")

    def agent(self, name: str | None = None) -> ConnectedAgent:
        """An agent that is up: one by its name, or the default one.

        Raises:
            UnknownAgent: There is none of that name. AccordError: It is not up; this is the exception of its failure.
        """
        member = self._member(name)
        if member.agent is None:
            raise member.error or ConnectionLost("the agent is closed")
        return member.agent

    async def restart(self, name: str | None = None) -> ConnectedAgent:
        """End an agent and start it anew. Sessions of the old one are gone with it: load them again.

        Raises:
            AccordError: It does not start.
        """
        member = self._member(name)
        async with member.starting:
            agent, member.agent = member.agent, None
            if agent is not None:
                await agent.close()
            member.error = await self._open(member)
        return self.agent(member.entry.name)

    async def call(
        self, action: Callable[[ConnectedAgent], Awaitable[_Result]], name: str | None = None, *, safe: bool = False
    ) -> _Result:
        """Call a function with an agent, within the timeout of its entry.

        With `safe` it is tried again where the failure may be temporary: only for calls that do no harm when done
        twice, listing sessions for example, and never for a prompt. A lost agent is started again for that. An agent
        that keeps failing is not called for a while.

        Raises:
            ConnectionLost: Its circuit breaker is open. CallTimeout: It did not answer in time. AccordError: The last
            try failed.
        """
        member = self._member(name)
        waits: Iterator[float] = self._backoff.waits() if safe else iter(())
        while True:
            try:
                return await self._try(member, action)
            except (AccordError, OSError) as error:
                wait = next(waits, None)
                if wait is None or not is_passing(error) or member.breaker.rest > 0:
                    raise
                log.info("%s: %s; tried again in %.1f s", member.entry.name, error, wait)
            await self._pause(wait)
            with contextlib.suppress(AccordError, OSError):
                await self._revive(member)

    async def _try(self, member: Member, action: Callable[[ConnectedAgent], Awaitable[_Result]]) -> _Result:
        breaker, name = member.breaker, member.entry.name
        if not breaker.allow():
            raise ConnectionLost(f"{name} failed too often and is left alone for {breaker.rest:.0f} s")
        try:
            result = await _within(member.entry.idle_seconds, action(self.agent(name)))
        except (AccordError, OSError) as error:
            if is_passing(error):
                breaker.failed()
                member.health.failed(error)
            else:
                # An error response is a response: the agent is healthy.
                breaker.succeeded()
                member.health.succeeded()
            raise
        except BaseException:
            breaker.given_up()
            raise
        breaker.succeeded()
        member.health.succeeded()
        return result

    async def _revive(self, member: Member) -> None:
        async with member.starting:
            agent = member.agent
            if agent is not None and agent.connection.is_open:
                return
            member.agent = None
            if agent is not None:
                # It is lost, but its sessions may restart it when they are prompted.
                self._former.append(agent)
            member.error = await self._open(member)

    async def _start(self, member: Member) -> None:
        async with member.starting:
            member.error = await self._open(member)
            for wait in self._backoff.waits():
                # A start that timed out would time out again, and the other agents would wait for it.
                if member.error is None or not is_passing(member.error) or isinstance(member.error, DeadlineExceeded):
                    break
                await self._pause(wait)
                member.error = await self._open(member)
        if member.error is not None:
            log.warning("%s did not come up: %s", member.entry.name, member.error)

    async def _open(self, member: Member) -> Exception | None:
        try:
            agent = self._connect(member.entry, on_question=self._on_question)
            await agent.open()
        except (AccordError, OSError) as error:
            member.health.failed(error)
            return error
        member.agent = agent
        member.health.succeeded()
        return None

    def _member(self, name: str | None) -> Member:
        wanted = self.default if name is None else name
        if wanted not in self.members:
            raise UnknownAgent(wanted, known=list(self.members))
        return self.members[wanted]


async def _within(seconds: float | None, action: Awaitable[_Result]) -> _Result:
    try:
        async with asyncio.timeout(seconds) as limit:
            return await action
    except TimeoutError as error:
        if limit.expired():
            raise CallTimeout("the call", seconds or 0.0) from error
        raise
