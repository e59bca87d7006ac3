"""The threads themselves: how many there are, who waits, and that none is left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from accord.agent.threads import HandlerScope, HandlerThreads
from tests.agent.rig import until
from tests.limits import limit
from tests.tables import rows

BOUND_SECONDS = limit(20.0)
NAME = "accord-handler"


def handler_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


async def bounded(work: Awaitable[Any]) -> Any:
    async with asyncio.timeout(BOUND_SECONDS):
        return await work


async def none_is_left() -> None:
    await until(lambda: not handler_threads())


async def test_a_thread_is_used_again_and_ends_when_it_has_nothing_to_do() -> None:
    threads = HandlerThreads(idle_seconds=0.2)
    async with threads.in_use(1.0):
        first = await bounded(threads.call(threading.get_ident))
        await until(lambda: bool(threads._idle))
        assert await bounded(threads.call(threading.get_ident)) == first
        assert len(handler_threads()) == 1
        await none_is_left()
        assert await bounded(threads.call(lambda: "on")) == "on"


async def test_when_nobody_is_served_any_more_no_thread_is_left() -> None:
    threads = HandlerThreads(idle_seconds=600.0)
    async with threads.in_use(1.0):
        async with threads.in_use(1.0):
            await bounded(asyncio.gather(*(threads.call(threading.get_ident) for _ in range(20))))
        assert handler_threads(), "the other one is still served"
    assert not handler_threads()


async def test_beyond_the_bound_functions_wait_in_order_and_can_be_cancelled() -> None:
    threads = HandlerThreads(max_threads=2)
    goes_on = threading.Event()
    ran: list[str] = []

    def work(name: str) -> None:
        ran.append(name)
        assert goes_on.wait(BOUND_SECONDS)

    async with threads.in_use(BOUND_SECONDS):
        tasks = {name: asyncio.ensure_future(threads.call(work, name)) for name in "abcd"}
        await until(lambda: len(ran) == 2)
        tasks["c"].cancel()
        with pytest.raises(asyncio.CancelledError):
            await bounded(tasks["c"])
        assert len(handler_threads()) == 2
        goes_on.set()
        await bounded(asyncio.gather(tasks["a"], tasks["b"], tasks["d"]))
    assert ran == ["a", "b", "d"]
    assert not handler_threads()


async def test_a_handler_that_another_one_waits_for_gets_a_thread_beyond_the_bound() -> None:
    threads = HandlerThreads(max_threads=1)

    def inner() -> str:
        return "answer"

    scopes: list[HandlerScope] = []

    def outer() -> str:
        return str(scopes[0].wait(threads.call, inner))

    async with threads.in_use(0.1):
        scopes.append(HandlerScope(threads, asyncio.get_running_loop()))
        assert await bounded(threads.call(outer)) == "answer"
    assert not handler_threads()


async def test_a_thread_that_goes_on_is_waited_for_within_the_grace_of_its_cancel_and_no_longer() -> None:
    loop = asyncio.get_running_loop()
    goes_on = threading.Event()
    threads = HandlerThreads()
    async with threads.in_use(0.3):
        task = asyncio.ensure_future(threads.call(goes_on.wait, BOUND_SECONDS))
        await until(lambda: bool(handler_threads()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        begun = loop.time()
    assert 0.2 <= loop.time() - begun < limit(5.0)
    assert len(handler_threads()) == 1
    goes_on.set()
    await none_is_left()


async def test_a_grace_that_is_over_is_not_waited_for_again() -> None:
    loop = asyncio.get_running_loop()
    goes_on = threading.Event()
    threads = HandlerThreads()
    async with threads.in_use(5.0):
        task = asyncio.ensure_future(threads.call(goes_on.wait, BOUND_SECONDS))
        await until(lambda: bool(handler_threads()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (scope,) = threads._running.values()
        assert scope.cancelled_at is not None
        scope.cancelled_at -= 10.0
        begun = loop.time()
    assert loop.time() - begun < limit(4.0)
    goes_on.set()
    await none_is_left()


@rows("verb", ["wait", "raise", "misuse"])
async def test_a_verb_gives_its_result_or_raises_in_the_thread(verb: str) -> None:
    threads = HandlerThreads()
    scope = HandlerScope(threads, asyncio.get_running_loop())

    async def double(number: int) -> int:
        await asyncio.sleep(0)
        if number < 0:
            raise ValueError(number)
        return 2 * number

    def work() -> Any:
        if verb == "wait":
            return scope.wait(double, 21)
        try:
            return scope.wait(double, -1) if verb == "raise" else scope.wait(double)
        except (ValueError, TypeError) as error:
            return type(error)

    expected: dict[str, Any] = {"wait": 42, "raise": ValueError, "misuse": TypeError}
    async with threads.in_use(1.0):
        assert await bounded(threads.call(work)) == expected[verb]


def test_a_verb_behind_the_end_of_the_loop_is_a_cancel() -> None:
    outcomes: list[BaseException] = []
    entered, goes_on = threading.Event(), threading.Event()

    def late(use: Callable[[], Any]) -> None:
        entered.set()
        assert goes_on.wait(BOUND_SECONDS)
        try:
            use()
        except BaseException as error:  # noqa: BLE001 - it is looked at
            outcomes.append(error)

    async def nothing() -> None:
        pass

    async def main() -> None:
        threads = HandlerThreads()
        scope = HandlerScope(threads, asyncio.get_running_loop())
        threading.Thread(target=late, args=(lambda: scope.wait(nothing),), name="own").start()
        await until(entered.is_set)

    asyncio.run(main())
    goes_on.set()
    for thread in threading.enumerate():
        if thread.name == "own":
            thread.join(BOUND_SECONDS)
    assert [type(error) for error in outcomes] == [asyncio.CancelledError]
