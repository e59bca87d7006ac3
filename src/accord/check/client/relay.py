"""The program that a client starts as its agent: connects its stdin and stdout to the stub agent of the check.

It is started by its path and imports the standard library only, so that nothing of the client's environment matters.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

_READ_BYTES = 64 * 1024


def main(port: str, token: str) -> None:
    """Copy both ways until the check closes its end, or the client does."""
    connection = socket.create_connection(("127.0.0.1", int(port)))
    connection.sendall(token.encode() + b"\n")
    threading.Thread(target=_send, args=(connection,), daemon=True).start()
    while data := connection.recv(_READ_BYTES):
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]
    # The thread may still wait for the client: no data is left for either side.
    os._exit(0)


def _send(connection: socket.socket) -> None:
    while data := os.read(0, _READ_BYTES):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
