"""Tools that a client runs for a backend of simse's page: the order, the request to run it, the result, the runner."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any, TypeAlias

from accord.dialects import Json
from accord.errors import InternalError
from accord.simse.update import METHOD, notification, shown

__all__ = ["TOOL_METHOD", "Order", "Tool", "ToolRunner", "is_order"]

TOOL_METHOD = "_simse/tool"
"""The request by which the client is asked to run a tool: `sessionId`, `toolCallId`, `toolName`, `input`."""


def is_order(fields: Json) -> bool:
    """Whether the client has to run a tool call; one that names no tool, or runs already, is only shown."""
    names = all(isinstance(fields.get(name), str) for name in ("toolName", "toolCallId"))
    return names and fields.get("status") in (None, "pending")


class Order:
    """One run of one tool."""

    def __init__(self, session_id: str, fields: Json) -> None:
        self.session_id = session_id
        self.call_id: str = fields["toolCallId"]
        self.name: str = fields["toolName"]
        self.input: Any = fields.get("input", {})

    def request(self, id_: str) -> Json:
        """The request for the client."""
        params = {
            "sessionId": self.session_id,
            "toolCallId": self.call_id,
            "toolName": self.name,
            "input": self.input,
        }
        return {"jsonrpc": "2.0", "id": id_, "method": TOOL_METHOD, "params": params}

    def started(self) -> Json:
        """The report for the agent that the tool runs."""
        return self._page({"status": "in_progress"})

    def completed(self, output: Any) -> tuple[Json, Json]:
        """The reports of its result, for the agent and for the client."""
        fields: Json = {"status": "completed", "rawOutput": output}
        if isinstance(output, str):
            fields["content"] = shown(output)
        return self._page({"status": "completed", "output": output}), self._v1_update(fields)

    def failed(self, error: str) -> tuple[Json, Json]:
        """The reports of its failure, for the agent and for the client.

        The page has `completed` as the only final status: there, the error makes the difference.
        """
        return (
            self._page({"status": "completed", "error": error}),
            self._v1_update({"status": "failed", "content": shown(error)}),
        )

    def answered(self, answer: Json) -> tuple[Json, Json]:
        """The end of the order, by the client's answer."""
        error = answer.get("error")
        if not isinstance(error, dict):
            return self.completed(answer.get("result"))
        data = error.get("data")
        correlation_id = data.get("correlationId") if isinstance(data, dict) else None
        message = str(error.get("message", "the tool failed"))
        return self.failed(message if correlation_id is None else f"{message} ({correlation_id})")

    def _page(self, fields: Json) -> Json:
        params = {"sessionId": self.session_id, "type": "tool_call_update", "toolCallId": self.call_id, **fields}
        return {"jsonrpc": "2.0", "method": METHOD, "params": params}

    def _v1_update(self, fields: Json) -> Json:
        update = {"sessionUpdate": "tool_call_update", "toolCallId": self.call_id, **fields}
        return notification(self.session_id, update)


Tool: TypeAlias = Callable[[dict[str, Any]], Any]
"""Gets the input; returns the output, which must be a JSON value, or an awaitable of it."""


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
            RequestError: Raised by the tool: the backend gets its message. The text of other exceptions is not sent.
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
    """Run a plain function in a daemon thread, not in a pool: one that hangs must not keep the program from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(settled: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            settled(value)

    def work() -> None:
        try:
            settled, value = future.set_result, context.run(tool, given)
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller
            settled, value = future.set_exception, _harmless(error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: there is no caller
            loop.call_soon_threadsafe(settle, settled, value)

    threading.Thread(target=work, name="accord tool", daemon=True).start()
    return await future


def _harmless(error: BaseException) -> Exception:
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    # SystemExit and the like must not end the loop.
    return RuntimeError(f"the tool raised {type(error).__name__}")
