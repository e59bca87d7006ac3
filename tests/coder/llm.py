"""A language model on loopback that speaks OpenAI's streaming chat, and does what a list of steps says.

Each request is answered by the next step. What was asked is in `asked`; `hung_up` is set when somebody closes the
connection of a step that would never have ended.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["FakeModel", "Garbage", "Hang", "Say", "Status", "StopShort", "ToolInvocation", "serve"]


class Line:
    """The way back to whoever asked, for one answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self._reader = reader
        self._writer = writer
        self._number = number

    async def head(self, status: str = "200 OK", kind: str = "text/event-stream", **headers: str) -> None:
        fields = {"Content-Type": kind, "Transfer-Encoding": "chunked", "Connection": "close", **headers}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
        self._writer.write(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode())
        await self._writer.drain()

    async def send(self, body: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(body), body))
        await self._writer.drain()

    async def chunk(
        self, delta: dict[str, Any], finish: str | None = None, usage: dict[str, int] | None = None
    ) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        event: dict[str, Any] = {
            "id": f"chat-{self._number}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "fake",
            "choices": [choice],
        }
        if usage is not None:
            event["usage"] = usage
        await self.send(b"data: " + json.dumps(event).encode() + b"\n\n")

    async def end(self, finish: str, usage: dict[str, int] | None) -> None:
        await self.chunk({}, finish, usage)
        await self.send(b"data: [DONE]\n\n")
        await self.close()

    async def close(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def until_hung_up(self) -> None:
        while await self._reader.read(1024):
            pass


class PlanStep(Protocol):
    """How one request is answered."""

    async def answer(self, line: Line, model: FakeModel, /) -> None: ...


@dataclass(frozen=True)
class Say:
    """Say a text, in pieces."""

    text: str
    finish: str = "stop"
    tokens: int = 100
    thought: str = ""

    async def answer(self, line: Line, _: FakeModel) -> None:
        await line.head()
        if self.thought:
            await line.chunk({"role": "assistant", "reasoning_content": self.thought})
        for start in range(0, len(self.text), 7):
            await line.chunk({"role": "assistant", "content": self.text[start : start + 7]})
        await line.end(
            self.finish, {"prompt_tokens": self.tokens, "completion_tokens": 5, "total_tokens": self.tokens + 5}
        )


@dataclass(frozen=True)
class ToolInvocation:
    """Call tools: pairs of a name and arguments, which may be any text. The arguments come in pieces."""

    calls: Sequence[tuple[str, dict[str, Any] | str]]
    text: str = ""

    async def answer(self, line: Line, model: FakeModel) -> None:
        await line.head()
        if self.text:
            await line.chunk({"role": "assistant", "content": self.text})
        for index, (name, given) in enumerate(self.calls):
            arguments = given if isinstance(given, str) else json.dumps(given)
            call = {"index": index, "id": f"call_{len(model.asked)}_{index}", "type": "function"}
            await line.chunk({"tool_calls": [{**call, "function": {"name": name, "arguments": arguments[:4]}}]})
            await line.chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[4:]}}]})
        await line.end("tool_calls", {"prompt_tokens": 50, "completion_tokens": 9, "total_tokens": 59})


@dataclass(frozen=True)
class Status:
    """Refuse with an HTTP status."""

    status: str
    message: str = "no"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    async def answer(self, line: Line, _: FakeModel) -> None:
        await line.head(self.status, "application/json", **self.headers)
        error = {"message": self.message, "type": "fake", "code": self.code, "param": None}
        await line.send(json.dumps({"error": error}).encode())
        await line.close()


@dataclass(frozen=True)
class Garbage:
    """Stream what is no answer."""

    body: bytes = b"data: {this is no JSON\n\n"

    async def answer(self, line: Line, _: FakeModel) -> None:
        await line.head()
        await line.send(self.body)
        await line.close()


@dataclass(frozen=True)
class StopShort:
    """Begin to answer, then close the connection; `clean` ends the body as if nothing were missing."""

    text: str = "This is the begin"
    clean: bool = False

    async def answer(self, line: Line, _: FakeModel) -> None:
        await line.head()
        if self.text:
            await line.chunk({"role": "assistant", "content": self.text})
        if self.clean:
            await line.close()


@dataclass(frozen=True)
class Hang:
    """Begin to answer, then say nothing more until the other side hangs up."""

    text: str = "Let me think"

    async def answer(self, line: Line, model: FakeModel) -> None:
        await line.head()
        if self.text:
            await line.chunk({"role": "assistant", "content": self.text})
        await line.until_hung_up()
        model.hung_up.set()


class FakeModel:
    """The server: where it listens, and what it was asked."""

    def __init__(self, steps: Sequence[PlanStep]) -> None:
        self._steps = list(steps)
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked: list[Any] = []
        self.hung_up = asyncio.Event()
        self.url = ""

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            self.asked.append(await _body(reader))
            step = self._steps.pop(0) if self._steps else Say("There is no step left.")
            await step.answer(Line(reader, writer, len(self.asked)), self)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # whoever asked is gone
        finally:
            self._tasks.discard(task)
            writer.close()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def results(self, request: int = -1) -> list[str]:
        """What a request said about the results of tools."""
        return [message["content"] for message in self.asked[request]["messages"] if message["role"] == "tool"]


async def _body(reader: asyncio.StreamReader) -> Any:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    return json.loads(await reader.readexactly(int(fields["content-length"])))


@asynccontextmanager
async def serve(*steps: PlanStep) -> AsyncIterator[FakeModel]:
    """The model, on a port that the system chooses, for as long as the block lasts."""
    model = FakeModel(steps)
    server = await asyncio.start_server(model.attend, "127.0.0.1", 0, limit=2**26)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()
        await model.close()
