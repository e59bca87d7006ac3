"""The judged agent at an address: each start of it is a connection, over WebSocket or streamable HTTP."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from accord.check.engine.process import Program, RunningProgram, start_program
from accord.errors import ConnectFailed, ConnectionLost, TransportError
from accord.time_scale import scaled
from accord.transport.interface import Transport
from accord.transport.remote import RemoteOptions

RECONNECT_SECONDS = scaled(5.0)
"""How long a lost link is tried again. A judge that hides broken links for long would judge its own patience."""


@dataclass(frozen=True)
class AgentAddress:
    """An agent that is served at an address, to be judged in place of a program.

        await check_agent(AgentAddress("ws://127.0.0.1:8080/acp", token=token))

    Neither the token nor a header is in a report.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    """Sent as `Authorization: Bearer`."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request."""
    tls: ssl.SSLContext | None = None
    """For `wss` and `https`; the system's certificates unless given."""

    @property
    def is_websocket(self) -> bool:
        """Whether the agent's own rules are judged over WebSocket, and not over streamable HTTP."""
        return self.url.lower().startswith("ws")

    @property
    def is_secure(self) -> bool:
        """Whether its connections have TLS."""
        return self.url.lower().startswith(("wss", "https"))


JudgedAgent: TypeAlias = Program | AgentAddress
"""A judged agent: a command, a factory of peers, or an address."""


def command_of(program: JudgedAgent) -> tuple[str, ...]:
    """The words that name it in reports; the address of one that is served."""
    if isinstance(program, AgentAddress):
        return (program.url,)
    return () if callable(program) else tuple(program)


async def start_agent(
    program: JudgedAgent, env: Mapping[str, str | None], on_data: Callable[[bytes], None]
) -> RunningProgram:
    """Start a program, or connect to an address.

    Raises:
        ConnectFailed: There is no such command, or no agent at the address.
    """
    if not isinstance(program, AgentAddress):
        return await start_program(program, env, on_data)
    return RunningConnection(await _connect(program), on_data)


def remote_options(address: AgentAddress) -> RemoteOptions:
    """The options of every connection to an address."""
    return RemoteOptions(
        token=address.token, headers=address.headers, tls=address.tls, reconnect_seconds=RECONNECT_SECONDS
    )


async def _connect(address: AgentAddress) -> Transport:
    options = remote_options(address)
    try:
        if address.is_websocket:
            from accord.transport.websocket import connect_websocket  # noqa: PLC0415 - needs an extra

            return await connect_websocket(address.url, options)
        from accord.check.engine.judged_http import JudgedHttp  # noqa: PLC0415

        return JudgedHttp(address.url, options)
    except ValueError as error:
        raise ConnectFailed(f"{address.url}: {error}") from error


class RunningConnection:
    """A connection in place of a process: its texts are lines, and its end is the end of stdout."""

    def __init__(self, transport: Transport, on_data: Callable[[bytes], None]) -> None:
        self.stderr = bytearray()
        self.refusal: ConnectFailed | None = None
        """Set where the server did not serve an agent at all."""
        self._transport = transport
        self._on_data = on_data
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._reading = asyncio.ensure_future(self._read())
        self._writing = asyncio.ensure_future(self._write())
        self._closing: asyncio.Future[None] | None = None

    async def _read(self) -> None:
        try:
            while texts := await self._transport.receive():
                # Between its tokens JSON may have line ends, and a message is one line of the record.
                self._on_data(b"".join(text.replace(b"\n", b" ") + b"\n" for text in texts))
        except TransportError as error:
            self.refusal = error if isinstance(error, ConnectFailed) else None
            self.stderr += f"{error}\n".encode()
        finally:
            self._on_data(b"")

    async def _write(self) -> None:
        # What is lost with the link is missed by the reader.
        with suppress(ConnectionLost):
            while True:
                await self._transport.send(await self._lines.get())

    def write(self, data: bytes) -> None:
        self._lines.put_nowait(data.removesuffix(b"\n"))

    def close_stdin(self) -> None:
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())

    async def _close(self) -> None:
        self._writing.cancel()
        await self._transport.close()

    async def wait(self, seconds: float) -> bool:
        done, _ = await asyncio.wait([self._reading], timeout=seconds)
        return bool(done)

    def terminate(self) -> None:
        self.close_stdin()

    async def destroy(self) -> int | None:
        self.close_stdin()
        assert self._closing is not None  # noqa: S101 - the line above
        self._reading.cancel()
        await asyncio.gather(self._closing, self._reading, self._writing, return_exceptions=True)
        return None
