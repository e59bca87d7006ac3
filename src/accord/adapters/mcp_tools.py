"""The tools of the client's MCP servers, in the form in which every framework takes a function tool."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accord.adapters.tool_calls import text_of
from accord.agent import McpError, McpResult, McpTool
from accord.session.content import Text

__all__ = ["ClientTool", "client_tools"]

CALL_SECONDS = 300.0
# The longest name of a tool that all providers take.
MAX_NAME = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool of an MCP server that the client gave to the session."""

    name: str
    """Unique among the tools of the run, and safe for every provider."""
    description: str
    schema: dict[str, Any]
    """The JSON schema of the arguments."""
    tool: McpTool

    @property
    def annotations(self) -> dict[str, Any]:
        """The server's own claims about the tool."""
        return self.tool.annotations

    @property
    def is_read_only(self) -> bool:
        """Whether its server says that it changes nothing."""
        return self.tool.annotations.get("readOnlyHint") is True

    async def call(self, arguments: Mapping[str, Any]) -> McpResult:
        """Call it; a server that fails is a result with `is_error`, so that the run goes on."""
        try:
            return await self.tool.caller(self.tool.name, arguments, CALL_SECONDS)
        except McpError as error:
            return McpResult([Text(str(error))], is_error=True)

    @staticmethod
    def text(result: McpResult) -> str:
        """A result as text for the model."""
        return text_of(result.content, result.structured) or "[no text]"


def client_tools(tools: Sequence[McpTool], taken: Collection[str], prefix: str) -> list[ClientTool]:
    """Each tool under its own name, or with its server's in front where that is taken, or with a number behind."""
    names = set(taken)
    found: list[ClientTool] = []
    for tool in tools:
        name = _unused(tool, names, prefix)
        names.add(name)
        described = tool.description or tool.title or tool.name
        found.append(ClientTool(name, described, tool.input_schema, tool))
    return found


def _unused(tool: McpTool, taken: Collection[str], prefix: str) -> str:
    own = _UNSAFE.sub("_", f"{prefix}{tool.name}")[:MAX_NAME]
    if own not in taken:
        return own
    long = _UNSAFE.sub("_", f"{prefix}{tool.server}_{tool.name}")[:MAX_NAME]
    name, number = long, 2
    while name in taken:
        name, number = f"{long[: MAX_NAME - len(str(number)) - 1]}_{number}", number + 1
    return name
