"""The types of MCP tools for authors: the tool, the result of a call, a server that failed, and the exceptions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from accord.errors import AccordError, CallTimeout
from accord.json_values import JsonValue
from accord.session.content import Block

__all__ = [
    "AmbiguousTool",
    "McpCallRefused",
    "McpCallTimeout",
    "McpCaller",
    "McpError",
    "McpFailure",
    "McpNonsense",
    "McpResult",
    "McpServerLost",
    "McpTool",
    "NoSuchTool",
]


@dataclass(frozen=True, slots=True)
class McpFailure:
    """A server that cannot be used: its name, and the reason with advice."""

    server: str
    reason: str


@dataclass(frozen=True, slots=True)
class McpResult:
    """The result of a tool; with `is_error` the content says what went wrong.

    `structured` is the JSON that the server sent beside the content: an object, and since 2026 any value.
    """

    content: list[Block]
    structured: JsonValue = None
    is_error: bool = False
    meta: dict[str, Any] | None = None


McpCaller: TypeAlias = Callable[[str, Mapping[str, Any], float | None], Awaitable[McpResult]]
"""Calls a tool by its name, with arguments and a timeout in seconds."""


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of one server; `await tool(path="x")` calls it.

    Schemas, annotations and `meta` are plain JSON, as the server sent them. Annotations are the server's own claims.
    """

    name: str
    server: str
    title: str | None
    description: str | None
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    meta: dict[str, Any] | None
    caller: McpCaller = field(repr=False, compare=False)

    async def __call__(self, /, **arguments: Any) -> McpResult:
        """Call it with the arguments of its schema.

        Raises:
            McpError: It gave no result; the subclass says why.
            LocalProtocolError: The arguments are no JSON; nothing was sent.
        """
        return await self.caller(self.name, arguments, None)


# --- exceptions


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
