"""The exceptions of MCP calls, by whose fault it was.

AccordError
└── McpError                 `server` says which
    ├── NoSuchTool           no server has it (also a LookupError)
    ├── AmbiguousTool        several have it: say which server is meant (also a LookupError)
    ├── McpCallTimeout       no answer in time (also a CallTimeout); the server was asked to stop
    ├── McpCallRefused       the server answered with an error object
    ├── McpNonsense          the server answered with something that is no MCP
    └── McpServerLost        it died, its link broke, or it was closed before it answered

A tool that ran and failed is none of these: that is an `McpResult` with `is_error`, for the model to read.
"""

from __future__ import annotations

from typing import Any

from accord.errors import AccordError, CallTimeout

__all__ = [
    "AmbiguousTool",
    "McpCallRefused",
    "McpCallTimeout",
    "McpError",
    "McpNonsense",
    "McpServerLost",
    "NoSuchTool",
]


class McpError(AccordError):
    """A failure of an MCP server or one of its tools; `server` is its name, where it is known."""

    def __init__(self, message: str, *, server: str = "") -> None:
        super().__init__(message)
        self.server = server


class NoSuchTool(McpError, LookupError):
    """No open server has a tool of this name."""

    def __init__(self, message: str, *, tool: str, server: str = "") -> None:
        super().__init__(message, server=server)
        self.tool = tool


class AmbiguousTool(McpError, LookupError):
    """More than one server has a tool of this name; `servers` are their names."""

    def __init__(self, message: str, *, tool: str, servers: tuple[str, ...]) -> None:
        super().__init__(message)
        self.tool = tool
        self.servers = servers


class McpCallTimeout(McpError, CallTimeout):
    """The server did not answer in time; it was notified that the answer is no longer wanted."""

    def __init__(self, server: str, tool: str, timeout_seconds: float) -> None:
        CallTimeout.__init__(self, f"{tool} of the MCP server {server}", timeout_seconds)
        self.server = server
        self.tool = tool

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.server, self.tool, self.timeout_seconds), self.__dict__


class McpCallRefused(McpError):
    """The server answered with an error object: `code`, `message` and `data` as it sent them."""

    def __init__(self, message: str, *, server: str, code: int, data: Any = None) -> None:
        super().__init__(f"the MCP server {server} refused: {message} ({code})", server=server)
        self.message = message
        self.code = code
        self.data = data


class McpNonsense(McpError):
    """The server answered, but not as MCP says."""


class McpServerLost(McpError):
    """The server, or the link to it, is gone.

    `exit_status` and `stderr_tail` are those of a process that was ours (negative: the signal that ended it).
    """

    def __init__(self, message: str, *, server: str, exit_status: int | None = None, stderr_tail: str = "") -> None:
        super().__init__(message, server=server)
        self.exit_status = exit_status
        self.stderr_tail = stderr_tail
