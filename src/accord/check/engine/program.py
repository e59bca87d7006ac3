"""The judged program: a process of its own, a peer that runs in this process, or an agent at an address."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from accord.errors import ConnectFailed, ConnectionLost, TransportError
from accord.time_scale import scaled
from accord.transport.interface import Transport
from accord.transport.process import ChildProcess, Pipes, start
from accord.transport.remote import RemoteOptions

# The end of stderr is kept: it has the reason of a failure.
STDERR_BYTES = 20_000
_READ_BYTES = 64 * 1024


class Peer(Protocol):
    """A program that is judged without a process: it reads lines and writes bytes until there are no more lines."""

    async def serve(self, lines: AsyncIterator[bytes], write: Callable[[bytes], None], /) -> None:
        """Run until `lines` ends; lines come without newlines, written bytes need them."""
        ...


Program: TypeAlias = Sequence[str] | Callable[[], Peer]
"""A command, or a factory of peers, called for each start."""


class RunningProgram(Protocol):
    """One start of a program. `on_data` gets its stdout, b"" at the end."""

    stderr: bytearray

    def write(self, data: bytes) -> None: ...

    def has_unread(self) -> bool:
        """Whether something that was written waits because the program does not read."""
        ...

    def close_stdin(self) -> None: ...

    async def wait(self, seconds: float) -> bool:
        """Whether it has ended, after a wait of at most so many seconds."""
        ...

    def terminate(self) -> None: ...

    async def destroy(self) -> int | None:
        """Kill the rest of it; returns its exit status."""
        ...


async def start_program(
    program: Program, env: Mapping[str, str | None], on_data: Callable[[bytes], None]
) -> RunningProgram:
    """Start a program.

    Raises:
        ConnectFailed: There is no such command.
    """
    if callable(program):
        return RunningPeer(program(), on_data)
    child, pipes = start(program, None, env)
    running = RunningProcess(child, pipes, on_data)
    await running.open()
    return running


class RunningProcess:
    """A process with its descendants; none of them survives us."""

    def __init__(self, child: ChildProcess, pipes: Pipes, on_data: Callable[[bytes], None]) -> None:
        self._child = child
        self._pipes = pipes
        self._on_data = on_data
        self._stdin: asyncio.WriteTransport | None = None
        self._readers: list[asyncio.ReadTransport] = []
        self.stderr = bytearray()
        child.watch(lambda: None)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        for descriptor, take in ((self._pipes.stdout, self._on_data), (self._pipes.stderr, self._on_stderr)):
            transport, _ = await loop.connect_read_pipe(
                lambda take=take: _Reader(take),  # type: ignore[misc]
                os.fdopen(descriptor, "rb", buffering=0),
            )
            self._readers.append(transport)
        self._stdin, _ = await loop.connect_write_pipe(
            asyncio.BaseProtocol, os.fdopen(self._pipes.stdin, "wb", buffering=0)
        )

    def _on_stderr(self, data: bytes) -> None:
        self.stderr += data
        del self.stderr[:-STDERR_BYTES]

    def write(self, data: bytes) -> None:
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)

    def has_unread(self) -> bool:
        return self._stdin is not None and self._stdin.get_write_buffer_size() > 0

    def close_stdin(self) -> None:
        if self._stdin is not None:
            self._stdin.close()

    async def wait(self, seconds: float) -> bool:
        return await self._child.wait(seconds)

    def terminate(self) -> None:
        self._child.terminate()

    async def destroy(self) -> int | None:
        self._child.kill()
        await self._child.wait(2.0)
        await self._child.sweep()
        self._child.destroy()
        # The content of the pipes has been read by now.
        await asyncio.sleep(0)
        for transport in (*self._readers, self._stdin):
            if transport is not None:
                transport.close()
        await asyncio.sleep(0)
        return self._child.exit_status


class _Reader(asyncio.Protocol):
    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def eof_received(self) -> None:
        self._take(b"")


class RunningPeer:
    """A peer in this process. It cannot be killed, but it is cancelled and abandoned."""

    def __init__(self, peer: Peer, on_data: Callable[[bytes], None]) -> None:
        self._on_data = on_data
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._rest = b""
        stderr = getattr(peer, "stderr", None)
        self.stderr = stderr if isinstance(stderr, bytearray) else bytearray()
        self._task = asyncio.ensure_future(self._run(peer))

    async def _run(self, peer: Peer) -> int:
        try:
            await peer.serve(self._iterate(), self._on_data)
        except asyncio.CancelledError:
            return -15
        except SystemExit as end:
            return int(end.code or 0)
        except Exception as error:  # noqa: BLE001 - it is the peer's, as a traceback on stderr would be
            self.stderr += f"{type(error).__name__}: {error}\n".encode()
            return 1
        finally:
            self._on_data(b"")
        return 0

    async def _iterate(self) -> AsyncIterator[bytes]:
        while (line := await self._lines.get()) is not None:
            yield line

    def write(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line)

    def has_unread(self) -> bool:
        return not self._lines.empty()

    def close_stdin(self) -> None:
        self._lines.put_nowait(None)

    async def wait(self, seconds: float) -> bool:
        done, _ = await asyncio.wait([self._task], timeout=seconds)
        return bool(done)

    def terminate(self) -> None:
        self._task.cancel()

    async def destroy(self) -> int | None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            return await self._task
        return None


# --- processes that are not our children

_PAUSE_SECONDS = 0.01


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    with suppress(OSError):
        # A zombie does nothing any more.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True


async def outlives(pid: int, seconds: float) -> bool:
    """Whether a process that is not our child still runs after some seconds; polls."""
    until = time.monotonic() + seconds
    while is_running(pid):
        if time.monotonic() > until:
            return True
        await asyncio.sleep(_PAUSE_SECONDS)
    return False


# --- an agent at an address

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

    def has_unread(self) -> bool:
        return not self._lines.empty()

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
