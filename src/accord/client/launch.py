"""The launcher of an agent: starts its program, reaches its address, runs it in this process, or takes a transport."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from accord.errors import ConnectFailed
from accord.jsonrpc.plain import plain_text
from accord.time_scale import scaled
from accord.transport import memory_pair, spawn
from accord.transport.interface import ProcessTransport, Transport
from accord.transport.remote import LinkReport, RemoteOptions, is_address, request_headers
from accord.wire import Framing

if TYPE_CHECKING:
    from accord.trace.connection_trace import ConnectionRecorder, ConnectionTrace
    from accord.trace.writer import TraceWriter

__all__ = ["AgentLauncher", "InProcessAgent", "StrPath", "absolute_path"]

StrPath: TypeAlias = str | os.PathLike[str]
"""A path, or a part of a command."""

STOP_SECONDS = scaled(5.0)
TOKEN_VARIABLE = "ACCORD_TOKEN"  # noqa: S105 - the name of a variable


@runtime_checkable
class InProcessAgent(Protocol):
    """An agent in this process, such as `accord.Agent`: an object that can serve a transport."""

    def serve(self, transport: Transport, /) -> Coroutine[Any, Any, None]:
        """Serve the other end until it is gone."""


class AgentLauncher:
    """Opens a transport to one agent, also repeatedly.

    `remote` are the options for an address; a program does not use them. `trace` is the file that records its wire.

    Raises:
        TypeError: The target is no command, no address, no Agent and no transport.
        ValueError: The address or a header is not usable.
        LocalProtocolError: The token would be sent unencrypted to another machine.
    """

    def __init__(
        self,
        target: tuple[Any, ...],
        *,
        program_cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str | None] | None,
        framing: Framing,
        stderr: Callable[[bytes], None] | None,
        remote: RemoteOptions | None = None,
        trace: StrPath | TraceWriter | None = None,
    ) -> None:
        self.argv = _argv(target)
        """The command, where it is one."""
        self.address: str | None = None
        """The address, where it is one."""
        self.on_link: Callable[[LinkReport], object] = lambda _: None
        """Called when the link to an address breaks, is back, or is given up."""
        self._remote = RemoteOptions()
        if self.argv is not None and len(self.argv) == 1 and is_address(self.argv[0]):
            self.address, self.argv = self.argv[0], None
            self._remote = _with_token(remote or RemoteOptions(), self._report_link)
            request_headers(self.address, self._remote)
        self.program_cwd = program_cwd
        self.env = env
        self.failure: BaseException | None = None
        """The exception of an agent in this process, if it failed."""
        self._target = target[0] if target else None
        self._framing: Framing = framing
        self._stderr = stderr
        self._trace = _trace_of(trace)
        self.wrap: Callable[[Transport], Transport] = lambda link: link
        """Applied to every new link, for an agent that speaks a dialect."""
        self._serving: asyncio.Task[None] | None = None
        self._used = False
        if self.argv is None and self.address is None:
            _check(target)

    @property
    def can_reopen(self) -> bool:
        """Whether each `open` starts or reaches a new agent."""
        return self.argv is not None or self.address is not None or isinstance(self._target, InProcessAgent)

    async def open(self) -> Transport:
        """Open a transport to the agent.

        Raises:
            ConnectFailed: It cannot be started.
            OSError: The file of its trace cannot be made.
        """
        if self._trace is None:
            return self.wrap(await self._open(self._stderr))
        recorder = self._trace.begin(self.argv or ())
        link = await self._open(_both(recorder.stderr, self._stderr))
        if self.argv is not None and isinstance(link, ProcessTransport):
            recorder.started(link.pid, self.argv)
        return self.wrap(_recorded(link, recorder))

    def close_trace(self) -> None:
        """Close the trace, if there is one of ours; no connection is opened any more."""
        if self._trace is not None:
            self._trace.close()

    async def _open(self, stderr: Callable[[bytes], None] | None) -> Transport:
        if self.argv is not None:
            return await spawn(*self.argv, cwd=self.program_cwd, env=self.env, framing=self._framing, stderr=stderr)
        if self.address is not None:
            return await self._open_address(self.address)
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

    async def _open_address(self, address: str) -> Transport:
        # Their packages are heavy, and an extra.
        if address.lower().startswith("ws"):
            from accord.transport.websocket import connect_websocket  # noqa: PLC0415

            return await connect_websocket(address, self._remote)
        from accord.transport.http import connect_http  # noqa: PLC0415

        return await connect_http(address, self._remote)

    def _report_link(self, report: LinkReport) -> None:
        self.on_link(report)

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


def _trace_of(trace: StrPath | TraceWriter | None) -> ConnectionTrace | None:
    if trace is None:
        return None
    from accord.trace.connection_trace import ConnectionTrace  # noqa: PLC0415 - most connections are not recorded

    return ConnectionTrace(trace)


def _recorded(link: Transport, recorder: ConnectionRecorder) -> Transport:
    from accord.trace.connection_trace import RecordedTransport  # noqa: PLC0415 - as above

    return RecordedTransport(link, recorder)


def _both(first: Callable[[bytes], None], second: Callable[[bytes], None] | None) -> Callable[[bytes], None]:
    if second is None:
        return first

    def both(data: bytes) -> None:
        first(data)
        second(data)

    return both


def _argv(target: tuple[Any, ...]) -> tuple[str, ...] | None:
    if not target or not all(isinstance(part, str | os.PathLike) for part in target):
        return None
    return tuple(plain_text(os.fspath(part)) for part in target)


def _with_token(options: RemoteOptions, on_link: Callable[[LinkReport], None]) -> RemoteOptions:
    """The options with the token of the environment, where none is given; an empty one is none."""
    token = options.token if options.token is not None else os.environ.get(TOKEN_VARIABLE)
    return replace(options, token=token or None, on_link=on_link)


def _check(target: tuple[Any, ...]) -> None:
    if not target:
        raise TypeError("name an agent: its command, its address, an Agent, or a transport")
    if len(target) > 1:
        raise TypeError("an agent is a command of strings, or one Agent, or one transport")
    given = target[0]
    if isinstance(given, type) or not isinstance(given, InProcessAgent | Transport):
        what = given.__name__ if isinstance(given, type) else type(given).__name__
        raise TypeError(f"{what} is no command, no Agent and no transport")


def absolute_path(path: str | os.PathLike[str]) -> str:
    """A directory as agents get it."""
    return str(Path(path).absolute())
