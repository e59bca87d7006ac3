"""A TCP proxy in front of PostgreSQL that loses answers, requests, connections or the whole network when told."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Iterator

from tests.postgres import Database

__all__ = ["Proxy", "proxied"]

# A close that sends RST at once.
_RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Forwards bytes; `lose_answer_to` and `lose_request` cut one connection at one message that holds a word."""

    def __init__(self, database: Database) -> None:
        self._target = database.endpoint()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._held: set[socket.socket] = set()
        self._let_go = threading.Event()
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._open.set()
        self.lose_answer_to: bytes | None = None
        self.lose_request: bytes | None = None
        self.refuses: object = False
        self.losses = 0
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def freeze(self) -> None:
        """Forward nothing more, in no direction; connections stay open."""
        self._open.clear()

    def thaw(self) -> None:
        self._open.set()

    def hold(self) -> None:
        """Forward nothing more of the connections that are open now until `let_go`; new ones pass."""
        self._let_go.clear()
        with self._lock:
            self._held |= {client for client, _ in self._pairs}

    def let_go(self) -> None:
        """Forward what was held, also where the client has closed the connection since."""
        with self._lock:
            self._held.clear()
        self._let_go.set()

    def cut(self) -> None:
        """Reset all connections at the client's side; the server is not told."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for client, _ in pairs:
            _reset(client)

    def close(self) -> None:
        self.thaw()
        self.let_go()
        # A thread that waits in accept() is not woken by close().
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for client, server in pairs:
            _reset(client)
            _reset(server)
        for thread in self._threads:
            thread.join(10.0)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            host, port = self._target
            server = socket.socket(socket.AF_UNIX if host.startswith("/") else socket.AF_INET)
            try:
                if self.refuses:
                    raise OSError  # noqa: TRY301
                server.connect(os.path.join(host, f".s.PGSQL.{port}") if host.startswith("/") else (host, port))  # noqa: PTH118
            except OSError:
                _reset(client)
                server.close()
                continue
            with self._lock:
                self._pairs.append((client, server))
            swallowing = threading.Event()
            for ends, is_request in (((client, server), True), ((server, client), False)):
                thread = threading.Thread(target=self._pump, args=(*ends, swallowing, is_request), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pump(
        self,
        source: socket.socket,
        target: socket.socket,
        swallowing: threading.Event,
        is_request: bool,  # noqa: FBT001
    ) -> None:
        try:
            while data := source.recv(1 << 16):
                self._open.wait()
                if source in self._held or target in self._held:
                    self._let_go.wait()
                if is_request and self._takes("lose_request", data):
                    break
                if is_request and self._takes("lose_answer_to", data):
                    swallowing.set()
                if not is_request and swallowing.is_set():
                    break
                target.sendall(data)
        except OSError:
            """One end was reset."""
        finally:
            _reset(source)
            _reset(target)

    def _takes(self, name: str, data: bytes) -> bool:
        word: bytes | None = getattr(self, name)
        if word is None or word not in data:
            return False
        setattr(self, name, None)
        self.losses += 1
        return True


def _reset(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        end.close()


@contextlib.contextmanager
def proxied(database: Database) -> Iterator[Proxy]:
    proxy = Proxy(database)
    try:
        yield proxy
    finally:
        proxy.close()
