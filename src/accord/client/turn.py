"""One prompt of a client: its events while the turn runs, its stop reason or failure, and its result as a value."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Generator
from types import TracebackType
from typing import Any, Protocol, Self

from accord.client.deadline import Deadlines, Watch
from accord.errors import AccordError, DeadlineExceeded
from accord.session.content import Block, Text
from accord.session.entry import Entry, Message, ToolCall, changes_of
from accord.session.event import (
    Event,
    MessageChunk,
    Meta,
    StopReason,
    TerminalChanged,
    TerminalOutput,
    TokenUsage,
    UsageChanged,
)
from accord.session.tool import FileChange
from accord.session.transcript import Transcript
from accord.telemetry import NO_SPAN, OperationSpan, error_type
from accord.time_scale import scaled

__all__ = ["Reply", "Turn"]

# How much may wait for a consumer before the agent is not read any more, and what an event weighs beside its text.
MAX_WAITING_BYTES = 1024 * 1024
CHUNK_BYTES = 256
EVENT_BYTES = 4096
LEAVE_SECONDS = scaled(10.0)


class TurnSession(Protocol):
    transcript: Transcript

    async def _submit(self, turn: Turn) -> None:
        """Send the prompt when the automaton allows it; returns when the turn is over."""

    def cancel(self) -> None: ...


class Turn:
    """A prompt and its turn. Made by `Session.prompt`, to be used in one of three ways.

    - `turn = await session.prompt("...")` waits for the end;
    - `async with session.prompt("...") as turn:` sends it, and waits for its end when the block is left; an exception
      inside cancels it first;
    - inside such a block `async for event in turn:` gives every event as it comes.

    In each of them `session.transcript` has the whole conversation. An agent that fails ends the turn with an
    exception: at the end of the block, in the loop, or in the `await`, once.
    """

    def __init__(
        self, session: TurnSession, content: list[Block], deadlines: Deadlines, meta: Meta | None = None
    ) -> None:
        self.prompt: list[Block] = content
        """The blocks of the prompt."""
        self.meta: Meta | None = meta
        """The `_meta` of the prompt."""
        self.message_id: str | None = None
        """The id of the user's message, where the edition names it."""
        self.stop_reason: StopReason | str | None = None
        """Why the turn ended; None while it goes on, and where it failed."""
        self.error: AccordError | None = None
        """The exception that ended the turn, if it failed."""
        self.token_usage: TokenUsage | None = None
        """The tokens that the turn took; None while it goes on, and where the agent did not report them."""
        self._session = session
        self._first: int | None = None
        self._end: int | None = None
        """The begin and the end of its entries in the timeline."""
        self._deadlines = deadlines
        self._watch: Watch | None = None
        self._unstarted = True
        """Whether the deadlines need the next sign of life."""
        self._waiting: deque[Event] = deque()
        self._waiting_bytes = 0
        """How much has come since the consumer had taken everything."""
        self._listening = False
        self._news: asyncio.Future[None] | None = None
        self._drained: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_unwanted = False
        self._is_moving = False
        """Whether its prompt was refused by a server that is about to end, and goes to another one."""
        self._released = asyncio.Event()
        """Set when the prompt may be sent, and when nothing is left to send because the turn is over."""
        self._over = asyncio.Event()
        self._raised = False
        self._span: OperationSpan = NO_SPAN

    def __repr__(self) -> str:
        return f"<prompt turn, {self.stop_reason or self.error or 'running'}>"

    # --- for the sender

    @property
    def text(self) -> str:
        """The text of all messages of the agent in this turn so far."""
        return "".join(entry.text for entry in self._entries if isinstance(entry, Message) and entry.speaker == "agent")

    @property
    def answer(self) -> str:
        """The last whole message of the agent in this turn: `text` without the messages between tool calls."""
        for entry in reversed(self._entries):
            if isinstance(entry, Message) and entry.speaker == "agent":
                return entry.text
        return ""

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool calls of this turn so far, live."""
        return [entry for entry in self._entries if isinstance(entry, ToolCall)]

    @property
    def diffs(self) -> list[FileChange]:
        """The changes of files that the tool calls of this turn show, without those that failed or were cancelled."""
        return changes_of(self.tool_calls)

    @property
    def _entries(self) -> list[Entry]:
        return [] if self._first is None else self._session.transcript.timeline[self._first : self._end]

    def _repr_html_(self) -> str:
        from accord.session.notebook import conversation_html, end_note  # noqa: PLC0415 - for notebooks, and they have time

        seen = self._session.transcript
        note = end_note(self.stop_reason, self.token_usage, seen.usage)
        return conversation_html("Turn", self._entries, seen.terminals, note)

    def _repr_markdown_(self) -> str:
        from accord.session.notebook import conversation_markdown, end_note  # noqa: PLC0415 - as above

        seen = self._session.transcript
        note = end_note(self.stop_reason, self.token_usage, seen.usage)
        return conversation_markdown("Turn", self._entries, seen.terminals, note)

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended."""
        return self._over.is_set()

    def cancel(self) -> None:
        """Ask the agent to stop this session's work; returns at once.

        Events keep arriving until the agent ends the turn, so keep iterating. The stop reason is then `cancelled`,
        unless the agent had just finished. On an ended turn this does nothing.
        """
        if not self.is_over:
            self._is_unwanted = True
            self._session.cancel()

    async def wait(self) -> Self:
        """Wait for the end of the turn. Events that no loop takes meanwhile are dropped.

        Raises:
            AccordError: The turn failed.
        """
        self._start()
        self._ignore()
        await self._over.wait()
        self._raise()
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        return self.wait().__await__()

    async def __aenter__(self) -> Self:
        self._listening = True
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ignore()
        if error is None:
            await self._over.wait()
            self._raise()
            return
        if not self.is_over:
            try:
                self.cancel()
                async with asyncio.timeout(LEAVE_SECONDS):
                    await self._over.wait()
            except (TimeoutError, AccordError):
                pass  # the exception of the block is the one that the caller has to see

    async def __aiter__(self) -> AsyncIterator[Event]:
        self._listening = True
        self._start()
        waiting = self._waiting
        while True:
            while waiting:
                yield waiting.popleft()
            self._drain()
            if self.is_over:
                break
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        self._raise()

    async def text_stream(self) -> AsyncIterator[str]:
        """The pieces of the agent's messages, as they come."""
        async for event in self:
            if isinstance(event, MessageChunk) and event.speaker == "agent" and isinstance(event.block, Text):
                yield event.block.text

    # --- for the session

    def _start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._session._submit(self))

    def _ready(self) -> None:
        self._released.set()

    async def _wait_ready(self) -> None:
        """Return when the prompt may be sent, or the turn is over."""
        await self._released.wait()

    def _sent(self) -> None:
        """The prompt was sent: the deadlines start."""
        self._first = len(self._session.transcript.timeline)
        self._watch = Watch(self._deadlines, self._late)
        self._unstarted = True

    def _stopping(self) -> None:
        """The user stops the session's work: the turn has the time of a cancel left."""
        if self._watch is not None:
            self._watch.cancelled()

    def _late(self, error: DeadlineExceeded) -> None:
        # The first deadline that passed is the reason of the end, also if the agent then does not stop either.
        self.error = self.error or error
        if error.phase == "cancel":
            if self._task is not None:
                # The answer is not awaited any more, and the next prompt does not wait for it either.
                self._task.cancel()
            self._finish(None, error)
        else:
            self.cancel()

    def _alive(self) -> None:
        if self._watch is not None:
            self._watch.sign_of_life()

    def _rest(self) -> None:
        """The agent waits for us."""
        if self._watch is not None:
            self._watch.rest()

    def _go_on(self) -> None:
        """The agent no longer waits for us."""
        if self._watch is not None:
            self._watch.go_on()

    def _enqueue(self, event: Event) -> Awaitable[None] | None:
        """Queue an event of this turn; the result, if any, is back-pressure to be awaited before the next one."""
        if self._unstarted:
            self._alive()
            self._unstarted = self._deadlines.idle_seconds is not None
        if not self._listening:
            return None
        self._waiting.append(event)
        if type(event) is MessageChunk and type(event.block) is Text:
            self._waiting_bytes += CHUNK_BYTES + len(event.block.text)
        else:
            self._waiting_bytes += EVENT_BYTES + _output_bytes(event)
        if self._news is not None:
            self._wake()
        return None if self._waiting_bytes < MAX_WAITING_BYTES else _Pause(self)

    def _wake(self) -> None:
        news, self._news = self._news, None
        if news is not None and not news.done():
            news.set_result(None)

    async def _wait_drained(self) -> None:
        """Return when events are consumed again, or will not be any more."""
        if self._listening and self._waiting_bytes >= MAX_WAITING_BYTES:
            if self._drained is None:
                self._rest()
                self._drained = asyncio.Event()
            await self._drained.wait()

    def _drain(self) -> None:
        self._waiting_bytes = 0
        if self._drained is not None:
            self._drained.set()
            self._drained = None
            self._go_on()

    def _finish(
        self, stop_reason: StopReason | str | None, error: AccordError | None = None, usage: TokenUsage | None = None
    ) -> None:
        if self.is_over:
            return
        self.stop_reason = stop_reason
        self.token_usage = usage
        # A deadline that passed is the reason, also if the agent answered the cancel in another way.
        self.error = self.error or error
        if self._watch is not None:
            self._watch.stop()
        self._end = len(self._session.transcript.timeline)
        self._over.set()
        self._released.set()
        self._wake()

    def _end_span(self) -> None:
        self._span.note("acp.stop_reason", self.stop_reason)
        if self.error is not None:
            self._span.fail(error_type(self.error))
        self._span.end()

    async def _wait_over(self) -> None:
        """Return when the turn is over, also if it failed."""
        await self._over.wait()

    def _ignore(self) -> None:
        self._listening = False
        self._waiting.clear()
        self._drain()

    def _raise(self) -> None:
        if self.error is not None and not self._raised:
            self._raised = True
            raise self.error


def _output_bytes(event: Event) -> int:
    """How much of a terminal's output it holds."""
    if type(event) is TerminalOutput:
        return len(event.data)
    return len(event.output) if type(event) is TerminalChanged and event.output else 0


class _Pause:
    """Back-pressure, to be awaited where that is possible; not a coroutine, so that it may stay unawaited."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def __await__(self) -> Generator[Any, None, None]:
        return self._turn._wait_drained().__await__()


class Reply:
    """The result of a prompt. Made by `BlockingSession.prompt`; `str` of it is its text.

    It has `text`, `answer`, `stop_reason`, `tool_calls`, `diffs`, `token_usage` and `usage`.
    """

    def __init__(self, turn: Turn) -> None:
        self.text: str = turn.text
        """The text of all messages of the agent in the turn."""
        self.answer: str = turn.answer
        """The last whole message of the agent."""
        self.stop_reason: StopReason | str | None = turn.stop_reason
        """Why the turn ended."""
        self.tool_calls: list[ToolCall] = turn.tool_calls
        """The tool calls of the turn, in their order."""
        self.diffs: list[FileChange] = turn.diffs
        """The changes of files that the tool calls show, without those that failed or were cancelled."""
        self.token_usage: TokenUsage | None = turn.token_usage
        """The tokens that the turn took, where the agent reported them."""
        transcript = turn._session.transcript
        self.usage: UsageChanged | None = transcript.usage
        """The use of the context and the cost, as the agent had reported them at the end of the turn."""
        self._entries = list(turn._entries)
        self._terminals = transcript.terminals

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<reply, {self.stop_reason}: {self.text[:60]!r}>"

    def _repr_html_(self) -> str:
        from accord.session.notebook import conversation_html, end_note  # noqa: PLC0415 - as above

        note = end_note(self.stop_reason, self.token_usage, self.usage)
        return conversation_html("Reply", self._entries, self._terminals, note)

    def _repr_markdown_(self) -> str:
        from accord.session.notebook import conversation_markdown, end_note  # noqa: PLC0415 - as above

        note = end_note(self.stop_reason, self.token_usage, self.usage)
        return conversation_markdown("Reply", self._entries, self._terminals, note)
