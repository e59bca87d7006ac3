"""The blocking client for scripts and notebooks; its event loop runs in a thread of its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Future, TimeoutError as FutureTimeout
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack, overload

from accord.client.agent import ConnectedAgent
from accord.client.connect import ConnectOptions, StrPath, connect
from accord.client.deadline import Deadlines
from accord.client.launch import InProcessAgent
from accord.client.prompt import Promptable
from accord.client.session import Session
from accord.client.turn import Reply, Turn
from accord.errors import AccordError
from accord.session.client_requests import McpServer
from accord.session.event import Event, Meta
from accord.session.option import Command, ConfigOption
from accord.session.transcript import Transcript
from accord.time_scale import scaled
from accord.transport.interface import Transport

__all__ = ["BlockingSession", "OpenOptions", "SessionOptions", "open_session"]

T = TypeVar("T")

CANCEL_SECONDS = scaled(10.0)
# How often a waiting thread wakes up, so that Ctrl+C works on every system.
LOOK_SECONDS = 0.2
PUMP_EVENTS = 256


class _Thread:
    """An event loop in a thread, for callers with a loop of their own or without one."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="accord", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(_ended())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def soon(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run a plain function on the loop."""
        with suppress(RuntimeError):  # the loop is closed: there is nothing left to do
            self._loop.call_soon_threadsafe(function, *arguments)

    def wait(self, work: Coroutine[Any, Any, T], on_interrupt: Callable[[], None] = lambda: None) -> T:
        """Run a coroutine on the loop and wait for it here. Ctrl+C runs `on_interrupt` first, and is then raised."""
        future: Future[T] | None = None
        try:
            # In here: the agent may be at work before this thread goes on behind it.
            future = self.submit(work)
            while True:
                with suppress(FutureTimeout):
                    return future.result(LOOK_SECONDS)
                if future.done():
                    return future.result()
        except KeyboardInterrupt:
            on_interrupt()
            if future is not None:
                future.cancel()
            raise

    def stop(self) -> None:
        """End the thread; nothing may run in it any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CANCEL_SECONDS)


class _Pump:
    """Passes a turn's events from the loop's thread to the caller's, through a short queue."""

    def __init__(self, turn: Turn, thread: _Thread) -> None:
        self._turn = turn
        self._thread = thread
        self._events: SimpleQueue[Event | BaseException | None] = SimpleQueue()
        self._slots = asyncio.Semaphore(PUMP_EVENTS)
        self._is_left = False

    async def run(self) -> None:
        try:
            async with self._turn:
                async for event in self._turn:
                    await self._slots.acquire()
                    if self._is_left:
                        break
                    self._events.put(event)
        except BaseException as error:  # noqa: BLE001 - it belongs to the thread that asked
            self._events.put(error)
        else:
            self._events.put(None)

    def __iter__(self) -> Iterator[Event]:
        taken = 0
        while (event := self._next()) is not None:
            if isinstance(event, BaseException):
                raise event
            taken += 1
            if taken == PUMP_EVENTS // 2:
                self._thread.soon(self._free_slots, taken)
                taken = 0
            yield event

    def _next(self) -> Event | BaseException | None:
        while True:
            with suppress(Empty):
                return self._events.get(timeout=LOOK_SECONDS)

    def _free_slots(self, count: int) -> None:
        for _ in range(count):
            self._slots.release()

    def let_go(self) -> None:
        """Stop passing events: the caller consumes no more of them."""
        self._is_left = True
        self._thread.soon(self._free_slots, 1)


class BlockingSession:
    """A session and its agent, for scripts and notebooks. Made by `accord.open`.

    As a context it starts the agent and ends it; in a notebook, call `open` in one cell and `close` in a later one.

    Ctrl+C while the agent works cancels the turn first, and is then raised as ever.
    """

    def __init__(
        self,
        agent: ConnectedAgent,
        cwd: StrPath,
        additional_directories: Sequence[StrPath],
        mcp_servers: Sequence[McpServer],
        session_id: str | None,
    ) -> None:
        self._agent = agent
        self._cwd = cwd
        self._additional_directories = additional_directories
        self._mcp_servers = mcp_servers
        self._wanted = session_id
        self._thread: _Thread | None = None
        self._turns: list[Turn] = []
        self._is_closed = False
        self._session: Session | None = None

    def __repr__(self) -> str:
        return f"<blocking {self._session!r}>" if self._session else "<blocking session, not open>"

    def _repr_html_(self) -> str | None:
        return self._session._repr_html_() if self._session else None

    def _repr_markdown_(self) -> str | None:
        return self._session._repr_markdown_() if self._session else None

    # --- life

    def open(self) -> Self:
        """Start the agent and the session; it cannot be opened again once it is closed."""
        if self._is_closed:
            raise RuntimeError("the session is closed: open another one")
        if self._thread is None:
            self._thread = _Thread()
            try:
                self._session = self._thread.wait(self._open())
            except BaseException:
                self.close()
                raise
        return self

    async def _open(self) -> Session:
        await self._agent.open()
        directories, servers = self._additional_directories, self._mcp_servers
        if self._wanted is None:
            return await self._agent.new_session(self._cwd, additional_directories=directories, mcp_servers=servers)
        return await self._agent.load_session(
            self._wanted, self._cwd, additional_directories=directories, mcp_servers=servers
        )

    def close(self) -> None:
        """End the agent, after a cancel of its running turn; may be called again."""
        if self._thread is None:
            return
        for turn in list(self._turns):
            self._interrupt(turn)
        thread, self._thread, self._is_closed = self._thread, None, True
        try:
            thread.wait(self._agent.close())
        finally:
            thread.stop()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- prompts

    def prompt(self, *content: Promptable, deadlines: Deadlines | None = None, meta: Meta | None = None) -> Reply:
        """Prompt the agent and wait for the end of the turn. See `Session.prompt` for the content.

        Raises:
            AccordError: The turn failed.
        """
        thread, session = self._there()
        turn = thread.wait(_made(session, content, deadlines, meta))
        with self._going_on(turn):
            thread.wait(turn.wait(), on_interrupt=lambda: self._interrupt(turn))
        return Reply(turn)

    def stream(
        self, *content: Promptable, deadlines: Deadlines | None = None, meta: Meta | None = None
    ) -> Generator[Event, None, None]:
        """Prompt the agent and yield every event as it comes; leaving the loop early cancels the turn."""
        thread, session = self._there()
        turn = thread.wait(_made(session, content, deadlines, meta))
        pump = _Pump(turn, thread)
        future = thread.submit(pump.run())
        with self._going_on(turn):
            try:
                yield from pump
            finally:
                pump.let_go()
                self._interrupt(turn)
                with suppress(FutureTimeout, CancelledError):
                    future.result(CANCEL_SECONDS)

    @contextmanager
    def _going_on(self, turn: Turn) -> Iterator[None]:
        self._turns.append(turn)
        try:
            yield
        finally:
            self._turns.remove(turn)

    def cancel(self) -> None:
        """Stop the session's work; from another thread, for example."""
        thread, session = self._there()
        thread.wait(_stopped(session))

    def _interrupt(self, turn: Turn) -> None:
        if self._thread is not None and not turn.is_over:
            with suppress(AccordError, FutureTimeout, CancelledError, KeyboardInterrupt):
                self._thread.submit(_cancelled(turn)).result(CANCEL_SECONDS)

    # --- state

    @property
    def session(self) -> Session:
        """The session underneath, also after its end; read it, and await nothing of it here."""
        if self._session is None:
            raise RuntimeError("the session is not open: use `with accord.open(...) as session:`")
        return self._session

    @property
    def agent(self) -> ConnectedAgent:
        """The agent underneath: `agent.info.name`, `agent.capabilities`, `agent.edition`."""
        return self._agent

    @property
    def id(self) -> str:
        """The session's id, to load it later."""
        return self.session.id

    @property
    def transcript(self) -> Transcript:
        """The conversation so far."""
        return self.session.transcript

    @property
    def options(self) -> list[ConfigOption]:
        """The config options with their values."""
        return self.session.options

    @property
    def commands(self) -> list[Command]:
        """The slash commands."""
        return self.session.commands

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001 - the value of a toggle
        """Give an option another value. See `Session.set_option`."""
        thread, session = self._there()
        thread.wait(session.set_option(option_id, value))

    def set_mode(self, mode: str) -> None:
        """Choose another mode."""
        thread, session = self._there()
        thread.wait(session.set_mode(mode))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine of the async client in its own loop: `session.run(session.agent.logout())`."""
        try:
            thread, _ = self._there()
        except RuntimeError:
            work.close()
            raise
        return thread.wait(work)

    def _there(self) -> tuple[_Thread, Session]:
        if self._thread is None or self._session is None:
            raise RuntimeError("the session is not open: use `with accord.open(...) as session:`")
        return self._thread, self._session


class SessionOptions(TypedDict, total=False):
    """The options of the session that `accord.open` opens."""

    cwd: StrPath
    additional_directories: Sequence[StrPath]
    mcp_servers: Sequence[McpServer]
    session_id: str | None


class OpenOptions(ConnectOptions, SessionOptions, total=False):
    """The options of `accord.open`: those of `accord.connect`, and those of the session."""


@overload
def open_session(program: StrPath, /, *arguments: StrPath, **options: Unpack[OpenOptions]) -> BlockingSession: ...
@overload
def open_session(agent: InProcessAgent, /, **options: Unpack[OpenOptions]) -> BlockingSession: ...
@overload
def open_session(transport: Transport, /, **options: Unpack[OpenOptions]) -> BlockingSession: ...
@overload
def open_session(connected: ConnectedAgent, /, **options: Unpack[SessionOptions]) -> BlockingSession: ...
def open_session(
    *target: Any,
    cwd: StrPath = ".",
    additional_directories: Sequence[StrPath] = (),
    mcp_servers: Sequence[McpServer] = (),
    session_id: str | None = None,
    **options: Any,
) -> BlockingSession:
    """`accord.connect` and a session in one, for scripts and notebooks.

    ```python
    with accord.open("gemini", "--acp", permission=lambda question: True) as session:
        print(session.prompt("Explain this repository").text)
    ```

    `cwd`, `additional_directories` and `mcp_servers` are the session's; `session_id` loads one from before. Everything
    else is for `accord.connect`; plain functions given there may block, they run in threads. Works inside a running
    event loop.

    The target may also be the unopened result of `accord.connect`, for an agent that speaks a dialect:
    `accord.open(accord.connect("backend").use_dialect(...))`. It has its options already.

    Raises:
        TypeError: The target is invalid, or has its options already.
    """
    if len(target) == 1 and isinstance(target[0], ConnectedAgent):
        if options:
            raise TypeError(f"give these options to accord.connect: {', '.join(options)}")
        return BlockingSession(target[0], cwd, additional_directories, mcp_servers, session_id)
    if unknown := sorted(options.keys() - ConnectOptions.__optional_keys__):
        raise TypeError(f"accord.open() got an unexpected keyword argument {unknown[0]!r}")
    for name in ("permission", "elicit", "login"):
        callback = options.get(name)
        if callback is not None:
            options[name] = _in_thread(callback)
    return BlockingSession(connect(*target, **options), cwd, additional_directories, mcp_servers, session_id)


def _in_thread(callback: Callable[[Any], Any]) -> Callable[[Any], Any]:
    call = getattr(callback, "__call__", callback)  # noqa: B004 - a policy is an object with such a method
    if inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(call):
        return callback

    async def answer(question: Any) -> Any:
        answer = await _called_in_thread(callback, question)
        return await answer if inspect.isawaitable(answer) else answer

    return answer


async def _called_in_thread(callback: Callable[[Any], Any], question: Any) -> Any:
    """The result of a callback, in a daemon thread of its own: it may wait for a user, and keeps no program alive."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Any] = loop.create_future()

    def settle(answer: Any, error: BaseException | None) -> None:
        if not answered.done():
            if error is None:
                answered.set_result(answer)
            else:
                answered.set_exception(error)

    def call() -> None:
        answer: Any = None
        failure: BaseException | None = None
        try:
            answer = callback(question)
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller
            # No future may hold these, or they would end the loop.
            unfit = isinstance(error, SystemExit | StopIteration | KeyboardInterrupt)
            failure = RuntimeError(f"the callback raised {type(error).__name__}") if unfit else error
        with suppress(RuntimeError):  # without a waiter: the loop is closed
            loop.call_soon_threadsafe(settle, answer, failure)

    threading.Thread(target=call, name="accord-callback", daemon=True).start()
    return await answered


async def _ended() -> None:
    """End the tasks that still run in this loop."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=CANCEL_SECONDS)


async def _made(
    session: Session, content: Sequence[Promptable], deadlines: Deadlines | None, meta: Meta | None
) -> Turn:
    return session.prompt(*content, deadlines=deadlines, meta=meta)


async def _stopped(session: Session) -> None:
    session.cancel()


async def _cancelled(turn: Turn) -> None:
    # A turn that was not even sent has no end.
    if turn._task is not None:
        turn.cancel()
        await turn._wait_over()
