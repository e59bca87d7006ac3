"""The connection to one MCP server: the task that owns it, the calls in progress, and the reason of its end.

The contexts of the `mcp` package must be left by the task that entered them, so each server has a task of its own that
does both. Calls are tasks too: a cancelled caller returns at once, while the server is still being asked to stop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import msgspec
from mcp import ClientSession, MCPError
from mcp.client.session import IncomingMessage
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import Implementation, ToolListChangedNotification
from pydantic import ValidationError

from accord.agent.mcp.diagnostics import Diagnostics, how_it_ended, why_not_started
from accord.agent.mcp.requests import RawResultDispatcher, call_tool, follow_changes, greet, list_tools
from accord.agent.mcp.tool import McpCallTimeout, McpError, McpFailure, McpResult, McpServerLost, McpTool
from accord.agent.mcp.transports import over_http, over_sse, over_stdio
from accord.errors import ConnectionLost, LocalProtocolError
from accord.session.client_requests import McpServer
from accord.time_scale import scaled
from accord.version import VERSION

__all__ = ["ServerConnection"]

log = logging.getLogger("accord.agent")

# More than killing a child takes, and more than the closing request to an address.
_STDIO_CLOSE_SECONDS = scaled(10.0)
_REMOTE_CLOSE_SECONDS = scaled(2.0)
_CANCEL_SECONDS = scaled(2.0)

# How long a failed call waits for the reason: the owner learns it while it leaves.
_REASON_SECONDS = scaled(1.0)


class ServerConnection:
    """One server and the task that owns it."""

    def __init__(
        self, server: McpServer, *, cwd: str, start_timeout_seconds: float, call_timeout_seconds: float | None
    ) -> None:
        self.name = server.name
        self.tools: list[McpTool] = []
        self._failure: McpFailure | None = None
        self.server = server
        self._cwd = cwd
        self._start_timeout_seconds = start_timeout_seconds
        self._call_timeout_seconds = call_timeout_seconds
        self._diagnostics = Diagnostics(on_broken=self._break)
        self._error: BaseException | None = None
        self._session: ClientSession | None = None
        self._closing = False
        self._over = asyncio.Event()
        self._ready = asyncio.get_running_loop().create_future()
        self._calls: set[asyncio.Task[McpResult]] = set()
        self._listing = asyncio.Lock()
        self._list_wishes = self._list_wishes_met = 0
        self._owner = asyncio.create_task(self._live(), name=f"accord-mcp-{server.name}")

    @property
    def usable(self) -> bool:
        return self._ready.done() and not self._over.is_set()

    @property
    def failure(self) -> McpFailure | None:
        """Why it never was usable, or how it was lost since; None for one that was closed by us."""
        if self._failure is None and self._ready.done() and self._over.is_set() and not self._closing:
            return McpFailure(self.name, how_it_ended(self.server, self._diagnostics, self._error))
        return self._failure

    async def wait_until_ready(self) -> None:
        """Return when the server can be used, or has failed, or its time is over; see `failure`."""
        limit = self._start_timeout_seconds
        await asyncio.wait({self._owner, self._ready}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if self._ready.done() or self._closing:
            return
        if not self._owner.done():
            # Its end may take a while; `close` waits for that.
            self._owner.cancel()
        self._failure = McpFailure(self.name, why_not_started(self.server, self._diagnostics, self._error, limit))

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float | None) -> McpResult:
        """Call a tool; `timeout_seconds` None is the limit that holds for all calls.

        Raises:
            McpError: There is no result; the subclass says why.
            LocalProtocolError: The arguments are no JSON.
        """
        plain = _plain(arguments)
        limit = self._call_timeout_seconds if timeout_seconds is None else timeout_seconds
        call = asyncio.create_task(self._call(tool, plain), name=f"accord-mcp-call-{tool}")
        self._calls.add(call)
        call.add_done_callback(self._forget)
        try:
            await asyncio.wait({call}, timeout=limit)
        except asyncio.CancelledError:
            call.cancel()
            raise
        if call.done() and not call.cancelled():
            return call.result()
        # Not awaited: notifying a server that does not read could take seconds.
        call.cancel()
        if self._closing or limit is None:
            raise self._lost()
        raise McpCallTimeout(self.name, tool, limit)

    def begin_close(self) -> None:
        """Start to end the server, also in the middle of calls; it ends also without a waiter."""
        self._failure = self.failure
        self._closing = True
        self._break()

    async def wait_closed(self) -> None:
        """Return when nothing of the server is left, or after a bounded time; cancelling this kills it."""
        limit = _STDIO_CLOSE_SECONDS if self.server.type == "stdio" else _REMOTE_CLOSE_SECONDS
        try:
            await asyncio.wait({self._owner}, timeout=limit)
        finally:
            left = {self._owner, *self._calls}
            for task in left:
                task.cancel()
        await asyncio.wait(left, timeout=_CANCEL_SECONDS)

    async def _live(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                dispatcher = await stack.enter_async_context(self._open_dispatcher())
                await self._begin(RawResultDispatcher(dispatcher, self._over.set), stack)
                await self._over.wait()
        except Exception as error:  # noqa: BLE001 - a failure is reported, and concerns no other server
            self._error = error
        finally:
            self._over.set()

    def _break(self) -> None:
        self._over.set()
        if not self._ready.done():
            self._owner.cancel()

    def _open_dispatcher(self) -> AbstractAsyncContextManager[JSONRPCDispatcher[Any]]:
        if self.server.type == "stdio":
            return over_stdio(self.server, self._cwd, self._diagnostics)
        over = over_http if self.server.type == "http" else over_sse
        return over(self.server, self._diagnostics, self._start_timeout_seconds)

    async def _begin(self, dispatcher: RawResultDispatcher, stack: AsyncExitStack) -> None:
        client = Implementation(name="accord", version=VERSION)
        session = ClientSession(dispatcher=dispatcher, message_handler=self._heed, client_info=client)
        self._session = await stack.enter_async_context(session)
        await greet(session)
        await follow_changes(session, stack)
        await self._relist(session)
        if not self._ready.done():
            self._ready.set_result(None)

    async def _heed(self, message: IncomingMessage) -> None:
        if not isinstance(message, ToolListChangedNotification) or self._session is None:
            return
        try:
            async with asyncio.timeout(self._start_timeout_seconds):
                await self._relist(self._session)
        except (McpError, MCPError, ValidationError, TimeoutError) as error:
            log.warning("the MCP server %s changed its tools but does not list them: %s", self.name, error)

    async def _relist(self, session: ClientSession) -> None:
        self._list_wishes += 1
        request = self._list_wishes
        async with self._listing:
            # A list that was begun after a change includes it: many changes at once cost two lists.
            if self._list_wishes_met < request:
                met = self._list_wishes
                self.tools = await list_tools(session, self.name, self.call)
                self._list_wishes_met = met

    async def _call(self, tool: str, arguments: Mapping[str, Any]) -> McpResult:
        if self._session is None or self._over.is_set():
            raise await self._loss()
        try:
            return await call_tool(self._session, self.name, tool, arguments)
        except MCPError as error:
            raise await self._loss(str(error)) from error

    async def _loss(self, reason: str = "") -> McpServerLost:
        if self._diagnostics.loss is not None:
            return self._lost()
        if reason in {"", "Connection closed"}:
            await asyncio.wait({self._owner}, timeout=_REASON_SECONDS)
            return self._lost()
        return self._lost(reason)

    def _lost(self, reason: str = "") -> McpServerLost:
        loss = self._diagnostics.loss
        ended = (
            "it was closed" if self._closing else reason or how_it_ended(self.server, self._diagnostics, self._error)
        )
        child = self._diagnostics.child
        return McpServerLost(
            f"the MCP server {self.name} is gone: {ended}",
            server=self.name,
            exit_status=loss.exit_status if isinstance(loss, ConnectionLost) else None,
            stderr_tail=child.stderr_tail if child is not None else "",
        )

    def _forget(self, call: asyncio.Task[McpResult]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            # Retrieved: there may be no waiter.
            call.exception()


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    # Strictly: the MCP package cannot write half a character.
    try:
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(dict(arguments)))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise LocalProtocolError(
            "the arguments of a tool must be JSON; nothing was sent", field="arguments", expected="JSON"
        ) from error
    return plain
