"""Knows what is said to an MCP server: the handshake, the list of its tools, a call of one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

from mcp import ClientSession, MCPError
from mcp.client.subscriptions import listen
from mcp_types import CONNECTION_CLOSED, InputRequiredResult, PaginatedRequestParams
from pydantic import ValidationError

from accord.agent.mcp.content import block_of
from accord.agent.mcp.errors import McpCallRefused, McpNonsense
from accord.agent.mcp.raw_results import raw_results
from accord.agent.mcp.reason import misshapen
from accord.agent.mcp.tool import McpCaller, McpResult, McpTool

__all__ = ["call_tool", "follow_changes", "greet", "is_loss", "list_tools"]

# A server whose pages never end must not fill the memory.
_MAX_PAGES = 1000


async def greet(session: ClientSession) -> None:
    """Shake hands as servers did until 2025, and with those that refuse that, as they do since 2026.

    In this order, because a server that knows only the old way may not answer the new one at all.
    """
    try:
        await session.initialize()
    except MCPError as refusal:
        if is_loss(refusal):
            raise
        try:
            await session.discover()
        except MCPError:
            # What it said to the handshake that nearly every server knows is the better explanation.
            raise refusal from None


async def follow_changes(session: ClientSession, stack: AsyncExitStack) -> None:
    """Ask for notice of changes of the tools, where a server since 2026 wants to be asked."""
    capabilities = session.server_capabilities
    if session.discover_result is None or capabilities is None or capabilities.tools is None:
        return
    if capabilities.tools.list_changed:
        with suppress(MCPError):
            await stack.enter_async_context(listen(session, tools_list_changed=True))


async def list_tools(session: ClientSession, server: str, caller: McpCaller) -> list[McpTool]:
    """All tools, page by page.

    Raises:
        McpNonsense: The pages do not end.
        MCPError: The server refused.
        pydantic.ValidationError: The list is none.
    """
    tools: list[McpTool] = []
    if session.server_capabilities is None or session.server_capabilities.tools is None:
        return tools
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        with raw_results() as results:
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        # The package leaves out what a rule of MCP forbids to use.
        usable = {tool.name for tool in page.tools}
        tools += [_tool(raw, server, caller) for raw in results["tools/list"]["tools"] if raw["name"] in usable]
        if not page.next_cursor:
            return tools
        cursor = page.next_cursor
    raise McpNonsense(f"the list of tools of {server} does not end", server=server)


def _tool(raw: dict[str, Any], server: str, caller: McpCaller) -> McpTool:
    return McpTool(
        name=raw["name"],
        server=server,
        title=raw.get("title"),
        description=raw.get("description"),
        input_schema=raw["inputSchema"],
        output_schema=raw.get("outputSchema"),
        annotations=raw.get("annotations") or {},
        meta=raw.get("_meta"),
        caller=caller,
    )


async def call_tool(session: ClientSession, server: str, tool: str, arguments: Mapping[str, Any]) -> McpResult:
    """Have the server run a tool.

    Raises:
        McpCallRefused: It answered with an error object, or wants input that nobody can give.
        McpNonsense: Its answer is not as MCP, or its own schema, says.
        MCPError: The link is gone (`is_loss`).
    """
    try:
        with raw_results() as results:
            result = await session.call_tool(tool, dict(arguments), allow_input_required=True)
        raw = results["tools/call"]
        if isinstance(result, InputRequiredResult):
            raise McpCallRefused("it wants input of the user, which is not offered", server=server, code=0, data=raw)
        content = [block_of(block) for block in raw["content"]]
    except MCPError as error:
        if is_loss(error):
            raise
        raise McpCallRefused(error.message, server=server, code=error.code, data=error.data) from error
    except ValidationError as error:
        raise McpNonsense(f"the answer of {server} to {tool} is no MCP: {misshapen(error)}", server=server) from error
    except (ValueError, RuntimeError) as error:
        # The package says so of a result that breaks the schema of its tool.
        first_line = str(error).partition("\n")[0]
        raise McpNonsense(f"the answer of {server} to {tool} is no MCP: {first_line}", server=server) from error
    return McpResult(content, raw.get("structuredContent"), result.is_error, raw.get("_meta"))


def is_loss(error: MCPError) -> bool:
    """Whether the package made up this error because no answer can come any more.

    Its code alone does not tell: servers use the same one for whatever they like.
    """
    ours = error.message == "Connection closed" or error.message.startswith("SSE stream ")
    return error.code == CONNECTION_CLOSED and ours
