"""A model on loopback that does what a script says, in the interface of whichever provider it is taken for."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from tests.interop.llm.chat import ChatCompletions
from tests.interop.llm.google import Google
from tests.interop.llm.messages import Messages
from tests.interop.llm.responses import Responses
from tests.interop.llm.script import Event, Hang, Say, Script, Speaker, Voice

__all__ = ["Question", "ScriptedModel", "serve"]

VOICES: tuple[tuple[re.Pattern[str], Voice], ...] = (
    (re.compile(r"/models/[^/]+:(streamGenerateContent|generateContent)$"), Google()),
    (re.compile(r"/chat/completions$"), ChatCompletions()),
    (re.compile(r"/responses$"), Responses()),
    (re.compile(r"/messages$"), Messages()),
)


@dataclass(frozen=True)
class Question:
    """One request: what it asked, and which step it was answered with (None: it was no question for the model)."""

    method: str
    path: str
    body: Any
    answer: Any


class ScriptedModel:
    """The server's state: where it listens and what it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.questions: list[Question] = []
        self.hanging = asyncio.Event()
        """Set when somebody waits for an answer that will not come."""
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def answers(self) -> list[Any]:
        """The steps that the model has taken, without the side questions."""
        return [each.answer for each in self.questions if each.answer not in (None, Say(self.script.aside))]

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close: nobody minds, and nothing has to be told apart."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # an agent that was cancelled hangs up
        finally:
            self._tasks.discard(task)
            writer.close()

    async def close(self) -> None:
        """Hang up on everybody."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, body = await _read(reader)
        path = target.partition("?")[0]
        voice = next((each for pattern, each in VOICES if pattern.search(path)), None)
        if method != "POST" or voice is None:
            self.questions.append(Question(method, target, body, None))
            await _send(writer, "404 Not Found", "application/json", b'{"error":{"message":"no such thing here"}}')
            return
        step = self.script.step(voice, body)
        self.questions.append(Question(method, target, body, step))
        by = Speaker(str(body.get("model") or "scripted"), len(self.questions))
        if isinstance(step, Hang):
            await self._hang(reader, writer, voice.say(step.text, by))
            return
        events = list(voice.say(step.text, by) if isinstance(step, Say) else voice.use(step, by))
        if path.endswith(":generateContent"):
            await _send(writer, "200 OK", "application/json", json.dumps(events[0][1]).encode())
        else:
            await _send(writer, "200 OK", "text/event-stream", _events(iter(events)))

    async def _hang(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, events: Iterator[Event]) -> None:
        # As many as it takes in every interface to have said something, and not to have come to an end.
        await _send(writer, "200 OK", "text/event-stream", _events(itertools.islice(events, 3)))
        self.hanging.set()
        await reader.read()


async def _read(reader: asyncio.StreamReader) -> tuple[str, str, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    if fields.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(int(fields.get("content-length") or 0))
    return method, target, json.loads(body) if body else None


async def _send(writer: asyncio.StreamWriter, status: str, kind: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


def _events(events: Iterator[Event]) -> bytes:
    texts = []
    for name, data in events:
        if name is not None:
            texts.append(f"event: {name}\n")
        texts.append(f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
    return "".join(texts).encode()


@contextlib.asynccontextmanager
async def serve(script: Script) -> AsyncIterator[ScriptedModel]:
    """The model, on a port that the operating system chooses, for as long as the block lasts."""
    model = ScriptedModel(script)
    server = await asyncio.start_server(model.attend, "127.0.0.1", 0, limit=2**26)
    model.port = server.sockets[0].getsockname()[1]
    try:
        yield model
    finally:
        server.close()
        await model.close()
