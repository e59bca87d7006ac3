"""The MCP servers of a session: opens them, finds and calls their tools, and closes them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from accord.agent.mcp.tool import AmbiguousTool, McpFailure, McpResult, McpTool, NoSuchTool
from accord.protocol.model import Unknown
from accord.session.client_requests import McpServer
from accord.version import install_line

if TYPE_CHECKING:
    from accord.agent.mcp.server_connection import ServerConnection

__all__ = ["McpServers", "open_servers"]


async def open_servers(
    servers: Sequence[McpServer | Unknown],
    *,
    cwd: str,
    start_timeout_seconds: float = 30.0,
    call_timeout_seconds: float | None = None,
) -> McpServers:
    """Connect to all servers at the same time, each within `start_timeout_seconds`; programs start in `cwd`.

    A server that fails is in `failures` and affects no other. The tools of the others can be called until `close`.
    `call_timeout_seconds` is for calls without a timeout of their own; None lets them wait for as long as the server
    lives.
    """
    known = [server for server in servers if isinstance(server, McpServer)]
    failures = [_unknown(server) for server in servers if isinstance(server, Unknown)]
    if not known:
        return McpServers([], failures)
    try:
        # In a thread: loading it takes most of a second, and the loop has other sessions.
        module = await asyncio.to_thread(import_module, "accord.agent.mcp.server_connection")
    except ImportError as error:
        reason = f"MCP needs a package that is missing ({error}); type {install_line('mcp')}"
        return McpServers([], failures + [McpFailure(server.name, reason) for server in known])
    link: type[ServerConnection] = module.ServerConnection
    links = [
        link(server, cwd=cwd, start_timeout_seconds=start_timeout_seconds, call_timeout_seconds=call_timeout_seconds)
        for server in known
    ]
    opened = McpServers(links, failures)
    try:
        await asyncio.gather(*(link.wait_until_ready() for link in links))
    except BaseException:
        await opened.close()
        raise
    return opened


def _unknown(server: Unknown) -> McpFailure:
    name = server.payload.get("name")
    return McpFailure(name if isinstance(name, str) else "", f"a server of the kind {server.tag!r} cannot be reached")


class McpServers:
    """The MCP servers of one session. Made by `open_servers`; `async with` closes them at its end."""

    def __init__(self, links: Sequence[ServerConnection], failures: Sequence[McpFailure] = ()) -> None:
        self._links = links
        self._failures = failures

    @property
    def failures(self) -> list[McpFailure]:
        """The servers that could not be opened, and those that were lost since."""
        return [*self._failures, *(link.failure for link in self._links if link.failure is not None)]

    @property
    def tools(self) -> list[McpTool]:
        """The tools that can be called now, server by server. Changes when a server says that its tools changed."""
        return [tool for link in self._links if link.usable for tool in link.tools]

    def tool(self, name: str, *, server: str | None = None) -> McpTool:
        """The tool of this name.

        Raises:
            NoSuchTool: No server has it.
            AmbiguousTool: Several have it, and `server` does not say which is meant.
        """
        # A lost server's tools are found where no other has them: a call of one raises the reason.
        once = [tool for link in self._links for tool in link.tools]
        found = _named(self.tools, name, server) or _named(once, name, server)
        if not found:
            where = "no MCP server" if server is None else f"no MCP server {server}"
            raise NoSuchTool(f"{where} has a tool {name!r}", tool=name, server=server or "")
        if len(found) > 1:
            names = tuple(tool.server for tool in found)
            raise AmbiguousTool(f"the MCP servers {' and '.join(names)} have a tool {name!r}", tool=name, servers=names)
        return found[0]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        server: str | None = None,
        timeout_seconds: float | None = None,
    ) -> McpResult:
        """Call the tool of this name.

        Cancelling this, or a timeout, returns at once and notifies the server that the answer is no longer wanted.

        Raises:
            McpError: There is no such tool, or it gave no result; the subclass says why.
            LocalProtocolError: The arguments are no JSON; nothing was sent.
        """
        return await self.tool(name, server=server).caller(name, arguments or {}, timeout_seconds)

    async def _changed(self, servers: Sequence[McpServer], *, cwd: str) -> tuple[McpServers, McpServers]:
        """Those of another list, where equal ones stay connected; and those that are not in it, to be closed."""
        kept = [link for link in self._links if link.usable and link.server in servers]
        known = [link.server for link in kept]
        added = await open_servers([server for server in servers if server not in known], cwd=cwd)
        links = sorted([*kept, *added._links], key=lambda link: servers.index(link.server))
        gone = [link for link in self._links if link not in kept]
        return McpServers(links, added._failures), McpServers(gone)

    def _begin_close(self) -> None:
        for link in self._links:
            link.begin_close()

    async def close(self) -> None:
        """End all servers, the programs with everything that they started; returns after a bounded time.

        May be called again. Calls under way fail with `McpServerLost`.
        """
        self._begin_close()
        await asyncio.gather(*(link.wait_closed() for link in self._links))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        await self.close()


def _named(tools: Sequence[McpTool], name: str, server: str | None) -> list[McpTool]:
    return [tool for tool in tools if tool.name == name and server in {None, tool.server}]
