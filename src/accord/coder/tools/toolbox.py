"""The tools that a model is offered: those of the mode, and those of the MCP servers, each under a unique name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from accord.agent.mcp import McpResult, McpTool
from accord.coder.model import Picture, ToolDefinition
from accord.coder.tools.call import BadArguments, BuiltIn, ToolInvocation, ToolOutcome, Work, bounded
from accord.coder.tools.fetch import FetchPage
from accord.coder.tools.files import Edit, Read, Write
from accord.coder.tools.run import ReadOutput, Run, RunShell, StopCommand
from accord.coder.tools.search import List, Search
from accord.coder.tools.turn import DelegateTask, LeavePlan, MakePlan, UseSkill
from accord.session.content import Image, block_text
from accord.session.tool import ToolKind

CALL_SECONDS = 300.0
# The longest name of a tool that all providers take.
MAX_NAME = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def named_tools(tools: Sequence[McpTool]) -> dict[str, McpTool]:
    """Each tool under `mcp_<server>_<tool>`, with a number where two would be the same."""
    named: dict[str, McpTool] = {}
    for tool in tools:
        plain = _UNSAFE.sub("_", f"mcp_{tool.server}_{tool.name}")[:MAX_NAME]
        name, number = plain, 2
        while name in named:
            name, number = f"{plain[: MAX_NAME - len(str(number)) - 1]}_{number}", number + 1
        named[name] = tool
    return named


def definition(name: str, tool: McpTool) -> ToolDefinition:
    """The tool as it is described to models."""
    described = tool.description or tool.title or tool.name
    return ToolDefinition(name, f"{described} (of the MCP server {tool.server})", tool.input_schema)


@dataclass(frozen=True, slots=True)
class ServerCall:
    """One call of such a tool. A server's hint that its tool is harmless is only a claim: the user is asked."""

    tool: McpTool
    arguments: dict[str, Any]

    @property
    def kind(self) -> ToolKind:
        return "other"

    @property
    def title(self) -> str:
        return f"{self.tool.title or self.tool.name} ({self.tool.server})"

    @property
    def locations(self) -> Sequence[str]:
        return ()

    @property
    def cancellable(self) -> bool:
        return True

    async def run(self, work: Work) -> ToolOutcome:
        """Ask the user, then the server."""
        await work.gate.permit(work.shown, tool=f"{self.tool.name} of {self.tool.server}")
        result = await self.tool.caller(self.tool.name, self.arguments, CALL_SECONDS)
        if result.is_error:
            await work.shown.fail(*result.content)
        else:
            await work.shown.complete(*result.content)
        pictures = [Picture(block.data, block.mime_type) for block in result.content if isinstance(block, Image)]
        return ToolOutcome(bounded(_text(result)), result.is_error, pictures)


def _text(result: McpResult) -> str:
    texts = [text for block in result.content if (text := block_text(block))]
    if not texts and result.structured is not None:
        texts = [json.dumps(result.structured, ensure_ascii=False)]
    return "\n".join(texts) or "[no text]"


_LOOKING: tuple[type[BuiltIn], ...] = (Read, Search, List, FetchPage)
# Where there is no `sh`, there are no lines for it either.
_RUNNING: tuple[type[BuiltIn], ...] = (
    (Run, RunShell, ReadOutput, StopCommand) if os.name == "posix" else (Run, ReadOutput, StopCommand)
)
OFFERED: dict[str, tuple[type[BuiltIn], ...]] = {
    "ask": (*_LOOKING, DelegateTask),
    "plan": (*_LOOKING, MakePlan, LeavePlan, DelegateTask),
    "code": (*_LOOKING, Edit, Write, *_RUNNING, MakePlan, DelegateTask),
}
# Tools that are about the turn itself, or whose work outlives the task.
_NOT_FOR_SUBAGENTS: frozenset[type[BuiltIn]] = frozenset(
    {MakePlan, LeavePlan, DelegateTask, UseSkill, ReadOutput, StopCommand}
)


class Toolbox:
    """The tools of one mode. Servers' tools may change anything, so they are there where anything may be changed."""

    def __init__(
        self, mode: str, servers: Sequence[McpTool] = (), *, has_skills: bool = False, for_subagent: bool = False
    ) -> None:
        offered: tuple[type[BuiltIn], ...] = (*OFFERED[mode], UseSkill) if has_skills else OFFERED[mode]
        self._own = {tool.name: tool for tool in offered if not (for_subagent and tool in _NOT_FOR_SUBAGENTS)}
        self._servers = named_tools(servers) if mode == "code" else {}
        self._mode = mode

    @property
    def definitions(self) -> list[ToolDefinition]:
        """All of them, in an order that does not change, so that providers can cache them."""
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
