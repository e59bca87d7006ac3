"""The MCP servers of one session: connected in the background, and changed when its client opens it again.

`accord.agent.mcp` has the connections themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from accord.agent.mcp import McpFailure, McpServers, open_servers
from accord.session.client_requests import McpServer

__all__ = ["SessionServers"]


class SessionServers:
    """The servers that the client's last request named. Programs start in `cwd`."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._wanted: list[McpServer] = []
        self._opening: asyncio.Task[McpServers] | None = None
        self._gone: list[McpServers] = []
        """Those that the last request does not name."""
        self._reported: set[str] = set()

    @property
    def is_empty(self) -> bool:
        return not self._wanted

    @property
    def are_used(self) -> bool:
        """Whether they were connected, or are being connected."""
        return self._opening is not None

    async def opened(self) -> McpServers:
        """The servers, when each is connected or has failed; begins to connect them."""
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(open_servers(self._wanted, cwd=self._cwd))
        return await asyncio.shield(self._opening)

    def set(self, servers: Sequence[McpServer], is_free: Callable[[], bool] = lambda: True) -> bool:
        """Take another list; returns whether it differs. Equal servers stay connected, others are connected and closed.

        A turn may use those that are gone: unless `is_free` says that none runs, they are closed by `end_gone`.
        """
        if list(servers) == self._wanted:
            return False
        self._wanted = list(servers)
        self._reported.clear()
        if self._opening is not None:
            changing = self._change(self._opening, self._wanted, is_free)
            self._opening = asyncio.get_running_loop().create_task(changing)
        return True

    async def _change(
        self, opening: asyncio.Task[McpServers], wanted: Sequence[McpServer], is_free: Callable[[], bool]
    ) -> McpServers:
        try:
            servers, gone = await (await opening)._changed(wanted, cwd=self._cwd)
        except BaseException:
            await _close(opening)
            raise
        self._gone.append(gone)
        if is_free():
            self.end_gone()
        return servers

    def end_gone(self) -> None:
        """Begin to close the servers that are gone: no turn uses them."""
        for servers in self._gone:
            servers._begin_close()

    def take_failures(self) -> list[McpFailure]:
        """The servers that could not be opened or were lost, each once; none before all are opened."""
        opening = self._opening
        if opening is None or not opening.done() or opening.cancelled() or opening.exception() is not None:
            return []
        new = [failure for failure in opening.result().failures if failure.server not in self._reported]
        self._reported.update(failure.server for failure in new)
        return new

    async def close(self) -> None:
        """Close all of them, and those that are gone."""
        if self._opening is not None:
            await _close(self._opening)
        await asyncio.gather(*(servers.close() for servers in self._gone))


async def _close(opening: asyncio.Task[McpServers]) -> None:
    if not opening.done():
        opening.cancel()
        await asyncio.wait([opening])
    if not opening.cancelled() and opening.exception() is None:
        await opening.result().close()
