"""The tools that a client runs for a backend of simse's page: found by name, each for a bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any, TypeAlias

from accord.errors import InternalError

__all__ = ["Tool", "ToolRunner"]

Tool: TypeAlias = Callable[[dict[str, Any]], Any]
"""Gets the input; gives the output, which JSON must be able to say, or something to wait for that gives it."""


class ToolRunner:
    """Runs the tools that the user of a client registered, and no others, each for `timeout_seconds` at most.

    A coroutine function runs in the loop, a plain function in a thread of its own. When its time is over a coroutine is
    cancelled; a thread goes on, and its output is dropped.
    """

    def __init__(self, tools: Mapping[str, Tool], timeout_seconds: float | None) -> None:
        self._tools = dict(tools)
        self._timeout_seconds = timeout_seconds

    async def run(self, params: Any) -> Any:
        """The output of a tool.

        Raises:
            RequestError: As the tool raised it: the backend gets its message. It gets no other exception's.
        """
        tool = self._tools[params["toolName"]]
        try:
            async with asyncio.timeout(self._timeout_seconds) as limit:
                return await _called(tool, params["input"])
        except TimeoutError:
            if not limit.expired():
                raise
            raise InternalError(f"the tool did not finish within {self._timeout_seconds:g} s") from None


async def _called(tool: Tool, given: dict[str, Any]) -> Any:
    output = tool(given) if inspect.iscoroutinefunction(tool) else await _in_thread(tool, given)
    return await output if inspect.isawaitable(output) else output


async def _in_thread(tool: Tool, given: dict[str, Any]) -> Any:
    """Let a plain function run beside the loop, in no pool's thread: one that hangs must not keep us from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(settled: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            settled(value)

    def work() -> None:
        try:
            settled, value = future.set_result, context.run(tool, given)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            settled, value = future.set_exception, _harmless(error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, settled, value)

    threading.Thread(target=work, name="accord tool", daemon=True).start()
    return await future


def _harmless(error: BaseException) -> Exception:
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    # What ends a program, or a generator, must not do that to the loop.
    return RuntimeError(f"the tool raised {type(error).__name__}")
