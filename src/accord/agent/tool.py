"""A tool call of an agent: started, updated, shown, and always ended."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

import msgspec

from accord.agent.session import Session
from accord.errors import ConnectionLost
from accord.json_values import JsonValue
from accord.jsonrpc.plain import plain, plain_text
from accord.protocol.model import UNSET, Maybe, Unknown, UnsetType
from accord.session.content import Audio, Block, Image, Link, Resource, Text
from accord.session.custom import check_value, known_values
from accord.session.event import Event, Meta, ToolChanged, ToolContentAdded
from accord.session.event_check import check_event
from accord.session.tool import (
    FINISHED,
    Diff,
    FileChange,
    FileOperation,
    Location,
    Shown,
    TerminalView,
    ToolContent,
    ToolKind,
    ToolStatus,
)
from accord.telemetry import NO_SPAN, OperationSpan, end_tool, tool_span

__all__ = ["Showable", "Tool", "ToolFailed", "Viewable", "tool_content"]

log = logging.getLogger("accord.agent")
TOOL_KINDS = known_values(ToolKind)
TOOL_STATUSES = known_values(ToolStatus)
FILE_OPERATIONS = known_values(FileOperation)


class ToolFailed(Exception):
    """Raise it inside a tool call to end that as failed; the text is shown to the user."""


@runtime_checkable
class Viewable(Protocol):
    """An object that a tool call can show, such as a `Terminal`."""

    @property
    def view(self) -> TerminalView:
        """The terminal as content of a tool call."""


Showable: TypeAlias = str | Block | ToolContent | FileChange | Viewable
"""The content of a tool call: text, any block, a change to a file, a terminal."""


def tool_content(item: Showable) -> ToolContent:
    """An author's item as content of a tool call.

    Raises:
        TypeError: It cannot be shown. ValueError: There is no such operation on a file.
    """
    match item:
        case str():
            return Shown(Text(plain_text(item)))
        case Text() | Image() | Audio() | Link() | Resource():
            return Shown(item)
        case FileChange():
            check_value(item.operation, FILE_OPERATIONS, "operation on a file")
            return Diff([item])
        case Shown() | Diff() | TerminalView() | Unknown():
            return item
        case Viewable():
            return item.view
        case _:
            raise TypeError(
                f"a {type(item).__name__} cannot be shown: a text, a block, a file change or a terminal can"
            )


_SCALARS = frozenset({str, int, float, bool, type(None)})
_FEW = 8


def _is_flat(value: dict[Any, Any]) -> bool:
    for key, inner in value.items():  # noqa: SIM110 - half of the time of `all` with a generator
        if type(key) is not str or type(inner) not in _SCALARS:
            return False
    return True


def checked_json(value: Any, field: str) -> Any:
    """An author's value as plain JSON, as it is now; an error is raised while its author can see where it came from."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    # Most inputs are a few words by name: twice as fast as `plain`, which sets up a walk for any value.
    if kind is dict and len(value) <= _FEW and _is_flat(value):
        return value.copy()
    try:
        return plain(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(f"{field} is no JSON value: {error}") from None


class Tool:
    """A tool call of a turn. Made by `Turn.tool`; as an async context it is announced first and ended at its end.

    Leaving the context completes the call. An exception inside ends it as failed and is logged, but does not end the
    turn: `failed` is then True. The text of a `ToolFailed` is shown to the user. Cancelling the turn ends it as
    cancelled; a client that cancels the call alone (`cancellable=True`, v2) ends only the block of the context.

    Because an exception may end the block and not the handler, set what it computes before it:

    ```python
    rows = None
    async with turn.tool("Query the database", kind="fetch") as tool:
        rows = await query(turn.text)
    if tool.failed or rows is None:
        return
    ```

    A `background` call may go on when its turn is over; it must then be ended by hand.
    """

    def __init__(  # noqa: PLR0913 - all of it is what a tool call can say
        self,
        session: Session,
        publish: Callable[[Event], Awaitable[None]],
        on_start: Callable[[], Callable[[], None]],
        id_: str,
        title: str,
        *,
        kind: ToolKind,
        status: ToolStatus,
        name: str | None,
        raw_input: Any,
        locations: Sequence[Location | str | os.PathLike[str]],
        cancellable: bool,
        background: bool,
        meta: Meta | None,
    ) -> None:
        self.id: str = id_
        """The id of the tool call."""
        self.title: str = title
        """The title that the user sees."""
        self.kind: ToolKind = kind
        """The kind, by which clients choose a picture."""
        self.status: ToolStatus = status
        """The status that was sent last."""
        self.name: str | None = name
        """The name of the tool, where it was given."""
        self.background: bool = background
        """Whether the call may go on when its turn is over."""
        self.content: list[ToolContent] = []
        """All content of the call."""
        self.locations: list[Location] = [self._located(session, place) for place in locations]
        """The locations in files that the call works on."""
        self.raw_input: JsonValue = raw_input if raw_input is UNSET else checked_json(raw_input, "input")
        """The input of the tool, a JSON value; UNSET where none was given."""
        self.error: BaseException | None = None
        """The exception that ended the context, if one did."""
        self.refused: bool = False
        """Whether the user was asked about the call and did not allow it."""
        self._session = session
        self._publish = publish
        self._on_start = on_start
        self._on_begin: Callable[[], None] | None = None
        """Called when it is more than announced, once."""
        self._cancellable = cancellable
        self._meta = None if meta is None else checked_json(meta, "meta")
        self._announced = False
        self._task: asyncio.Task[Any] | None = None
        self._stopped = False
        self._span: OperationSpan = NO_SPAN
        self._on_stop: Callable[[], None] | None = None
        """Called when the client cancels this call, for a context that is no task: that of a blocking one."""
        check_event(self._created())

    def __repr__(self) -> str:
        return f"<tool call {self.title!r}, {self.status}>"

    @property
    def started(self) -> bool:
        """Whether it was announced."""
        return self._announced

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self.status in FINISHED

    @property
    def failed(self) -> bool:
        """Whether it ended as failed."""
        return self.status in {"failed", "cancelled"}

    # --- life

    async def start(self) -> Self:
        """Announce it; only the first time counts."""
        if not self._announced:
            self._announced = True
            self._span = tool_span(self.name or self.kind, self.kind, self.id, self._session.id)
            self._on_begin = self._on_start()
            self._note_begin()
            if self._cancellable:
                self._session._cancellable[self.id] = self._stop
            await self._publish(self._created())
            if self.background:
                self._session._announce("tool_call", self.id)
        return self

    def _created(self) -> ToolChanged:
        return ToolChanged(
            self.id,
            title=self.title,
            kind=self.kind,
            status=self.status,
            name=self.name or UNSET,
            locations=list(self.locations) or UNSET,
            raw_input=self.raw_input,
            cancellable=True if self._cancellable else UNSET,
            created=True,
            meta=self._meta or UNSET,
        )

    def _note_begin(self) -> None:
        if self._on_begin is not None and self.status != "pending":
            self._on_begin()
            self._on_begin = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        await self.start()
        self._span.attach()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        task, self._task = self._task, None
        self._span.detach()
        # Like a timeout: the client cancelled this block alone, unless the whole turn was cancelled as well.
        ends_here = self._stopped and task is not None and task.uncancel() == 0
        if error is None:
            await self._leave()
            return False
        if isinstance(error, asyncio.CancelledError):
            await self.cancel()
            return ends_here
        if not isinstance(error, Exception):
            return False
        if isinstance(error, ConnectionLost):
            # The client is gone; the turn ends with it.
            await self.cancel()
            return False
        self.error = error
        if isinstance(error, ToolFailed):
            await self.fail(str(error))
        else:
            log.error("the tool call %r failed", self.title, exc_info=error)
            await self.fail()
        return True

    async def _leave(self) -> None:
        if self.refused and self.status == "pending":
            await self.cancel()  # nothing was done
        elif not self.background:
            await self.complete()

    def _stop(self) -> None:
        if self._stopped:
            return
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            return
        if self._on_stop is not None:
            self._on_stop()
        self._session.spawn(self.cancel())

    @property
    def cancel_requested(self) -> bool:
        """Whether the client asked for this call alone to stop."""
        return self._stopped

    async def complete(self, *items: Showable, output: JsonValue = UNSET) -> None:
        """End the call as completed; `items` are shown at its end. On an ended call this does nothing."""
        await self._end("completed", items, output)

    async def fail(self, *items: Showable, output: JsonValue = UNSET) -> None:
        """End the call as failed; the turn goes on. On an ended call this does nothing."""
        await self._end("failed", items, output)

    async def cancel(self) -> None:
        """End the call as cancelled. On an ended call this does nothing."""
        await self._end("cancelled", (), UNSET)

    async def _end(self, status: ToolStatus, items: Sequence[Showable], output: Any) -> None:
        if self.finished:
            return
        raw_output = output if output is UNSET else checked_json(output, "output")
        await self.start()
        for item in items:
            await self.show(item)
        await self._publish(self._ended(status, raw_output))
        if self.background:
            self._session._withdraw("tool_call", self.id)

    def _ended(self, status: ToolStatus, raw_output: Any) -> ToolChanged:
        self.status = status
        end_tool(self._span, status, self.error)
        self._note_begin()
        self._session._cancellable.pop(self.id, None)
        cancellable = False if self._cancellable else UNSET
        return ToolChanged(self.id, status=status, raw_output=raw_output, cancellable=cancellable)

    def _cut_short(self) -> ToolChanged | None:
        """The event that ends it because its turn is over."""
        return self._ended("cancelled", UNSET) if self._announced and not self.finished else None

    # --- changes

    async def update(
        self,
        *,
        title: str | UnsetType = UNSET,
        kind: ToolKind | UnsetType = UNSET,
        status: ToolStatus | UnsetType = UNSET,
        input: JsonValue = UNSET,  # noqa: A002 - what it is called
        output: JsonValue = UNSET,
        meta: Maybe[Meta] = UNSET,
    ) -> None:
        """Change the given fields. A status that ends the call has its own methods.

        Raises:
            ValueError: The status is one that ends the call, or there is no such kind or status.
            TypeError: The input or output is no JSON value, or another value is no text.
        """
        if isinstance(status, str) and status in FINISHED:
            raise ValueError("a tool call is ended by complete, fail or cancel")
        if kind is not UNSET:
            check_value(kind, TOOL_KINDS, "kind of a tool call")
        if status is not UNSET:
            check_value(status, TOOL_STATUSES, "status of a tool call")
        raw_input = input if input is UNSET else checked_json(input, "input")
        raw_output = output if output is UNSET else checked_json(output, "output")
        changed = ToolChanged(
            self.id, title=title, kind=kind, status=status, raw_input=raw_input, raw_output=raw_output, meta=meta
        )
        check_event(changed)
        for name, value in (("title", title), ("kind", kind), ("status", status)):
            if value is not UNSET:
                setattr(self, name, value)
        if raw_input is not UNSET:
            self.raw_input = raw_input
        await self.start()
        self._note_begin()
        await self._publish(changed)

    async def show(self, *items: Showable) -> None:
        """Append content."""
        await self.start()
        for item in items:
            added = ToolContentAdded(self.id, tool_content(item))
            check_event(added)
            self.content.append(added.content)
            await self._publish(added)

    async def stream(self, text: str) -> None:
        """Append a piece of text; pieces that follow each other read as one where an edition can grow a text."""
        await self.show(text)

    async def replace(self, *items: Showable) -> None:
        """Replace all content."""
        await self.start()
        content = [tool_content(item) for item in items]
        changed = ToolChanged(self.id, content=list(content))
        check_event(changed)
        self.content = content
        await self._publish(changed)

    async def diff(self, path: str | os.PathLike[str], old: str | None, new: str | None) -> None:
        """Show a change to a file: `old` is None for a new one, `new` for one that is gone."""
        operation: FileOperation = "add" if old is None else "delete" if new is None else "modify"
        await self.show(FileChange(self._absolute(self._session, path), old, new, operation))

    async def locate(self, *places: Location | str | os.PathLike[str]) -> None:
        """Report the locations it works on now, so that an editor can follow; replaces the earlier ones."""
        locations = [self._located(self._session, place) for place in places]
        changed = ToolChanged(self.id, locations=list(locations))
        check_event(changed)
        self.locations = locations
        await self.start()
        await self._publish(changed)

    async def _answered(self, title: str | None, *, is_allowed: bool) -> None:
        """The permission request about the call was answered; `title` is that of the request."""
        if title is not None and title != self.title:
            # Some editions show the request under the tool call's title: the call gets its own title back.
            await self._publish(ToolChanged(self.id, title=self.title))
        if not is_allowed:
            self.refused = True
        elif self.status == "pending":
            await self.update(status="in_progress")

    def _subject(self, *, is_described: bool) -> ToolChanged:
        """The tool call as a permission request sends it; v1 puts a description into content that is known."""
        return ToolChanged(
            self.id,
            title=self.title,
            kind=self.kind,
            content=list(self.content) if self.content or is_described else UNSET,
            locations=list(self.locations) or UNSET,
            raw_input=self.raw_input,
        )

    @staticmethod
    def _absolute(session: Session, path: str | os.PathLike[str]) -> str:
        text = plain_text(os.fspath(path))
        return os.path.normpath(os.path.join(session.cwd, text))  # noqa: PTH118 - no disk is asked

    @classmethod
    def _located(cls, session: Session, place: Location | str | os.PathLike[str]) -> Location:
        if isinstance(place, Location):
            return msgspec.structs.replace(place, path=cls._absolute(session, place.path))
        return Location(cls._absolute(session, place))
