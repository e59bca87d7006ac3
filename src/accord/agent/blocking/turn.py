"""A turn for handlers in threads."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, overload

from accord.agent.blocking.services import BlockingFiles, BlockingMcpServers, BlockingTerminals
from accord.agent.blocking.session import BlockingClient, BlockingSession
from accord.agent.blocking.tool import BlockingTool
from accord.agent.client import ClientFeature
from accord.agent.question import ALLOW_OPTIONS, Elicitation, Permission
from accord.agent.threads import HandlerScope, blocking_view
from accord.agent.tool import Tool
from accord.agent.turn import Turn
from accord.agent.turn_values import Compaction
from accord.json_values import JsonValue
from accord.protocol.model import UNSET
from accord.session.content import Annotations, Block, Blocks
from accord.session.event import Event, Meta, PlanEntry, Severity, StopReason, TokenUsage
from accord.session.option import PermissionOption
from accord.session.tool import Location, ToolKind, ToolStatus
from accord.session.transcript import Transcript

__all__ = ["BlockingCompaction", "BlockingTurn"]


class BlockingTurn:
    """The `Turn` of a prompt handler without `async`; its methods block until they are done.

    Made for each prompt and command that such a handler handles.

    When the turn is cancelled, it ends at once and without the handler: the verb that is being waited for and every
    later one raise `asyncio.CancelledError`. A handler that works for long without a verb checks `cancelled`.
    """

    def __init__(self, turn: Turn, scope: HandlerScope) -> None:
        self.session: BlockingSession = BlockingSession(turn.session, scope)
        """See `Turn.session`."""
        self.message_id: str = turn.message_id
        """See `Turn.message_id`."""
        self.prompt: list[Block] = turn.prompt
        """See `Turn.prompt`."""
        self.meta: Meta = turn.meta
        """See `Turn.meta`."""
        self.command: str | None = turn.command
        """See `Turn.command`."""
        self.argument: str = turn.argument
        """See `Turn.argument`."""
        self._turn = turn
        self._scope = scope

    def __repr__(self) -> str:
        return f"<blocking {self._turn!r}>"

    # --- state

    @property
    def text(self) -> str:
        """The text of the prompt: its text blocks, one below the other."""
        return self._turn.text

    @property
    def stop_reason(self) -> StopReason:
        """The stop reason that is set so far: see `finish`."""
        return self._turn.stop_reason

    @property
    def token_usage(self) -> TokenUsage | None:
        """The tokens that the turn took so far: see `add_token_usage`."""
        return self._turn.token_usage

    @property
    def cancelled(self) -> bool:
        """Whether the turn was cancelled: nothing more can be sent in it."""
        return self._turn.cancelled

    @property
    def client(self) -> BlockingClient:
        """The client that sent the prompt."""
        return self.session.client

    @property
    def trace(self) -> dict[str, str]:
        """The trace context of the prompt (`traceparent`, `tracestate`, `baggage`), for an author's own calls."""
        return self._turn.trace

    def can(self, what: ClientFeature) -> bool:
        """See `Turn.can`."""
        return self._turn.can(what)

    @property
    def files(self) -> BlockingFiles:
        """Text files inside the session's roots: `read` and `write`."""
        return self.session.files

    @property
    def terminals(self) -> BlockingTerminals:
        """Commands inside the session's roots: `run` and `start`."""
        return self.session.terminals

    def mcp(self) -> BlockingMcpServers:
        """The session's MCP servers and their tools."""
        return self.session.mcp()

    def option(self, option_id: str) -> str | bool:
        """The value of a config option."""
        return self._turn.option(option_id)

    def history(self) -> Transcript:
        """See `Turn.history`."""
        return self._scope.wait(self._turn.history)

    def save(self, state: JsonValue = UNSET) -> None:
        """See `Turn.save`."""
        self._scope.wait(self._turn.save, state)

    # --- messages

    def say(self, content: Blocks, *, annotations: Annotations | None = None, meta: Meta | None = None) -> str:
        """See `Turn.say`."""
        return self._scope.wait(self._turn.say, content, annotations=annotations, meta=meta)

    def think(self, content: Blocks, *, annotations: Annotations | None = None, meta: Meta | None = None) -> str:
        """See `Turn.think`."""
        return self._scope.wait(self._turn.think, content, annotations=annotations, meta=meta)

    def new_message(self) -> None:
        """See `Turn.new_message`."""
        self._scope.check()
        self._turn.new_message()

    def correct(self, message_id: str, content: Blocks) -> None:
        """See `Turn.correct`."""
        self._scope.wait(self._turn.correct, message_id, content)

    def plan(
        self,
        entries: Iterable[PlanEntry | str],
        *,
        id: str = "plan",  # noqa: A002
        meta: Meta | None = None,
    ) -> None:
        """See `Turn.plan`."""
        # Taken here: an iterator of the author's may block.
        self._scope.wait(self._turn.plan, list(entries), id=id, meta=meta)

    def update_usage(self, used: int, size: int, *, cost: float | None = None, currency: str = "USD") -> None:
        """See `Turn.update_usage`."""
        self._scope.wait(self._turn.update_usage, used, size, cost=cost, currency=currency)

    def add_token_usage(
        self,
        input_tokens: int,
        output_tokens: int,
        *,
        total_tokens: int | None = None,
        thought_tokens: int | None = None,
        cached_read_tokens: int | None = None,
        cached_write_tokens: int | None = None,
    ) -> None:
        """See `Turn.add_token_usage`."""
        self._scope.check()
        self._turn.add_token_usage(
            input_tokens,
            output_tokens,
            total_tokens=total_tokens,
            thought_tokens=thought_tokens,
            cached_read_tokens=cached_read_tokens,
            cached_write_tokens=cached_write_tokens,
        )

    def set_title(self, title: str | None) -> None:
        """Give the session a title."""
        self._scope.wait(self._turn.set_title, title)

    def notice(self, title: str, description: str | None = None, *, severity: Severity = "info") -> None:
        """See `Turn.notice`."""
        self._scope.wait(self._turn.notice, title, description, severity=severity)

    @contextlib.contextmanager
    def compact(self) -> Iterator[BlockingCompaction]:
        """See `Turn.compact`."""
        compacting = _Compacting(self._turn)
        with self._scope.on_cancel(compacting.cancel):
            compaction = self._scope.wait(compacting.begin)
            try:
                yield BlockingCompaction(compaction, self._scope)
            except asyncio.CancelledError:
                raise  # the scope ends it: this thread can send nothing any more
            except Exception as error:
                self._scope.wait(compacting.end, type(error), error, error.__traceback__)
                raise
            self._scope.wait(compacting.end, None, None, None)

    # --- tool calls and the end

    def tool(  # noqa: PLR0913 - all of it is what a tool call can say
        self,
        title: str,
        *,
        kind: ToolKind = "other",
        status: ToolStatus = "in_progress",
        name: str | None = None,
        input: JsonValue = UNSET,  # noqa: A002 - what it is called
        locations: Sequence[Location | str | os.PathLike[str]] = (),
        id: str | None = None,  # noqa: A002
        cancellable: bool = False,
        background: bool = False,
        meta: Meta | None = None,
    ) -> BlockingTool:
        """A tool call, to be used as `with turn.tool("Read the file", kind="read") as tool:`. See `Turn.tool`."""
        self._scope.check()
        tool = self._turn.tool(
            title,
            kind=kind,
            status=status,
            name=name,
            input=input,
            locations=locations,
            id=id,
            cancellable=cancellable,
            background=background,
            meta=meta,
        )
        return BlockingTool(tool, self._scope)

    def finish(self, stop_reason: StopReason = "end_turn") -> None:
        """See `Turn.finish`."""
        self._scope.check()
        self._turn.finish(stop_reason)

    # --- requests to the user and the client

    def request_permission(
        self,
        subject: str | BlockingTool,
        *,
        options: Sequence[PermissionOption] = ALLOW_OPTIONS,
        title: str | None = None,
        description: str | None = None,
        command: Sequence[str] | None = None,
        shell_line: str | None = None,
        directory: str | None = None,
        meta: Meta | None = None,
    ) -> Permission:
        """See `Turn.request_permission`."""
        return self._scope.wait(
            self._turn.request_permission,
            subject if isinstance(subject, str) else _under(subject),
            options=options,
            title=title,
            description=description,
            command=command,
            shell_line=shell_line,
            directory=directory,
            meta=meta,
        )

    def elicit(
        self,
        message: str,
        fields: Mapping[str, Any],
        *,
        required: Sequence[str] | None = None,
        tool: BlockingTool | None = None,
    ) -> Elicitation:
        """See `Turn.elicit`."""
        return self._scope.wait(self._turn.elicit, message, fields, required=required, tool=_under(tool))

    def elicit_url(self, message: str, url: str, *, tool: BlockingTool | None = None) -> Elicitation:
        """See `Turn.elicit_url`."""
        return self._scope.wait(self._turn.elicit_url, message, url, tool=_under(tool))

    def request(self, method: str, params: JsonValue = None, *, timeout_seconds: float | None = None) -> JsonValue:
        """See `Turn.request`."""
        return self._scope.wait(self._turn.request, method, params, timeout_seconds=timeout_seconds)

    def send(self, event: Event) -> None:
        """See `Turn.send`."""
        self._scope.wait(self._turn.send, event)


class BlockingCompaction:
    """`Compaction`, blocking. Made by `BlockingTurn.compact`."""

    def __init__(self, compaction: Compaction, scope: HandlerScope) -> None:
        self.id: str = compaction.id
        """See `Compaction.id`."""
        self.blocks: list[Block] = compaction.blocks
        """See `Compaction.blocks`."""
        self._compaction = compaction
        self._scope = scope

    def say(self, content: Blocks) -> None:
        """Append to the summary."""
        self._scope.wait(self._compaction.say, content)


class _Compacting:
    """The context of a compaction on the loop, which is left once: by the thread, or by a cancel."""

    def __init__(self, turn: Turn) -> None:
        self._context = turn.compact()
        self._is_open = False

    async def begin(self) -> Compaction:
        compaction = await self._context.__aenter__()
        self._is_open = True
        return compaction

    async def end(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_open:
            self._is_open = False
            with contextlib.suppress(*(() if error is None else (type(error),))):
                await self._context.__aexit__(kind, error, traceback)

    async def cancel(self) -> None:
        error = asyncio.CancelledError()
        await self.end(type(error), error, None)


@overload
def _under(tool: BlockingTool) -> Tool: ...
@overload
def _under(tool: BlockingTool | None) -> Tool | None: ...
def _under(tool: BlockingTool | None) -> Tool | None:
    return None if tool is None else tool._tool


blocking_view.register(Turn, BlockingTurn)
