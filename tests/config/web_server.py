"""A web server on loopback that serves what a test gives it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Handler = Callable[[BaseHTTPRequestHandler], None]


@contextlib.contextmanager
def serving(pages: dict[str, Handler]) -> Iterator[str]:
    """The address under which the pages are; gone at the end."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages[self.path](self)

        def log_message(self, *_: object) -> None:
            """A test that fails says enough."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def page(content: bytes, *, status: int = 200, length: int | None = None, location: str = "") -> Handler:
    """A page; `length` where it lies about that."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(content) if length is None else length))
        if location:
            request.send_header("Location", location)
        request.end_headers()
        with contextlib.suppress(OSError):
            request.wfile.write(content)

    return answer
