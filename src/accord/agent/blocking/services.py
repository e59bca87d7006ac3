"""A session's files, commands and MCP servers for handlers in threads."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from accord.agent.mcp import McpFailure, McpResult, McpServers, McpTool
from accord.agent.session import Session
from accord.agent.terminals import CommandOutcome, Terminal, TerminalText
from accord.agent.threads import HandlerScope, blocking_view
from accord.session.event import TerminalExit
from accord.session.tool import TerminalView

__all__ = ["BlockingFiles", "BlockingMcpServers", "BlockingMcpTool", "BlockingTerminal", "BlockingTerminals"]


class BlockingFiles:
    """`Files`, blocking. Made for handlers without `async`."""

    def __init__(self, session: Session, scope: HandlerScope) -> None:
        self._session = session
        self._scope = scope

    def read(self, path: str | os.PathLike[str], line: int | None = None, limit: int | None = None) -> str:
        """See `Files.read`."""
        # Files and terminals of a session are made when they are first used: on the loop, so that there is one of each.
        return self._scope.wait(lambda: self._session.files.read(path, line, limit))

    def write(self, path: str | os.PathLike[str], text: str) -> None:
        """See `Files.write`."""
        self._scope.wait(lambda: self._session.files.write(path, text))


class BlockingTerminal:
    """`Terminal`, blocking; as a context it releases itself. Made by `BlockingTerminals.start`."""

    def __init__(self, terminal: Terminal, scope: HandlerScope) -> None:
        self._terminal = terminal
        self._scope = scope

    @property
    def id(self) -> str:
        """Its id, unique in the session."""
        return self._terminal.id

    @property
    def view(self) -> TerminalView:
        """The terminal as something that a tool call shows."""
        return self._terminal.view

    @property
    def is_running(self) -> bool:
        """See `Terminal.is_running`."""
        return self._terminal.is_running

    @property
    def can_be_cancelled(self) -> bool:
        """Whether the client may end it by itself."""
        return self._terminal.can_be_cancelled

    def output(self) -> TerminalText:
        """See `Terminal.output`."""
        return self._scope.wait(self._terminal.output)

    def wait(self, timeout_seconds: float | None = None) -> TerminalExit | None:
        """See `Terminal.wait`."""
        return self._scope.wait(self._terminal.wait, timeout_seconds)

    def kill(self) -> None:
        """See `Terminal.kill`."""
        self._scope.wait(self._terminal.kill)

    def release(self) -> None:
        """See `Terminal.release`."""
        self._scope.wait(self._terminal.release)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scope.wait(self._terminal.release if error is None else self._terminal._discard)


class BlockingTerminals:
    """`Terminals`, blocking. Made for handlers without `async`."""

    def __init__(self, session: Session, scope: HandlerScope) -> None:
        self._session = session
        self._scope = scope

    @property
    def running(self) -> list[BlockingTerminal]:
        """Those whose end is not known yet, in the order of their start."""
        return [BlockingTerminal(terminal, self._scope) for terminal in self._scope.wait(self._running)]

    async def _running(self) -> list[Terminal]:
        return self._session.terminals.running

    def start(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        output_byte_limit: int | None = None,
        cancellable: bool = False,
    ) -> BlockingTerminal:
        """See `Terminals.start`."""
        terminal = self._scope.wait(
            lambda: self._session.terminals.start(
                argv, cwd=cwd, env=env, output_byte_limit=output_byte_limit, cancellable=cancellable
            )
        )
        return BlockingTerminal(terminal, self._scope)

    def run(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        timeout_seconds: float | None = None,
        output_byte_limit: int | None = None,
        on_start: Callable[[BlockingTerminal], object] | None = None,
    ) -> CommandOutcome:
        """See `Terminals.run`. `on_start` is called in another thread, while this one waits."""
        return self._scope.wait(
            lambda: self._session.terminals.run(
                argv,
                cwd=cwd,
                env=env,
                timeout_seconds=timeout_seconds,
                output_byte_limit=output_byte_limit,
                on_start=None if on_start is None else functools.partial(self._scope.threads.call, on_start),
            )
        )


class BlockingMcpTool:
    """`McpTool`, blocking: `tool(path="x")` calls it. Made by `BlockingMcpServers`."""

    def __init__(self, tool: McpTool, scope: HandlerScope) -> None:
        self.name: str = tool.name
        """See `McpTool.name`."""
        self.server: str = tool.server
        """See `McpTool.server`."""
        self.title: str | None = tool.title
        """See `McpTool.title`."""
        self.description: str | None = tool.description
        """See `McpTool.description`."""
        self.input_schema: dict[str, Any] = tool.input_schema
        """See `McpTool.input_schema`."""
        self.output_schema: dict[str, Any] | None = tool.output_schema
        """See `McpTool.output_schema`."""
        self.annotations: dict[str, Any] = tool.annotations
        """See `McpTool.annotations`."""
        self.meta: dict[str, Any] | None = tool.meta
        """See `McpTool.meta`."""
        self._tool = tool
        self._scope = scope

    def __repr__(self) -> str:
        return f"<blocking {self._tool!r}>"

    def __call__(self, /, **arguments: Any) -> McpResult:
        """See `McpTool.__call__`."""
        return self._scope.wait(self._tool, **arguments)


class BlockingMcpServers:
    """`McpServers`, blocking; the session closes them. Made by `BlockingSession.mcp`."""

    def __init__(self, servers: McpServers, scope: HandlerScope) -> None:
        self._servers = servers
        self._scope = scope

    @property
    def failures(self) -> list[McpFailure]:
        """The servers that could not be opened, and those that were lost since."""
        return self._servers.failures

    @property
    def tools(self) -> list[BlockingMcpTool]:
        """The tools that can be called now, server by server."""
        return [BlockingMcpTool(tool, self._scope) for tool in self._servers.tools]

    def tool(self, name: str, *, server: str | None = None) -> BlockingMcpTool:
        """See `McpServers.tool`."""
        return BlockingMcpTool(self._servers.tool(name, server=server), self._scope)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        server: str | None = None,
        timeout_seconds: float | None = None,
    ) -> McpResult:
        """See `McpServers.call`."""
        return self._scope.wait(self._servers.call, name, arguments, server=server, timeout_seconds=timeout_seconds)


blocking_view.register(Terminal, BlockingTerminal)
