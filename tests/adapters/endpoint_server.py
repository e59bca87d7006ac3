"""A program: serves the `app` of a module on loopback with uvicorn, prints the port, and ends with its stdin.

python -m tests.adapters.endpoint_server tests.adapters.agno_endpoint
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import threading

import uvicorn


def _end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main(module: str) -> None:
    app = importlib.import_module(module).app
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - for the test that waits for it
    # The pipe is not read any more, and CrewAI prints a panel for each step: a full pipe would block the server.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1])
