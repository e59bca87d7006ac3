"""The requests to an MCP server: the handshake, the list of its tools, calls of tools, and the content of results.

The `mcp` package checks results against its types and refuses a kind of content block that is newer than the package.
So the content is taken out below it, and the caller finds the result as it was received in `raw_results`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.abc
import msgspec
from mcp import ClientSession, MCPError
from mcp.client.subscriptions import listen
from mcp.shared.dispatcher import CallOptions, Dispatcher, OnNotify, OnNotifyIntercept, OnRequest
from mcp_types import CONNECTION_CLOSED, InputRequiredResult, PaginatedRequestParams
from pydantic import ValidationError

from accord.agent.mcp.diagnostics import misshapen
from accord.agent.mcp.tool import McpCaller, McpCallRefused, McpNonsense, McpResult, McpTool
from accord.protocol.model import Unknown
from accord.session.content import Audio, Block, Image, Link, Resource, Text

__all__ = ["RawResultDispatcher", "call_tool", "follow_changes", "greet", "list_tools"]

_PLAIN: dict[str, type[Text | Image | Audio | Link]] = {
    "text": Text,
    "image": Image,
    "audio": Audio,
    "resource_link": Link,
}
_OURS = {"mimeType": "mime_type", "lastModified": "last_modified", "_meta": "meta"}


def block_of(value: Any) -> Block:
    """Our block for one of MCP's.

    Raises:
        ValueError: This is no block.
    """
    tag = value.get("type") if isinstance(value, dict) else None
    if not isinstance(tag, str):
        raise ValueError("a content block must be an object with a type")  # noqa: TRY004 - it is the peer's value
    if tag == "resource":
        return _resource(value)
    kind = _PLAIN.get(tag)
    return Unknown(tag, value) if kind is None else msgspec.convert(_renamed(value), kind)


def _resource(value: dict[str, Any]) -> Resource:
    contents = value.get("resource")
    if not isinstance(contents, dict):
        raise ValueError("an embedded resource must have contents")  # noqa: TRY004
    inner, outer = _renamed(contents), _renamed(value)
    fields: dict[str, Any] = {key: inner[key] for key in ("uri", "text", "blob", "mime_type") if key in inner}
    fields |= {key: outer[key] for key in ("type", "annotations", "meta") if key in outer}
    resource = msgspec.convert({**fields, "contents_meta": inner.get("meta")}, Resource)
    if resource.text is None and resource.blob is None:
        raise ValueError("an embedded resource must have text or a blob")
    return resource


def _renamed(value: dict[str, Any]) -> dict[str, Any]:
    """The object in our field names. The content of `_meta` stays unchanged: its keys belong to their writer."""
    renamed = {_OURS.get(key, key): held for key, held in value.items()}
    if isinstance(annotations := renamed.get("annotations"), dict):
        renamed["annotations"] = _renamed(annotations)
    if isinstance(icons := renamed.get("icons"), list):
        renamed["icons"] = [_renamed(icon) if isinstance(icon, dict) else icon for icon in icons]
    return renamed


_raw_results: ContextVar[dict[str, dict[str, Any]] | None] = ContextVar("accord-mcp-raw-results", default=None)


@contextmanager
def raw_results() -> Iterator[dict[str, dict[str, Any]]]:
    """The raw result of each method's last request of this task."""
    results: dict[str, dict[str, Any]] = {}
    token = _raw_results.set(results)
    try:
        yield results
    finally:
        _raw_results.reset(token)


class RawResultDispatcher:
    """A dispatcher of the package that records raw results; `on_end` is called when nothing more can arrive."""

    def __init__(self, inner: Dispatcher[Any], on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Send the request, and record its raw result."""
        result = await self._inner.send_raw_request(method, params, opts)
        results = _raw_results.get()
        if results is None:
            return result
        results[method] = result
        if method == "tools/call" and isinstance(result.get("content"), list):
            return {**result, "content": []}
        return result

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        await self._inner.notify(method, params, opts)

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Listen until the link has ended."""
        try:
            await self._inner.run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self._on_end()


# A server whose pages never end must not fill the memory.
_MAX_PAGES = 1000


async def greet(session: ClientSession) -> None:
    """Do the handshake of 2025, and that of 2026 with servers that refuse the first.

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
            # The error of the handshake that nearly every server knows is the better explanation.
            raise refusal from None


async def follow_changes(session: ClientSession, stack: AsyncExitStack) -> None:
    """Subscribe to changes of the tools, where a server (since 2026) requires a subscription."""
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
        pydantic.ValidationError: The answer is no valid list.
    """
    tools: list[McpTool] = []
    if session.server_capabilities is None or session.server_capabilities.tools is None:
        return tools
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        with raw_results() as results:
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        # The package leaves out tools that a rule of MCP forbids to use.
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
        McpCallRefused: It answered with an error object, or wants input, which is not offered.
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
        # The package raises this for a result that breaks the schema of its tool.
        first_line = str(error).partition("\n")[0]
        raise McpNonsense(f"the answer of {server} to {tool} is no MCP: {first_line}", server=server) from error
    return McpResult(content, raw.get("structuredContent"), result.is_error, raw.get("_meta"))


def is_loss(error: MCPError) -> bool:
    """Whether the package made up this error because no answer can come any more.

    Its code alone is ambiguous: servers use the same one for other errors.
    """
    ours = error.message == "Connection closed" or error.message.startswith("SSE stream ")
    return error.code == CONNECTION_CLOSED and ours
