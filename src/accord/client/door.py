"""How an agent is reached: by starting its program, in this process, or over a transport that is there already."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, runtime_checkable

from accord.errors import ConnectFailed, LocalProtocolError
from accord.transport import memory_pair, spawn
from accord.transport.interface import Transport
from accord.wire import Framing

__all__ = ["Door", "InProcessAgent"]

STOP_SECONDS = 5.0


@runtime_checkable
class InProcessAgent(Protocol):
    """An agent in this process: whatever can serve a transport."""

    def serve(self, link: Transport, /) -> Coroutine[Any, Any, None]:
        """Serve the other end until it is gone."""


class Door:
    """Opens the way to one agent, again if need be."""

    def __init__(
        self,
        target: tuple[Any, ...],
        *,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str | None] | None,
        framing: Framing,
        stderr: Callable[[bytes], None] | None,
    ) -> None:
        if not target:
            raise LocalProtocolError("name an agent: its command, an Agent, or a transport")
        self._target = target
        self._cwd = cwd
        self._env = env
        self._framing: Framing = framing
        self._stderr = stderr
        self._serving: asyncio.Task[None] | None = None
        self._used = False

    @property
    def argv(self) -> tuple[str, ...] | None:
        """The command, where it is one."""
        return tuple(self._target) if all(isinstance(part, str) for part in self._target) else None

    @property
    def can_reopen(self) -> bool:
        """Whether there is a new agent behind it each time."""
        return self.argv is not None or isinstance(self._target[0], InProcessAgent)

    async def open(self) -> Transport:
        """The way in.

        Raises:
            ConnectFailed: There is none.
        """
        if self.argv is not None:
            return await spawn(*self.argv, cwd=self._cwd, env=self._env, framing=self._framing, stderr=self._stderr)
        target = self._target[0]
        if len(self._target) > 1:
            raise LocalProtocolError("an agent is a command of strings, or one Agent, or one transport")
        if isinstance(target, InProcessAgent):
            ours, theirs = memory_pair()
            await self.close()
            self._serving = asyncio.get_running_loop().create_task(target.serve(theirs))
            return ours
        if not isinstance(target, Transport):
            raise LocalProtocolError(f"{type(target).__name__} is no command, no Agent and no transport")
        if self._used:
            raise ConnectFailed("a transport can be used once")
        self._used = True
        return target

    async def close(self) -> None:
        """Let an agent in this process come to its end; a program ends with its transport."""
        serving, self._serving = self._serving, None
        if serving is not None:
            _, late = await asyncio.wait([serving], timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
            if not serving.cancelled() and serving.done():
                serving.exception()
