"""Threads for handlers without `async`, and the calls from such a thread to the event loop.

A handler in a thread may block for as long as it likes: the loop goes on. Its arguments are blocking views
(`accord.agent.blocking`) of the turn, the session and so on; each of their verbs runs on the loop while the thread
waits. A cancel reaches the thread at its next verb, or in the verb that it waits for. It never reaches it elsewhere: no
thread can be stopped from outside, so a turn does not wait for the thread of its handler.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import FunctionType
from typing import Any, TypeVar

from accord.time_scale import scaled

__all__ = ["MAX_THREADS", "HandlerScope", "HandlerThreads", "awaited", "blocking_view", "runs_on_the_loop", "unwrapped"]

log = logging.getLogger("accord.agent")

T = TypeVar("T")
Work = Callable[[], None]

# How many handlers may run in threads at once; further ones wait. A waiting thread costs some 50 KiB.
MAX_THREADS = 1024
# How long a thread without work waits for some.
IDLE_SECONDS = 5.0
# How deep handlers may call each other through verbs: each level needs a thread, beyond `MAX_THREADS`.
MAX_DEPTH = 32
# How long the end of idle threads is awaited.
JOIN_SECONDS = scaled(0.5)

_scope: ContextVar[HandlerScope | None] = ContextVar("accord-handler-scope", default=None)


@functools.singledispatch
def blocking_view(value: Any, _: HandlerScope) -> Any:
    """The view that a handler in a thread gets in place of `value`; the views register themselves here."""
    return value


def unwrapped(handler: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside of partials and decorators."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    # A decorator that was made with `functools.wraps` passes the coroutine on without being one.
    function: Callable[..., Any] = inspect.unwrap(handler)
    return function


def runs_on_the_loop(handler: Callable[..., Any]) -> bool:
    """Whether a handler is a coroutine function, or a partial, a method, an object or a wrapper of one."""
    # Nearly all are a plain `async def`: the closer look below takes 0.6 us, a hundredth of a small turn.
    if type(handler) is FunctionType and handler.__code__.co_flags & inspect.CO_COROUTINE and not handler.__dict__:
        return True
    handler = unwrapped(handler)
    if inspect.iscoroutinefunction(handler):
        return True
    call = getattr(type(handler), "__call__", None)  # noqa: B004 - that of an object
    return not inspect.isroutine(handler) and inspect.iscoroutinefunction(call)


async def awaited(work: Awaitable[T]) -> T:
    """Await the work of an author's handler; an exception beside `Exception` becomes a `RuntimeError`.

    An `exit()` in a handler, or the panic of an extension module, ends what the handler was called for, and neither the
    loop nor an unanswered request. An interrupt by the keyboard goes on to the program.
    """
    try:
        return await work
    except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise _beside_exception(error) from error


def _beside_exception(error: BaseException) -> RuntimeError:
    failure = RuntimeError(f"the handler raised {type(error).__name__}")
    failure.__cause__ = error
    return failure


@dataclass(slots=True)
class _Call:
    """A verb that a thread waits for; it has a task as soon as the loop has begun it."""

    thread: int
    task: asyncio.Task[Any] | None = None


class HandlerScope:
    """The access of one function in a thread to the loop, until it is cancelled. Made on the loop's thread."""

    # Each turn has one, for threads that it nearly never has.
    __slots__ = (
        "__weakref__", "_blocks", "_calls", "_lock", "_loop", "_loop_thread", "_on_cancel", "cancelled_at", "depth",
        "thread", "threads",
    )  # fmt: skip

    def __init__(self, threads: HandlerThreads, loop: asyncio.AbstractEventLoop, depth: int = 0) -> None:
        self.threads = threads
        self.depth = depth
        self.thread: threading.Thread | None = None
        self.cancelled_at: float | None = None
        """By the loop's clock."""
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._lock = threading.Lock()
        self._calls: dict[Future[Any], _Call] = {}
        self._blocks: list[tuple[int, Callable[[], bool]]] = []
        self._on_cancel: list[Callable[[], Coroutine[Any, Any, Any]]] = []

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled: then its verbs raise."""
        return self.cancelled_at is not None

    @property
    def is_on_loop(self) -> bool:
        """Whether this is the thread of the loop."""
        return threading.get_ident() == self._loop_thread

    # --- in the thread

    @property
    def current(self) -> HandlerScope:
        """The scope that binds this thread: that of the function it runs for us, whichever object is used in it.

        So work beside the turns outlives the turn that began it. A thread of the author's own is bound to this scope.
        """
        return _scope.get() or self

    def check(self) -> None:
        """Raise if this scope was cancelled.

        Raises:
            asyncio.CancelledError: The turn was cancelled, or the call of a tool whose block this is.
        """
        scope = self.current
        if scope.is_cancelled:
            raise asyncio.CancelledError("the turn was cancelled")
        thread = threading.get_ident()
        if any(owner == thread and is_stopped() for owner, is_stopped in scope._blocks):
            raise asyncio.CancelledError("the tool call was cancelled")

    def wait(self, verb: Callable[..., Awaitable[T]], *arguments: Any, **named: Any) -> T:
        """Run a coroutine function on the loop and wait for its result or exception.

        Raises:
            asyncio.CancelledError: The scope was cancelled, before or meanwhile; or the agent has ended.
            RuntimeError: This is the loop's own thread.
        """
        self.check()
        return self.current.wait_unchecked(verb, *arguments, **named)

    def wait_unchecked(self, verb: Callable[..., Awaitable[T]], *arguments: Any, **named: Any) -> T:
        """`wait` without `check`, for use in a block that is stopped."""
        if self.is_on_loop:
            raise RuntimeError("a blocking verb would stop the event loop: use it in a thread, or write `async def`")
        call: Future[T] = Future()
        with self._lock:
            if self.is_cancelled:
                raise asyncio.CancelledError("the turn was cancelled")
            self._calls[call] = _Call(threading.get_ident())
        try:
            self._loop.call_soon_threadsafe(self._begin, call, copy_context(), verb, arguments, named)
        except RuntimeError:
            raise asyncio.CancelledError("the agent has ended") from None
        return call.result()

    @contextlib.contextmanager
    def block(self, is_stopped: Callable[[], bool]) -> Iterator[None]:
        """While this lasts, verbs of this thread raise as soon as `is_stopped` says so."""
        scope = self.current
        entry = (threading.get_ident(), is_stopped)
        scope._blocks.append(entry)
        try:
            yield
        finally:
            scope._blocks.remove(entry)

    @contextlib.contextmanager
    def on_cancel(self, end: Callable[[], Coroutine[Any, Any, Any]]) -> Iterator[None]:
        """While this lasts, a cancel runs `end` on the loop, because the thread itself can send nothing any more."""
        scope = self.current
        scope._on_cancel.append(end)
        try:
            yield
        finally:
            scope._on_cancel.remove(end)

    # --- on the loop

    def _begin(self, call: Future[Any], context: Any, verb: Any, arguments: Any, named: Any) -> None:
        with self._lock:
            if call not in self._calls:
                return
            task = self._calls[call].task = self._loop.create_task(_called(verb, arguments, named), context=context)
        task.add_done_callback(functools.partial(self._end, call))

    def _end(self, call: Future[Any], task: asyncio.Task[Any]) -> None:
        with self._lock:
            is_awaited = self._calls.pop(call, None) is not None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if not is_awaited:
            return
        if error is None:
            call.set_result(task.result())
        else:
            call.set_exception(error)

    def interrupt(self, thread: int) -> None:
        """Raise a cancel in the verb that a thread waits for; later verbs work again, unless a block is stopped."""
        with self._lock:
            self._abandon([future for future, call in self._calls.items() if call.thread == thread])

    def _abandon(self, futures: list[Future[Any]]) -> list[asyncio.Task[Any]]:
        calls = [self._calls.pop(future) for future in futures]
        for future in futures:
            future.set_exception(asyncio.CancelledError("the turn was cancelled"))
        tasks = [call.task for call in calls if call.task is not None]
        for task in tasks:
            task.cancel()
        return tasks

    def close(self) -> list[asyncio.Task[Any]]:
        """Close the scope at once: later verbs raise. Returns the tasks of the running verbs, which are cancelled."""
        with self._lock:
            if self.cancelled_at is None:
                self.cancelled_at = self._loop.time()
            return self._abandon(list(self._calls))

    async def cancel(self) -> None:
        """Cancel the scope: at once for the thread; returns when the running verbs have ended."""
        # Before the thread wakes up and leaves the blocks that these belong to.
        ends = list(reversed(self._on_cancel))
        tasks = self.close()
        if tasks:
            await asyncio.wait(tasks)
        for end in ends:
            await end()


async def _called(verb: Callable[..., Awaitable[T]], arguments: Any, named: Any) -> T:
    return await verb(*arguments, **named)


class HandlerThreads:
    """The threads of one agent; there are none until a handler needs one, and none when its last client is gone.

    They are daemons: one that goes on although its turn was cancelled does not keep the program alive.
    """

    def __init__(self, max_threads: int = MAX_THREADS, idle_seconds: float = IDLE_SECONDS) -> None:
        self._max_threads = max_threads
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._idle: list[SimpleQueue[Work | None]] = []
        self._waiting: deque[Work] = deque()
        self._running: dict[asyncio.Future[Any], HandlerScope] = {}
        self._users = 0

    @contextlib.asynccontextmanager
    async def in_use(self, grace_seconds: float) -> AsyncIterator[None]:
        """As long as a client is served. When the last one is gone, cancelled handlers have the rest of their grace."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                await self._stop(grace_seconds)

    async def call(self, handler: Callable[..., Any], *arguments: Any) -> Any:
        """Call an author's handler: a coroutine function on the loop, any other callable in a thread.

        An awaitable result of a function in a thread is awaited on the loop.
        """
        if runs_on_the_loop(handler):
            return await awaited(handler(*arguments))
        parent = _scope.get()
        depth = 0 if parent is None else parent.depth + 1
        if depth > MAX_DEPTH:
            raise RecursionError("handlers call each other without an end")
        result = await self.run(handler, *arguments, depth=depth)
        if inspect.isgenerator(result) or inspect.isasyncgen(result):
            raise TypeError("a handler returned a generator, which is sent nowhere: let it await turn.say(...)")
        return await awaited(result) if inspect.isawaitable(result) else result

    async def run(self, function: Callable[..., Any], *arguments: Any, depth: int = 0) -> Any:
        """Run a plain function in a thread, with a copy of this context and with views of the arguments.

        If this is cancelled it does not wait for the function, which can do nothing on the loop from then on.
        """
        loop = asyncio.get_running_loop()
        scope = HandlerScope(self, loop, depth)
        ended: asyncio.Future[Any] = loop.create_future()
        self._running[ended] = scope
        ended.add_done_callback(self._running.pop)
        views = [blocking_view(argument, scope) for argument in arguments]
        work = functools.partial(_work, loop, ended, scope, copy_context(), function, views)
        # A call that a handler waits for must not wait for the end of a handler.
        self._submit(work, is_bounded=depth == 0)
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            if not ended.done():
                self._withdraw(work, ended)
                await scope.cancel()
            raise

    def _submit(self, work: Work, *, is_bounded: bool) -> None:
        with self._lock:
            if self._idle:
                self._idle.pop().put(work)
                return
            if is_bounded and len(self._threads) >= self._max_threads:
                self._waiting.append(work)
                return
            thread = threading.Thread(target=self._serve, args=(work,), name="accord-handler", daemon=True)
            self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:
            self._threads.discard(thread)
            raise

    def _withdraw(self, work: Work, ended: asyncio.Future[Any]) -> None:
        with self._lock:
            if work not in self._waiting:
                return
            self._waiting.remove(work)
        ended.cancel()

    def _serve(self, work: Work | None) -> None:
        mailbox: SimpleQueue[Work | None] = SimpleQueue()
        while work is not None:
            work()
            work = None  # drops the references of the last call while the thread is idle
            work = self._next(mailbox)
        with self._lock:
            self._threads.discard(threading.current_thread())

    def _next(self, mailbox: SimpleQueue[Work | None]) -> Work | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            if not self._users:
                return None
            self._idle.append(mailbox)
        with contextlib.suppress(Empty):
            return mailbox.get(timeout=self._idle_seconds)
        with self._lock:
            if mailbox in self._idle:
                self._idle.remove(mailbox)
                return None
        return mailbox.get()

    async def _stop(self, grace_seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        left = [grace_seconds - (now - (scope.cancelled_at or now)) for scope in self._running.values()]
        if left and max(left) > 0:
            await asyncio.wait(list(self._running), timeout=max(left))
        if self._users:
            return  # another client came meanwhile
        with self._lock:
            idle, self._idle = self._idle, []
            busy = {scope.thread for scope in self._running.values()}
            ending = [thread for thread in self._threads if thread not in busy]
        for mailbox in idle:
            mailbox.put(None)
        for thread in ending:
            thread.join(JOIN_SECONDS)
        if busy:
            log.warning("%d handlers go on in threads although they were cancelled", len(busy))


def _work(
    loop: asyncio.AbstractEventLoop,
    ended: asyncio.Future[Any],
    scope: HandlerScope,
    context: Any,
    function: Callable[..., Any],
    arguments: list[Any],
) -> None:
    """The work of a thread for one function: runs it, and reports its result on the loop."""
    result: Any = None
    failure: BaseException | None = None
    scope.thread = threading.current_thread()
    if not scope.is_cancelled:
        try:
            result = context.run(_inside, scope, function, arguments)
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller
            failure = error
            # No future may hold these, or they would end the loop; nothing that awaits it catches others.
            if isinstance(error, StopIteration) or not isinstance(error, Exception | asyncio.CancelledError):
                failure = _beside_exception(error)
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(_settle, ended, result, failure)


def _inside(scope: HandlerScope, function: Callable[..., Any], arguments: list[Any]) -> Any:
    _scope.set(scope)
    return function(*arguments)


def _settle(ended: asyncio.Future[Any], result: Any, failure: BaseException | None) -> None:
    if ended.done():
        return
    if failure is None:
        ended.set_result(result)
    elif isinstance(failure, asyncio.CancelledError):
        ended.cancel()
    else:
        ended.set_exception(failure)
        ended.exception()  # retrieved: a cancelled caller does not wait for it
