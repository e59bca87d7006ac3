"""An agent or a client by hand, in small steps that can be overridden: so that one can be wrong and nothing else is.

It knows JSON-RPC and no edition. It has no help from the rest of Accord: what is judged must not share its mistakes
with the judge.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

__all__ = [
    "AUTH_REQUIRED",
    "CANCELLED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "NOT_FOUND",
    "NO_METHOD",
    "NO_VERSION",
    "PARSE_ERROR",
    "RawPeer",
    "Refused",
]

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
AUTH_REQUIRED, NOT_FOUND, NO_VERSION, CANCELLED = -32000, -32002, -32022, -32800


class Refused(Exception):
    """Answer a request with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class RawPeer:
    """Reads lines, answers requests; `serve` is its life. A new one is made for each start."""

    in_background: frozenset[str] = frozenset({"session/prompt"})
    """Methods that are answered when they are done, while others are read."""

    def __init__(self) -> None:
        self._write: Callable[[bytes], None] = lambda _: None
        self.stderr = bytearray()
        """What a process would say on stderr."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._next_id = 0
        self.open_requests: dict[Any, asyncio.Task[None]] = {}
        """Requests that are being worked on in the background, by their ids."""

    # --- life

    async def serve(self, lines: AsyncIterator[bytes], write: Callable[[bytes], None]) -> None:
        """Live until there are no more lines."""
        self._write = write
        await self.at_start()
        async for line in lines:
            await self.take(line)
        await self.at_end()

    async def at_start(self) -> None:
        """Before the first line."""

    async def at_end(self) -> None:
        """After the last line: what is left is given up."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- what comes in

    async def take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            await self.take_broken(line)
            return
        await self.take_json(message)

    async def take_broken(self, _line: bytes) -> None:
        """A line that is no JSON."""
        self.refuse(None, PARSE_ERROR, "Parse error")

    async def take_json(self, message: Any) -> None:
        if isinstance(message, list):
            await self.take_array(message)
        elif not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            await self.take_strange(message)
        elif isinstance(message.get("method"), str):
            if "id" in message:
                await self.take_request(message)
            else:
                await self.take_notification(message["method"], message.get("params") or {})
        elif "result" in message or "error" in message:
            self.take_answer(message)
        else:
            await self.take_strange(message)

    async def take_array(self, _messages: list[Any]) -> None:
        """An array: no edition but June's has batches."""
        self.refuse(None, INVALID_REQUEST, "Invalid request")

    async def take_strange(self, _message: Any) -> None:
        self.refuse(None, INVALID_REQUEST, "Invalid request")

    def take_answer(self, message: dict[str, Any]) -> None:
        """An answer to a request of ours; one to nothing is ignored."""
        waiting = self._waiting.pop(message.get("id"), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    async def take_request(self, message: dict[str, Any]) -> None:
        """A request: worked on here, or in the background."""
        id_, method, params = message["id"], message["method"], message.get("params") or {}
        if method in self.in_background:
            task = asyncio.ensure_future(self._work(id_, method, params))
            self._tasks.add(task)
            self.open_requests[id_] = task
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda _: self.open_requests.pop(id_, None))
        else:
            await self._work(id_, method, params)

    async def _work(self, id_: Any, method: str, params: dict[str, Any]) -> None:
        try:
            result = await self.perform(id_, method, params)
        except Refused as refused:
            self.refuse(id_, refused.code, refused.message, refused.data)
        else:
            self.answer(id_, result)
            await self.after_answer(id_, method, params, result)

    async def perform(self, _id: Any, method: str, params: dict[str, Any]) -> Any:
        """The result of a request: by the method `on_session_new` for `session/new`.

        Raises:
            Refused: It gets an error.
        """
        work = getattr(self, f"on_{method.replace('/', '_')}", None) if "$" not in method else None
        if work is None or method.startswith("_"):
            raise Refused(NO_METHOD, "Method not found", {"method": method})
        return await work(params)

    async def after_answer(self, _id: Any, _method: str, _params: dict[str, Any], _result: Any) -> None:
        """A request was answered with a result."""

    async def take_notification(self, method: str, params: dict[str, Any]) -> None:
        """A notification: by the method `on_session_cancel` for `session/cancel`; unknown ones are ignored."""
        if method == "$/cancel_request":
            await self.take_cancel_request(params.get("requestId"))
            return
        work = (
            None if method.startswith("_") or "$" in method else getattr(self, f"on_{method.replace('/', '_')}", None)
        )
        if work is not None:
            await work(params)

    async def take_cancel_request(self, _request_id: Any) -> None:
        """The client takes a request back; may be ignored."""

    # --- what goes out

    def write(self, data: bytes) -> None:
        """Bytes to stdout, as they are."""
        self._write(data)

    def complain(self, words: str) -> None:
        self.stderr += words.encode() + b"\n"

    def say(self, message: Any) -> None:
        self.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def answer(self, id_: Any, result: Any) -> None:
        self.say({"jsonrpc": "2.0", "id": id_, "result": result})

    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message}
        self.say({"jsonrpc": "2.0", "id": id_, "error": error if data is None else {**error, "data": data}})

    def notify(self, method: str, params: Any) -> None:
        self.say({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Ask the client and wait; gives its answer, result or error."""
        self._next_id += 1
        id_ = f"a{self._next_id}"
        self._waiting[id_] = asyncio.get_running_loop().create_future()
        self.say({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        try:
            return await self._waiting[id_]
        finally:
            self._waiting.pop(id_, None)
