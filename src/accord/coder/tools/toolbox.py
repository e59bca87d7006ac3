"""Which tools a model is offered: those of the mode, and those of the session's MCP servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accord.agent.mcp import McpTool
from accord.coder.model import ToolDefinition
from accord.coder.tools.call import BadArguments, BuiltIn, ToolInvocation
from accord.coder.tools.changing import Edit, Write
from accord.coder.tools.looking import List, Search
from accord.coder.tools.planning import LeavePlan, MakePlan
from accord.coder.tools.reading import Read
from accord.coder.tools.running import Run
from accord.coder.tools.servers import ServerCall, definition, named_tools

__all__ = ["Toolbox"]

_LOOKING: tuple[type[BuiltIn], ...] = (Read, Search, List)
OFFERED: dict[str, tuple[type[BuiltIn], ...]] = {
    "ask": _LOOKING,
    "plan": (*_LOOKING, MakePlan, LeavePlan),
    "code": (*_LOOKING, Edit, Write, Run, MakePlan),
}


class Toolbox:
    """The tools of one mode. Servers' tools may change anything, so they are there where anything may be changed."""

    def __init__(self, mode: str, servers: Sequence[McpTool] = ()) -> None:
        self._own = {tool.name: tool for tool in OFFERED[mode]}
        self._servers = named_tools(servers) if mode == "code" else {}
        self._mode = mode

    @property
    def definitions(self) -> list[ToolDefinition]:
        """All of them, in an order that does not change, so that providers can keep what they have read."""
        own = [tool.definition() for tool in self._own.values()]
        return own + [definition(name, tool) for name, tool in self._servers.items()]

    def prepare(self, name: str, arguments: dict[str, Any]) -> ToolInvocation:
        """A call of a tool.

        Raises:
            BadArguments: There is no such tool here, or these are no arguments for it.
        """
        if name in self._own:
            return self._own[name].prepare(arguments)
        if name in self._servers:
            return ServerCall(self._servers[name], arguments)
        known = ", ".join([*self._own, *self._servers])
        raise BadArguments(f"There is no tool {name!r} in the mode {self._mode}; there are {known}")
