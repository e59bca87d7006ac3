"""A small web server on loopback, with fixed answers by path."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

__all__ = ["Answer", "Site", "page", "serving"]

Answer = bytes | Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Site:
    """A web server that gives fixed answers by path; what it was asked is in `asked`."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
            fields = dict(line.split(": ", 1) for line in head.splitlines()[1:] if line)
            path = head.split(" ")[1]
            self.asked.append((path, fields["Host"]))
            answer = self.answers.get(path, page("not here", status="404 Not Found"))
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # whoever asked is gone
        finally:
            writer.close()


@asynccontextmanager
async def serving(answers: Mapping[str, Answer], tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    site = Site(answers)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


def page(text: str, kind: str = "text/html", status: str = "200 OK", *more: str) -> bytes:
    body = text.encode()
    fields = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more]
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + body
