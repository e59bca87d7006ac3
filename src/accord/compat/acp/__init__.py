"""Agents and clients written for the official Python SDK (`agent-client-protocol` 0.11 to 1.0), on Accord's engine.

Change `acp` to `accord.compat.acp` in an import, and nothing else: `run_agent`, `connect_to_agent` and
`spawn_agent_process` take the objects of the SDK that is installed, and every other name is that of the SDK itself.
Accord has neither a copy of its classes nor a dependency on it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from accord.compat.acp.engine import Observer, agent_side, client_side, installed_sdk
from accord.compat.acp.process import AgentProcess, StderrReader, spawned
from accord.compat.acp.streams import transport_of
from accord.transport import open_stdio
from accord.wire import DEFAULT_MAX_BYTES

__all__ = [
    "AgentProcess",
    "AgentSideConnection",
    "ClientSideConnection",
    "Observer",
    "StderrReader",
    "connect_to_agent",
    "run_agent",
    "spawn_agent_process",
]


async def run_agent(
    agent: Any,
    input_stream: Any = None,
    output_stream: Any = None,
    *,
    use_unstable_protocol: bool = False,
    stdio_buffer_limit_bytes: int = DEFAULT_MAX_BYTES,
    observers: Iterable[Observer] | None = None,
) -> None:
    """Serve an `acp.Agent` until its client is gone: on stdin and stdout, or on the streams that are given.

    While it serves stdin and stdout, a `print` anywhere in the program goes to stderr. A message may have 64 MiB, or
    `stdio_buffer_limit_bytes` if that is more.

    Raises:
        ImportError: The official SDK is not installed.
    """
    if input_stream is None and output_stream is None:
        transport = open_stdio("lines", max(DEFAULT_MAX_BYTES, stdio_buffer_limit_bytes))
    else:
        transport = transport_of(input_stream, output_stream)
    try:
        side = agent_side(agent, transport, use_unstable_protocol=use_unstable_protocol, observers=observers or ())
    except BaseException:
        await transport.close()
        raise
    try:
        await side.listen()
    finally:
        await side.close()


def connect_to_agent(
    client: Any,
    input_stream: Any,
    output_stream: Any = None,
    *,
    use_unstable_protocol: bool = False,
    observers: Iterable[Observer] | None = None,
) -> Any:
    """A `ClientSideConnection` of the installed SDK to the agent behind two streams, or one message transport.

    `input_stream` is the `asyncio.StreamWriter` to the agent and `output_stream` the `asyncio.StreamReader` from it.
    `close` closes both. To be called in a running loop.

    Raises:
        ImportError: The official SDK is not installed.
        TypeError: These are no such streams.
    """
    transport = transport_of(input_stream, output_stream)
    side = client_side(client, transport, use_unstable_protocol=use_unstable_protocol, observers=observers or ())
    side._conn.start()  # noqa: SLF001 - ours
    return side


@contextlib.asynccontextmanager
async def spawn_agent_process(
    to_client: Any,
    command: str,
    *args: str,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    transport_kwargs: Mapping[str, Any] | None = None,
    use_unstable_protocol: bool = False,
    observers: Iterable[Observer] | None = None,
) -> AsyncIterator[tuple[Any, AgentProcess]]:
    """Start an agent and connect a client to it, as an async context with the connection and the process.

    The connection is a `ClientSideConnection` of the installed SDK. The agent's environment is the SDK's short one and
    `env`. Its stderr is always read. The program and everything that it started are gone when the block is left.

    Raises:
        ImportError: The official SDK is not installed.
        ConnectFailed: The program cannot be started.
    """
    transport, process = await spawned(command, *args, env=env, cwd=cwd, **dict(transport_kwargs or {}))
    try:
        side = client_side(to_client, transport, use_unstable_protocol=use_unstable_protocol, observers=observers or ())
        side._conn.start()  # noqa: SLF001 - ours
        try:
            yield side, process
        finally:
            await side.close()
    finally:
        await transport.close()
        if process.stderr is not None:
            process.stderr.finish()


def AgentSideConnection(  # noqa: N802 - the SDK's name and signature
    to_agent: Any,
    input_stream: Any,
    output_stream: Any = None,
    listening: bool = True,  # noqa: FBT001, FBT002
    *,
    use_unstable_protocol: bool = False,
    observers: Iterable[Observer] | None = None,
) -> Any:
    """The SDK's class of this name, made as there: `run_agent` without waiting for the end."""
    transport = transport_of(input_stream, output_stream)
    side = agent_side(to_agent, transport, use_unstable_protocol=use_unstable_protocol, observers=observers or ())
    if listening:
        side._conn.start()  # noqa: SLF001 - ours
    return side


ClientSideConnection = connect_to_agent
"""The SDK's class of this name, made as there."""


def __getattr__(name: str) -> Any:
    """Every other name of the installed SDK."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(installed_sdk(), name)
