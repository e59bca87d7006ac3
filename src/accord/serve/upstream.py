"""The agent behind a server: an `accord.Agent` in this process, or a program that is started for each connection."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from accord.agent import Agent, SharedSessions
from accord.agent.request_errors import drained
from accord.serve.fleet import ServerFleet
from accord.serve.options import OnDisconnect
from accord.serve.principals import Principal
from accord.serve.session_relay import SessionRelay
from accord.trace.connection_trace import ConnectionTrace, RecordedTransport
from accord.trace.format import AGENT
from accord.transport import Transport, spawn
from accord.wire import DEFAULT_MAX_BYTES

__all__ = ["AgentUpstream", "ProgramUpstream", "RecordedUpstream", "ServedAgent", "Upstream"]

log = logging.getLogger("accord.serve")


class ServedAgent(Protocol):
    """The part of an `accord.Agent` that the host needs."""

    @property
    def name(self) -> str: ...

    async def serve(
        self, transport: Transport, *, shared: SharedSessions | None = None, principal: str | None = None
    ) -> None: ...

    async def close(self) -> None: ...


class Upstream(Protocol):
    """Serves connections, each over a transport of its own."""

    on_disconnect: OnDisconnect
    """Whether a running turn goes on when its client does not come back; an option may replace it."""
    takes_over: bool
    """Whether a new connection may take over the agent of an older one that lost its links."""
    answers_alike: bool
    """Whether clients with the same `initialize` get the same answer, and the agent need not get each of them."""

    @property
    def running(self) -> set[str]:
        """The sessions with a running turn that needs no connection."""

    async def serve(self, transport: Transport, principal: Principal, root: str, *, is_forwarded: bool) -> None:
        """Serve one connection until either side has ended it; `is_forwarded` says that another node has its client."""

    def hand_over(self, wanted: Callable[[str], bool], on_released: Callable[[str], object]) -> list[str]:
        """See `SharedSessions.hand_over`."""

    async def interrupt(self) -> list[str]:
        """End the running turns because the server ends; the ids of their sessions."""

    async def close(self) -> None:
        """The server ends."""


class AgentUpstream:
    """An agent in this process, for any number of connections."""

    on_disconnect: OnDisconnect = "continue"
    takes_over = False

    def __init__(
        self,
        agent: ServedAgent,
        *,
        keeps_turns: bool,
        detached_seconds: float,
        fleet: ServerFleet | None = None,
        has_principals: bool = False,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._agent = agent
        # Another implementation may do anything in `serve`.
        self.answers_alike = isinstance(agent, Agent) and fleet is None
        self._sessions = SharedSessions(keeps_turns=keeps_turns, detached_seconds=detached_seconds)
        self._fleet = fleet
        self._has_principals = has_principals
        self._max_bytes = max_bytes
        if fleet is not None:
            fleet.on_lost.append(self._sessions.lose)

    @property
    def running(self) -> set[str]:
        """See `Upstream.running`."""
        return self._sessions.running

    async def serve(self, transport: Transport, principal: Principal, root: str, *, is_forwarded: bool) -> None:  # noqa: ARG002 - an agent gets its directories from the session
        """See `Upstream.serve`."""
        fleet = self._fleet
        if fleet is None or not fleet.forwards or is_forwarded:
            await self._serve(transport, principal)
            return
        relay = SessionRelay(transport, principal, fleet, self._max_bytes)
        await relay.serve(lambda local: self._serve(local, principal))

    async def _serve(self, transport: Transport, principal: Principal) -> None:
        name = principal.name if self._has_principals else None
        await self._agent.serve(transport, shared=self._sessions, principal=name)

    def hand_over(self, wanted: Callable[[str], bool], on_released: Callable[[str], object]) -> list[str]:
        """See `Upstream.hand_over`."""
        return self._sessions.hand_over(wanted, on_released)

    async def interrupt(self) -> list[str]:
        """See `Upstream.interrupt`."""

        def failure(session_id: str, asks: bool) -> Exception:  # noqa: FBT001 - called in one place
            error = drained(asks=asks)
            log.warning("the turn of session %s is ended: %s", session_id, error.message)
            return error

        return await self._sessions.interrupt(failure)

    async def close(self) -> None:
        """See `Upstream.close`."""
        await self._sessions.close()
        await self._agent.close()


class ProgramUpstream:
    """A program that speaks ACP on stdio: one process for each connection, in the root of its principal."""

    on_disconnect: OnDisconnect = "cancel"
    takes_over = True
    answers_alike = False

    def __init__(self, argv: Sequence[str], env: Mapping[str, str | None] | None = None) -> None:
        self._argv = tuple(argv)
        self._env = dict(env or {})

    @property
    def running(self) -> set[str]:
        """See `Upstream.running`: a program works for its connection only."""
        return set()

    def hand_over(self, wanted: Callable[[str], bool], on_released: Callable[[str], object]) -> list[str]:  # noqa: ARG002 - a program keeps its sessions
        """See `Upstream.hand_over`."""
        return []

    async def interrupt(self) -> list[str]:
        """See `Upstream.interrupt`: a program learns it when its connection ends."""
        return []

    async def serve(self, transport: Transport, principal: Principal, root: str, *, is_forwarded: bool) -> None:  # noqa: ARG002 - a program is in no fleet
        """See `Upstream.serve`."""
        recorder = transport.recorder if isinstance(transport, RecordedTransport) else None
        stderr = None if recorder is None else recorder.stderr
        child = await spawn(*self._argv, cwd=root, env=self._env, stderr=stderr)
        if recorder is not None:
            recorder.started(child.pid, self._argv)
        log.info("started %s for %s as process %d", os.path.basename(self._argv[0]), principal.name, child.pid)  # noqa: PTH119
        pumps = [asyncio.create_task(_pump(child, transport)), asyncio.create_task(_pump(transport, child))]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in done:
                error = pump.exception()
                if error is not None:
                    log.warning("the agent of %s is gone: %s", principal.name, error)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            await asyncio.shield(child.close())
            if recorder is not None:
                recorder.ended(child.exit_status)

    async def close(self) -> None:
        """See `Upstream.close`."""


class RecordedUpstream:
    """Another upstream whose connections are recorded: each with a number, and a note that names its principal."""

    def __init__(self, upstream: Upstream, trace: ConnectionTrace) -> None:
        self.on_disconnect = upstream.on_disconnect
        self.takes_over = upstream.takes_over
        # Each `initialize` has to reach the agent, through the recorded transport.
        self.answers_alike = False
        self._upstream = upstream
        self._trace = trace

    @property
    def running(self) -> set[str]:
        """See `Upstream.running`."""
        return self._upstream.running

    async def serve(self, transport: Transport, principal: Principal, root: str, *, is_forwarded: bool) -> None:
        """See `Upstream.serve`."""
        recorder = self._trace.begin()
        recorder.note(f"a connection of {principal.name}")
        try:
            recorded = RecordedTransport(transport, recorder, own=AGENT)
            await self._upstream.serve(recorded, principal, root, is_forwarded=is_forwarded)
        finally:
            recorder.ended(None)

    def hand_over(self, wanted: Callable[[str], bool], on_released: Callable[[str], object]) -> list[str]:
        """See `Upstream.hand_over`."""
        return self._upstream.hand_over(wanted, on_released)

    async def interrupt(self) -> list[str]:
        """See `Upstream.interrupt`."""
        return await self._upstream.interrupt()

    async def close(self) -> None:
        """See `Upstream.close`."""
        await self._upstream.close()
        self._trace.close()


async def _pump(source: Transport, sink: Transport) -> None:
    while texts := await source.receive():
        if not sink.try_send(texts):
            for text in texts:
                await sink.send(text)
