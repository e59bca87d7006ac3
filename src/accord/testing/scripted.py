"""The scripted agent and the scripted client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from accord.agent import Agent
from accord.client.connect import StrPath
from accord.client.launch import AgentLauncher, InProcessAgent
from accord.errors import TransportError
from accord.json_values import JsonValue
from accord.testing.peer import PATIENCE_SECONDS, ScriptExit
from accord.testing.roles import AgentPeer, AgentScript, ClientPeer
from accord.transport.interface import Transport
from accord.wire import Framing

__all__ = ["ClientScript", "ScriptedAgent", "ScriptedClient"]

T = TypeVar("T")

ClientScript: TypeAlias = Callable[[ClientPeer], Awaitable[T]]
"""The script of a client; its result is that of `ScriptedClient.run`."""


class ScriptedAgent:
    """An agent for `accord.connect(ScriptedAgent(script))`; each connection runs the script from its beginning.

    When the script returns, further requests are refused with -32601 until the client closes. When it raises, the link
    is closed, `failure` has the exception, and `join` raises it at its end.
    """

    def __init__(self, script: AgentScript, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._script = script
        self._patience_seconds = patience_seconds
        self.peers: list[AgentPeer] = []
        """The peers of all connections so far."""
        self.failure: Exception | None = None
        """The first exception of the script."""

    def __repr__(self) -> str:
        return f"<scripted agent {getattr(self._script, '__name__', self._script)}>"

    @property
    def peer(self) -> AgentPeer:
        """The peer of the newest connection."""
        return self.peers[-1]

    async def serve(self, link: Transport) -> None:
        """Run the script at one end of a link."""
        peer = AgentPeer(link, patience_seconds=self._patience_seconds)
        self.peers.append(peer)
        try:
            await self._script(peer)
            await peer.finish()
        except (ScriptExit, TransportError):
            pass  # the script ends itself, or its client is gone: both may be the purpose of a test
        except Exception as error:  # noqa: BLE001 - it is the test's, and `check` gives it back
            self.failure = self.failure or error
        finally:
            await asyncio.shield(link.close())

    def check(self) -> None:
        """Raise the exception of the script, if there is one."""
        if self.failure is not None:
            raise self.failure


class ScriptedClient:
    """A client for an agent under test: `await ScriptedClient(script).run(agent)`."""

    def __init__(self, script: ClientScript[T], *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._script: ClientScript[Any] = script
        self._patience_seconds = patience_seconds

    def __repr__(self) -> str:
        return f"<scripted client {getattr(self._script, '__name__', self._script)}>"

    async def run(
        self,
        *target: StrPath | InProcessAgent | Transport,
        program_cwd: StrPath | None = None,
        env: Mapping[str, str | None] | None = None,
        framing: Framing = "lines",
    ) -> JsonValue:
        """Run the script against an agent: an `Agent`, a command, or a transport. Returns the result of the script.

        Then the link is closed, and a program that was started is gone.
        """
        launcher = AgentLauncher(target, program_cwd=program_cwd, env=env, framing=framing, stderr=None)
        link = await launcher.open()
        try:
            return await self._script(ClientPeer(link, patience_seconds=self._patience_seconds))
        except ScriptExit:
            return None
        finally:
            await asyncio.shield(_leave(launcher, link, target))


async def _leave(launcher: AgentLauncher, link: Transport, target: tuple[Any, ...]) -> None:
    await link.close()
    await launcher.close()
    await release(*target)


async def release(*target: Any) -> None:
    """Close the default store of an agent in this process, which would stay open otherwise."""
    for agent in target:
        if isinstance(agent, Agent):
            await agent.close()
