"""A language model on loopback that speaks OpenAI's streaming chat and Anthropic's, and does what a list of steps says.

Each request is answered by the next step, in the wire of the path that it names. What was asked is in `asked`, and in
one form for both wires in `conversation`; `hung_up` is set when somebody closes the connection of a step that would
never have ended.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.coder.wires import WIRES, Spoken, Wire

__all__ = ["Babble", "FakeModel", "Garbage", "Hang", "Say", "Slow", "Status", "StopShort", "ToolInvocation", "serve"]


class Line:
    """The way back to whoever asked, for one answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wire: Wire, number: int) -> None:
        self._reader = reader
        self._writer = writer
        self._number = number
        self.wire = wire

    async def head(self, status: str = "200 OK", kind: str = "text/event-stream", **headers: str) -> None:
        fields = {"Content-Type": kind, "Transfer-Encoding": "chunked", "Connection": "close", **headers}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
        self._writer.write(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode())
        await self._writer.drain()

    async def begin(self) -> None:
        await self.head()
        await self.stream(self.wire.begin(self._number))

    async def send(self, body: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(body), body))
        await self._writer.drain()

    async def stream(self, events: Iterable[bytes]) -> None:
        for event in events:
            await self.send(event)

    async def end(self, finish: str, tokens: int) -> None:
        await self.stream(self.wire.end(finish, tokens))
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
        await line.begin()
        if self.thought:
            await line.stream(line.wire.thought(self.thought))
        for start in range(0, len(self.text), 7):
            await line.stream(line.wire.text(self.text[start : start + 7]))
        await line.end(self.finish, self.tokens)


@dataclass(frozen=True)
class ToolInvocation:
    """Call tools: pairs of a name and arguments, which may be any text. The arguments come in pieces."""

    calls: Sequence[tuple[str, dict[str, Any] | str]]
    text: str = ""

    async def answer(self, line: Line, model: FakeModel) -> None:
        await line.begin()
        if self.text:
            await line.stream(line.wire.text(self.text))
        for index, (name, given) in enumerate(self.calls):
            arguments = given if isinstance(given, str) else json.dumps(given)
            await line.stream(line.wire.call(index, f"call_{len(model.asked)}_{index}", name, arguments))
        await line.end("tool_calls", 54)


@dataclass(frozen=True)
class Slow:
    """Say nothing until `gate` is set, and then a text."""

    gate: asyncio.Event
    text: str

    async def answer(self, line: Line, model: FakeModel) -> None:
        await self.gate.wait()
        await Say(self.text).answer(line, model)


@dataclass(frozen=True)
class Babble:
    """Much more than an answer: comments, unknown events, empty pieces, blank text, thoughts between the words."""

    words: Sequence[str]

    async def answer(self, line: Line, _: FakeModel) -> None:
        await line.begin()
        for word in self.words:
            await line.send(b": keep-alive\n\n")
            await line.stream(line.wire.thought(f"(about {word}) "))
            await line.stream(line.wire.text(""))
            await line.stream(line.wire.text(word))
        await line.end("stop", 100)


@dataclass(frozen=True)
class Status:
    """Refuse with an HTTP status."""

    status: str
    message: str = "no"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    async def answer(self, line: Line, _: FakeModel) -> None:
        await line.head(self.status, "application/json", **self.headers)
        await line.send(line.wire.error(self.message, self.code))
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
        await line.begin()
        if self.text:
            await line.stream(line.wire.text(self.text))
        if self.clean:
            await line.close()


@dataclass(frozen=True)
class Hang:
    """Begin to answer, then say nothing more until the other side hangs up."""

    text: str = "Let me think"

    async def answer(self, line: Line, model: FakeModel) -> None:
        await line.begin()
        if self.text:
            await line.stream(line.wire.text(self.text))
        await line.until_hung_up()
        model.hung_up.set()


class FakeModel:
    """The server: where it listens, and what it was asked."""

    def __init__(self, steps: Sequence[PlanStep], otherwise: PlanStep | None = None) -> None:
        self._steps = list(steps)
        self._otherwise = otherwise or Say("There is no step left.")
        self._wires: list[Wire] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked: list[Any] = []
        self.hung_up = asyncio.Event()
        self.url = ""

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            path, body = await _request(reader)
            wire = next(kind for end, kind in WIRES.items() if path.endswith(end))()
            self._wires.append(wire)
            self.asked.append(body)
            step = self._steps.pop(0) if self._steps else self._otherwise
            await step.answer(Line(reader, writer, wire, len(self.asked)), self)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # whoever asked is gone
        finally:
            self._tasks.discard(task)
            writer.close()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def conversation(self, request: int = -1) -> list[Spoken]:
        """What a request said, in a form that is the same for both wires."""
        return self._wires[request].conversation(self.asked[request])

    def system(self, request: int = -1) -> str:
        """The instructions of a request."""
        return self._wires[request].system(self.asked[request])

    def then(self, *steps: PlanStep) -> None:
        """Take these steps too."""
        self._steps += steps

    def results(self, request: int = -1) -> list[str]:
        """What a request said about the results of tools."""
        return [message["content"] for message in self.asked[request]["messages"] if message["role"] == "tool"]


async def _request(reader: asyncio.StreamReader) -> tuple[str, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    path = head[0].split(" ")[1].partition("?")[0]
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    return path, json.loads(await reader.readexactly(int(fields["content-length"])))


@asynccontextmanager
async def serve(*steps: PlanStep, otherwise: PlanStep | None = None) -> AsyncIterator[FakeModel]:
    """The model, on a port that the system chooses, for as long as the block lasts; `otherwise` follows the steps."""
    model = FakeModel(steps, otherwise)
    server = await asyncio.start_server(model.attend, "127.0.0.1", 0, limit=2**26)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()
        await model.close()
