"""A scripted peer: one end of a link that sends what a script requests, valid or not, and keeps every message.

It keeps no rule of the protocol by itself, and reads only while the script listens: a script that does nothing is a
peer that hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NoReturn

from accord.errors import AccordError, TransportError
from accord.json_values import JsonValue
from accord.testing.message import JsonRpcMessage, messages_of, text_of
from accord.transport.interface import Transport

__all__ = ["GARBAGE", "ScriptExit", "ScriptFailed", "ScriptedPeer"]

PATIENCE_SECONDS = 10.0

GARBAGE: dict[str, bytes] = {
    "words": b"Debugger attached.",
    "half a message": b'{"jsonrpc":"2.0","id":1,"method":',
    "an array": b'[{"jsonrpc":"2.0","method":"session/update","params":{}}]',
    "a number": b"42",
    "null": b"null",
    "nothing": b"{}",
    "not UTF-8": b'{"jsonrpc":"2.0","method":"\xff\xfe"}',
    "a fraction as id": b'{"jsonrpc":"2.0","id":1.5,"method":"session/update","params":{}}',
    "an answer to nothing": b'{"jsonrpc":"2.0","id":"nobody asked","result":{}}',
    "an answer without an id": b'{"jsonrpc":"2.0","result":{}}',
    "deep nesting": b'{"jsonrpc":"2.0","method":"session/update","params":' + b"[" * 5000 + b"]" * 5000 + b"}",
}
"""Malformed texts, by the name of their fault."""


class ScriptFailed(AccordError):
    """The message that a script waited for did not come; `received` are those that came instead and were not taken."""

    def __init__(self, message: str, received: list[JsonRpcMessage]) -> None:
        names = ", ".join(each.method or f"an answer to {each.id!r}" for each in received) or "nothing"
        super().__init__(f"{message}; received and not taken: {names}")
        self.received = received


class ScriptExit(Exception):
    """Ends the program of a script, with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class ScriptedPeer:
    """A peer for a script. Every wait is bounded by `patience_seconds`."""

    def __init__(self, transport: Transport, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.transport = transport
        """The transport underneath."""
        self.patience_seconds = patience_seconds
        """How long each wait may take."""
        self.ids: Iterator[JsonValue] = itertools.count()
        """The source of the ids of our requests: integers from 0, unless a script replaces it."""
        self.received: list[JsonRpcMessage] = []
        """All received messages, in order."""
        self.noise: list[bytes] = []
        """Received texts that were no messages."""
        self._texts: deque[bytes] = deque()
        self._waiting: list[JsonRpcMessage] = []
        self._standing: dict[str, Any] = {}
        self._ended = False

    # --- receiving

    async def expect(self, method: str, *, session: str | None = None) -> JsonRpcMessage:
        """The next request or notification of a method, also if it came before others that were taken.

        Other messages wait for their own `expect`.

        Raises:
            ScriptFailed: It did not come, or the other side left.
        """
        return await self._take(
            lambda message: message.method == method and (session is None or message.session == session), method
        )

    async def expect_answer(self, id: JsonValue) -> JsonRpcMessage:  # noqa: A002
        """The answer to a request of ours.

        Raises:
            ScriptFailed: It did not come, or the other side left.
        """
        return await self._take(
            lambda message: message.is_answer and message.id == id,
            f"the answer to {id!r}",
        )

    async def expect_end(self) -> None:
        """Receive until the other side closes; earlier messages are kept for `expect`.

        Raises:
            ScriptFailed: It did not.
        """
        async with self._patience("the end"):
            while await self._read_text():
                pass

    async def requests(self) -> AsyncIterator[JsonRpcMessage]:
        """Every waiting or received message, one after the other, until the other side closes; unbounded."""
        while self._waiting or await self._read_text():
            if self._waiting:
                yield self._waiting.pop(0)

    def always(self, method: str, result: JsonValue = None) -> None:
        """Answer each request of a method automatically: with this value, or with the result of this function.

        A dict with nothing but `error` is an error.
        """
        self._standing[method] = {} if result is None else result

    async def _take(self, wanted: Callable[[JsonRpcMessage], bool], what: str) -> JsonRpcMessage:
        async with self._patience(what):
            checked = 0
            while True:
                for place, message in enumerate(self._waiting[checked:], checked):
                    if wanted(message):
                        return self._waiting.pop(place)
                checked = len(self._waiting)
                if not await self._read_text():
                    raise ScriptFailed(f"the other side left while the script waited for {what}", self._waiting)

    @contextlib.asynccontextmanager
    async def _patience(self, what: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.patience_seconds):
                yield
        except TimeoutError:
            raise ScriptFailed(f"{what} did not come in {self.patience_seconds:g} s", self._waiting) from None

    async def _read_text(self) -> bool:
        """Read one text; False when there is no more."""
        if not self._ended and not self._texts:
            with contextlib.suppress(TransportError):
                self._texts.extend(await self.transport.receive())
        if self._ended or not self._texts:
            self._ended = True
            return False
        text = self._texts.popleft()
        messages = messages_of(text)
        if not messages:
            self.noise.append(text)
        for message in messages:
            self.received.append(message)
            if message.is_request and message.method in self._standing:
                with contextlib.suppress(TransportError):  # the sender may be gone
                    await self._answer_standing(message, self._standing[message.method])
            else:
                self._waiting.append(message)
        return True

    async def _answer_standing(self, request: JsonRpcMessage, answer: Any) -> None:
        result = answer(request) if callable(answer) else answer
        if isinstance(result, dict) and set(result) == {"error"}:
            await self.say({"jsonrpc": "2.0", "id": request.id, **result})
        else:
            await self.answer(request, result)

    # --- sending

    async def say(self, text: bytes | str | dict[str, Any] | list[JsonValue]) -> None:
        """Send a text unchanged; a dict or a list becomes JSON."""
        await self.transport.send(text_of(text))

    async def answer(self, request: JsonRpcMessage, result: JsonValue = None) -> None:
        """Answer a request; with an empty object if nothing is given."""
        await self.say({"jsonrpc": "2.0", "id": request.id, "result": {} if result is None else result})

    async def answer_null(self, request: JsonRpcMessage) -> None:
        """Answer a request with `null`."""
        await self.say({"jsonrpc": "2.0", "id": request.id, "result": None})

    async def fail(self, request: JsonRpcMessage, code: int, message: str = "scripted", data: JsonValue = None) -> None:
        """Answer a request with an error."""
        error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        await self.say({"jsonrpc": "2.0", "id": request.id, "error": error})

    async def notify(self, method: str, params: JsonValue = None) -> None:
        """Send a notification."""
        await self.say({"jsonrpc": "2.0", "method": method, "params": {} if params is None else params})

    async def request(self, method: str, params: JsonValue = None, *, id: JsonValue = ...) -> JsonValue:  # noqa: A002
        """Send a request without waiting for its answer; returns its id."""
        used = next(self.ids) if id is ... else id
        await self.say({"jsonrpc": "2.0", "id": used, "method": method, "params": {} if params is None else params})
        return used

    async def call(self, method: str, params: JsonValue = None, *, id: JsonValue = ...) -> JsonRpcMessage:  # noqa: A002
        """Send a request and wait for its answer, which may be an error.

        Raises:
            ScriptFailed: It did not come, or the other side left.
        """
        return await self.expect_answer(await self.request(method, params, id=id))

    # --- misbehaving

    async def garbage(self, *kinds: str) -> None:
        """Send malformed texts: the named kinds of `GARBAGE`, or all of them."""
        for kind in kinds or GARBAGE:
            await self.say(GARBAGE[kind])

    async def answer_twice(self, request: JsonRpcMessage, result: JsonValue = None, again: JsonValue = ...) -> None:
        """Answer a request, and answer it once more, perhaps differently."""
        await self.answer(request, result)
        await self.answer(request, result if again is ... else again)

    async def answer_with_other_id(
        self,
        request: JsonRpcMessage,
        result: JsonValue = None,
        *,
        id: JsonValue = ...,  # noqa: A002 - the field's name
    ) -> None:
        """Answer a request under an id that it does not have."""
        other = f"not {request.id}" if id is ... else id
        await self.say({"jsonrpc": "2.0", "id": other, "result": {} if result is None else result})

    async def stay(self) -> NoReturn:
        """Hang for ever, also when the other side has closed."""
        while True:
            await asyncio.Event().wait()

    def exit(self, status: int = 0) -> NoReturn:
        """End here: a program with this status, a peer in memory by closing its end."""
        raise ScriptExit(status)

    async def close(self) -> None:
        """Close this end of the link."""
        self._ended = True
        await self.transport.close()

    async def finish(self) -> None:
        """Refuse all further requests until the other side leaves; called when the script is over."""
        with contextlib.suppress(TransportError):
            async for message in self.requests():
                if message.is_request:
                    await self.fail(message, -32601, "the script is over", {"method": message.method})
