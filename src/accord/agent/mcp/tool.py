"""The types of MCP tools for authors: the tool, the result of a call, and a server that failed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from accord.json_values import JsonValue
from accord.session.content import Block

__all__ = ["McpCaller", "McpFailure", "McpResult", "McpTool"]


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
