"""A tool call for handlers in threads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from types import TracebackType
from typing import Self

from accord.agent.threads import HandlerScope
from accord.agent.tool import Showable, Tool
from accord.json_values import JsonValue
from accord.protocol.model import UNSET, Maybe, UnsetType
from accord.session.event import Meta
from accord.session.tool import Location, ToolContent, ToolKind, ToolStatus

__all__ = ["BlockingTool"]


class BlockingTool:
    """`Tool`, blocking: `with turn.tool("Read the file") as tool:` announces it at the start and ends it at the end.

    Made by `BlockingTurn.tool`.

    A client that cancels the call alone ends it at once. Inside the context the verb that is waited for and all that
    follow raise `asyncio.CancelledError`, which goes no further than the context.
    """

    def __init__(self, tool: Tool, scope: HandlerScope) -> None:
        self._tool = tool
        self._scope = scope
        self._block: contextlib.ExitStack | None = None

    def __repr__(self) -> str:
        return f"<blocking {self._tool!r}>"

    # --- state

    @property
    def id(self) -> str:
        """Its id."""
        return self._tool.id

    @property
    def title(self) -> str:
        """Its title."""
        return self._tool.title

    @property
    def kind(self) -> ToolKind:
        """Its kind."""
        return self._tool.kind

    @property
    def status(self) -> ToolStatus:
        """The status that was sent last."""
        return self._tool.status

    @property
    def name(self) -> str | None:
        """The name of the tool, if it has one."""
        return self._tool.name

    @property
    def background(self) -> bool:
        """Whether it may go on when its turn is over."""
        return self._tool.background

    @property
    def content(self) -> list[ToolContent]:
        """All content of the call."""
        return self._tool.content

    @property
    def locations(self) -> list[Location]:
        """The locations in files that the call works on."""
        return self._tool.locations

    @property
    def raw_input(self) -> JsonValue:
        """Its input as plain JSON."""
        return self._tool.raw_input

    @property
    def error(self) -> BaseException | None:
        """The exception that was raised inside the context, if any."""
        return self._tool.error

    @property
    def refused(self) -> bool:
        """Whether the user was asked about it and did not allow it."""
        return self._tool.refused

    @property
    def started(self) -> bool:
        """Whether it was announced."""
        return self._tool.started

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self._tool.finished

    @property
    def failed(self) -> bool:
        """Whether it ended as failed."""
        return self._tool.failed

    @property
    def cancel_requested(self) -> bool:
        """Whether the client cancelled this call alone."""
        return self._tool.cancel_requested

    # --- life

    def start(self) -> Self:
        """See `Tool.start`."""
        self._scope.wait(self._tool.start)
        return self

    def __enter__(self) -> Self:
        thread = threading.get_ident()
        scope = self._scope.current
        with contextlib.ExitStack() as block:
            block.enter_context(scope.block(lambda: self._tool.cancel_requested))
            self._tool._on_stop = lambda: scope.interrupt(thread)
            self.start()
            self._tool._span.attach()
            self._block = block.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._tool._on_stop = None
        self._tool._span.detach()
        if self._block is not None:
            self._block.close()
        # Also in the block of another call that was cancelled: this one must be ended.
        wait = self._scope.current.wait_unchecked
        if isinstance(error, asyncio.CancelledError):
            wait(self._tool.cancel)
            return self._tool.cancel_requested
        return wait(self._tool.__aexit__, kind, error, traceback)

    def complete(self, *items: Showable, output: JsonValue = UNSET) -> None:
        """See `Tool.complete`."""
        self._scope.wait(self._tool.complete, *items, output=output)

    def fail(self, *items: Showable, output: JsonValue = UNSET) -> None:
        """See `Tool.fail`."""
        self._scope.wait(self._tool.fail, *items, output=output)

    def cancel(self) -> None:
        """See `Tool.cancel`."""
        self._scope.wait(self._tool.cancel)

    # --- changes

    def update(
        self,
        *,
        title: str | UnsetType = UNSET,
        kind: ToolKind | UnsetType = UNSET,
        status: ToolStatus | UnsetType = UNSET,
        input: JsonValue = UNSET,  # noqa: A002 - what it is called
        output: JsonValue = UNSET,
        meta: Maybe[Meta] = UNSET,
    ) -> None:
        """See `Tool.update`."""
        self._scope.wait(
            self._tool.update, title=title, kind=kind, status=status, input=input, output=output, meta=meta
        )

    def show(self, *items: Showable) -> None:
        """See `Tool.show`."""
        self._scope.wait(self._tool.show, *items)

    def stream(self, text: str) -> None:
        """See `Tool.stream`."""
        self._scope.wait(self._tool.stream, text)

    def replace(self, *items: Showable) -> None:
        """See `Tool.replace`."""
        self._scope.wait(self._tool.replace, *items)

    def diff(self, path: str | os.PathLike[str], old: str | None, new: str | None) -> None:
        """See `Tool.diff`."""
        self._scope.wait(self._tool.diff, path, old, new)

    def locate(self, *places: Location | str | os.PathLike[str]) -> None:
        """See `Tool.locate`."""
        self._scope.wait(self._tool.locate, *places)
