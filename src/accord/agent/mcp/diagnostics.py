"""Diagnostics of an MCP server that cannot be used: the reason, and advice for the user.

Addresses are shown without query and user name: both may hold a secret.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx2
from mcp import MCPError
from pydantic import ValidationError

from accord.errors import ConnectFailed, ConnectionLost, FrameError, TransportError
from accord.session.client_requests import McpServer
from accord.transport.interface import ProcessTransport

__all__ = ["Diagnostics", "how_it_ended", "misshapen", "why_not_started"]

_SHOWN_CHARACTERS = 120


@dataclass
class Diagnostics:
    """The program and the end of its link, the last bad HTTP status, and the texts that were no messages."""

    on_broken: Callable[[], None]
    """Called when it is clear that no answer can come any more, and the package would not notice."""
    child: ProcessTransport | None = None
    loss: TransportError | None = None
    http_status: int | None = None
    nonsense_count: int = 0
    first_nonsense: str = ""

    async def on_stream_exception(self, error: Exception) -> None:
        """Note a text that is no message; the connection goes on."""
        self.nonsense_count += 1
        if self.nonsense_count == 1:
            self.first_nonsense = str(error)[:_SHOWN_CHARACTERS]


_TAIL_LINES = 12
_TAIL_CHARACTERS = 1500

_HINTS = {
    HTTPStatus.UNAUTHORIZED: "check the headers that it was given",
    HTTPStatus.FORBIDDEN: "check the headers that it was given",
    HTTPStatus.NOT_FOUND: "check the address",
    HTTPStatus.METHOD_NOT_ALLOWED: "check the address, and whether it is http or sse",
}


def why_not_started(
    server: McpServer, diagnostics: Diagnostics, error: BaseException | None, timeout_seconds: float
) -> str:
    """Why the server never became usable; `error` None means that its time was over."""
    if diagnostics.loss is not None:
        return f"{_ending(diagnostics)} before it was ready" + _stderr(diagnostics)
    if error is None:
        return (
            _silence(server, diagnostics, timeout_seconds)
            if diagnostics.http_status is None
            else _status(server, diagnostics.http_status)
        )
    return _fault(server, diagnostics, root_of(error))


def how_it_ended(server: McpServer, diagnostics: Diagnostics, error: BaseException | None) -> str:
    if diagnostics.loss is not None:
        return _ending(diagnostics) + _stderr(diagnostics)
    if error is None:
        return (
            "it closed the connection" if diagnostics.http_status is None else _status(server, diagnostics.http_status)
        )
    return _fault(server, diagnostics, root_of(error))


def root_of(error: BaseException) -> BaseException:
    """The first single failure in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def misshapen(error: ValidationError) -> str:
    """The first place where an answer does not fit MCP, and the reason."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


def _ending(diagnostics: Diagnostics) -> str:
    loss = diagnostics.loss
    if isinstance(loss, FrameError):
        return f"it wrote something that cannot be read any further ({loss})"
    status = loss.exit_status if isinstance(loss, ConnectionLost) else None
    if status is None:
        return "it closed its output"
    return f"it exited with status {status}" if status >= 0 else f"it was ended by signal {-status}"


def _stderr(diagnostics: Diagnostics) -> str:
    tail = diagnostics.child.stderr_tail.strip() if diagnostics.child is not None else ""
    if not tail:
        return ""
    lines = tail[-_TAIL_CHARACTERS:].splitlines()[-_TAIL_LINES:]
    return "; its stderr ended with:\n" + "\n".join(lines)


def _silence(server: McpServer, diagnostics: Diagnostics, timeout_seconds: float) -> str:
    what = "that the command starts an MCP server" if server.type == "stdio" else "that an MCP server is at the address"
    received = ""
    if diagnostics.nonsense_count:
        received = (
            f"; it wrote {diagnostics.nonsense_count} texts that are no MCP, the first: {diagnostics.first_nonsense!r}"
        )
    return f"no answer within {timeout_seconds:g} s{received}; check {what}" + _stderr(diagnostics)


def _fault(server: McpServer, diagnostics: Diagnostics, error: BaseException) -> str:
    if isinstance(error, ConnectFailed):
        return _start_fault(server, error)
    if isinstance(error, httpx2.HTTPStatusError):
        return _status(server, error.response.status_code)
    if isinstance(error, MCPError) and diagnostics.http_status is not None:
        return f"{_status(server, diagnostics.http_status)} ({error})"
    if isinstance(error, httpx2.TransportError | httpx2.InvalidURL):
        what = str(error) or type(error).__name__
        return f"cannot reach {_address(server)}: {what}; check the address, and that it runs"
    if isinstance(error, ValidationError):
        return f"it does not speak MCP: {misshapen(error)}"
    if isinstance(error, MCPError):
        return f"it refused: {error} ({error.code})"
    return str(error) or type(error).__name__


def _start_fault(server: McpServer, error: ConnectFailed) -> str:
    cause = error.__cause__
    where = cause.filename if isinstance(cause, OSError) else None
    if isinstance(cause, FileNotFoundError | NotADirectoryError) and where not in {None, server.command}:
        return f"there is no directory {where} to start it in"
    if isinstance(cause, FileNotFoundError):
        return f"there is no program {server.command}: install it, or correct the command"
    if isinstance(cause, PermissionError):
        return f"{server.command} may not be run: make it executable, or correct the command"
    return str(error)


def _status(server: McpServer, status: int) -> str:
    known = status in HTTPStatus.__members__.values()
    name = f" {HTTPStatus(status).phrase}" if known else ""
    hint = _HINTS.get(HTTPStatus(status)) if known else None
    return f"{_address(server)} answered with HTTP status {status}{name}" + (f": {hint}" if hint else "")


def _address(server: McpServer) -> str:
    try:
        parts = urlsplit(server.url)
    except ValueError:
        return "its address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
