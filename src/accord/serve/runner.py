"""Runs an application with uvicorn: TLS, a deadline for headers, a shutdown that waits for open requests."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

import uvicorn

from accord.serve.application import AgentApplication
from accord.serve.http_protocol import HttpProtocol
from accord.serve.linked_socket import SocketProtocol
from accord.serve.options import HostLimits
from accord.time_scale import scaled

__all__ = ["Listener", "run_server"]

log = logging.getLogger("accord.serve")

# For the work that is left after the drain: closing frames, and responses that are being written.
SHUTDOWN_SECONDS = 5
LINGER_SECONDS = 0.5
PING_SECONDS = 15.0
BACKLOG = 2048
YOUNG_OBJECTS = 50_000
"""The number of new objects between two collections of cycles; the interpreter's default is 700.

A turn has some forty objects until it ends, none of them in a cycle. With 1,000 turns at once the collector looked at
all of them again and again, found nothing, and took a third of the server's CPU.
"""


@dataclass(frozen=True)
class Listener:
    """The address of a server, its certificate, and the time for its drain."""

    host: str = "127.0.0.1"
    port: int = 0
    tls_cert: str | os.PathLike[str] | None = None
    tls_key: str | os.PathLike[str] | None = None
    drain_seconds: float = scaled(30.0)
    """How long open requests may take to come to their end after SIGTERM."""


def run_server(
    application: AgentApplication,
    listener: Listener,
    limits: HostLimits,
    on_listening: Callable[[str, int], None] = lambda host, port: None,  # noqa: ARG005
    on_bound: Callable[[str, int], None] = lambda host, port: None,  # noqa: ARG005
) -> None:
    """Serve until SIGTERM or SIGINT; a second one ends it at once.

    `on_bound` is called when the port is known and nothing is served yet, `on_listening` when clients may connect.

    Raises:
        OSError: The address cannot be used, or the certificate cannot be read.
        StoreError: The database of a fleet cannot be used.
        LocalProtocolError: There are other nodes in the fleet, and no secret to forward requests to them.
    """
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((listener.host, listener.port))
        host, port = listening.getsockname()[:2]
        on_bound(host, port)
        config = uvicorn.Config(
            application,
            http=HttpProtocol,
            ws=SocketProtocol,
            ws_max_size=limits.body_bytes,
            ws_ping_interval=PING_SECONDS,
            ws_ping_timeout=PING_SECONDS,
            # Compression costs CPU and memory for each socket, and updates are small.
            ws_per_message_deflate=False,
            lifespan="on",
            access_log=False,
            log_config=None,
            log_level=logging.WARNING,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            ssl_certfile=listener.tls_cert,
            ssl_keyfile=listener.tls_key,
        )
        config.load()
        server = _DrainingServer(config, application, listener.drain_seconds, lambda: on_listening(host, port))
        with _rare_collections():
            asyncio.run(server.serve(sockets=[listening]))


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect cycles every `YOUNG_OBJECTS`, unless the program has set a larger threshold, or none."""
    before = gc.get_threshold()
    if gc.isenabled() and 0 < before[0] < YOUNG_OBJECTS:
        gc.set_threshold(YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _DrainingServer(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, application: AgentApplication, seconds: float, on_started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._application = application
        self._seconds = seconds
        self._on_started = on_started
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # Before anything listens: a database that cannot be used ends the start.
        await self._application.start()
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self._application.on_drain(lambda: self._begin_drain("drain"))
        self._on_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        # Not noted as captured, as uvicorn does: it would end this process by the same signal afterwards.
        if self._loop is None or self._draining is not None:
            self.should_exit = self.force_exit = True
        else:
            self._loop.call_soon_threadsafe(self._begin_drain, signal.Signals(sig).name)

    def _begin_drain(self, name: str) -> None:
        if self._draining is None:
            log.warning("%s: no new connections; open requests have %g s", name, self._seconds)
            self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        await self._application.drain(self._seconds)
        # Before the sockets are closed, so that clients get the reason.
        await self._application.close()
        # A message that crosses the end is answered with 404, so that its client knows that it was not received.
        await asyncio.sleep(LINGER_SECONDS)
        self.should_exit = True
