"""The launcher of an agent: starts its program, runs it in this process, or takes an existing transport."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, runtime_checkable

from accord.errors import ConnectFailed
from accord.jsonrpc.plain import plain_text
from accord.time_scale import scaled
from accord.transport import memory_pair, spawn
from accord.transport.interface import Transport
from accord.wire import Framing

__all__ = ["AgentLauncher", "InProcessAgent"]

STOP_SECONDS = scaled(5.0)
ADDRESS_SCHEMES = frozenset({"ws", "wss", "http", "https"})


@runtime_checkable
class InProcessAgent(Protocol):
    """An agent in this process, such as `accord.Agent`: an object that can serve a transport."""

    def serve(self, transport: Transport, /) -> Coroutine[Any, Any, None]:
        """Serve the other end until it is gone."""


class AgentLauncher:
    """Opens a transport to one agent, also repeatedly.

    Raises:
        TypeError: The target is no command, no Agent and no transport.
        ValueError: The target is an address.
    """

    def __init__(
        self,
        target: tuple[Any, ...],
        *,
        program_cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str | None] | None,
        framing: Framing,
        stderr: Callable[[bytes], None] | None,
    ) -> None:
        self.argv = _argv(target)
        """The command, where it is one."""
        self.program_cwd = program_cwd
        self.env = env
        self.failure: BaseException | None = None
        """The exception of an agent in this process, if it failed."""
        self._target = target[0] if target else None
        self._framing: Framing = framing
        self._stderr = stderr
        self.wrap: Callable[[Transport], Transport] = lambda link: link
        """Applied to every new link, for an agent that speaks a dialect."""
        self._serving: asyncio.Task[None] | None = None
        self._used = False
        if self.argv is None:
            _check(target)

    @property
    def can_reopen(self) -> bool:
        """Whether each `open` starts a new agent."""
        return self.argv is not None or isinstance(self._target, InProcessAgent)

    async def open(self) -> Transport:
        """Open a transport to the agent.

        Raises:
            ConnectFailed: It cannot be started.
        """
        return self.wrap(await self._open())

    async def _open(self) -> Transport:
        if self.argv is not None:
            return await spawn(
                *self.argv, cwd=self.program_cwd, env=self.env, framing=self._framing, stderr=self._stderr
            )
        target = self._target
        if isinstance(target, InProcessAgent):
            await self.close()
            ours, theirs = memory_pair()
            self.failure = None
            self._serving = asyncio.get_running_loop().create_task(self._serve(target, theirs))
            return ours
        if self._used or not isinstance(target, Transport):
            raise ConnectFailed("a transport can be used once")
        self._used = True
        return target

    async def _serve(self, agent: InProcessAgent, link: Transport) -> None:
        try:
            await agent.serve(link)
        except Exception as error:  # noqa: BLE001 - raised to the waiter of the agent
            self.failure = error
        finally:
            # Otherwise the client would wait for an agent that has failed.
            await link.close()

    async def close(self) -> None:
        """End an agent in this process; a program ends with its transport."""
        serving, self._serving = self._serving, None
        if serving is None:
            return
        _, late = await asyncio.wait([serving], timeout=STOP_SECONDS)
        if late:
            serving.cancel()
            await asyncio.wait([serving], timeout=STOP_SECONDS)


def _argv(target: tuple[Any, ...]) -> tuple[str, ...] | None:
    if not target or not all(isinstance(part, str | os.PathLike) for part in target):
        return None
    argv = tuple(plain_text(os.fspath(part)) for part in target)
    scheme, separator, _ = argv[0].partition("://")
    if len(argv) == 1 and separator and scheme.lower() in ADDRESS_SCHEMES:
        raise ValueError(f"{argv[0]!r} is an address: agents cannot be reached over {scheme} yet, only as programs")
    return argv


def _check(target: tuple[Any, ...]) -> None:
    if not target:
        raise TypeError("name an agent: its command, an Agent, or a transport")
    if len(target) > 1:
        raise TypeError("an agent is a command of strings, or one Agent, or one transport")
    given = target[0]
    if isinstance(given, type) or not isinstance(given, InProcessAgent | Transport):
        what = given.__name__ if isinstance(given, type) else type(given).__name__
        raise TypeError(f"{what} is no command, no Agent and no transport")
