"""A client's end of an agent's pipes, by hand: raw bytes kept both ways, nothing too malformed to be sent.

It knows JSON-RPC and how a process is ended, and no method of the protocol; how the agent's own requests are answered
is given to it. Every wait is bounded.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["BOUND_SECONDS", "Entry", "Record", "Reply", "Wire"]

BOUND_SECONDS = 20.0
# How long each step of the ladder waits for the process: stdin is closed, then SIGTERM, then SIGKILL.
LADDER = (("closed stdin", None, 8.0), ("SIGTERM", signal.SIGTERM, 4.0), ("SIGKILL", signal.SIGKILL, 4.0))

Reply = Callable[[Any], Any]
"""Params of a request by the agent to the result it gets; None leaves it unanswered, for ever."""


class Entry(NamedTuple):
    """One line that went over the wire; `message` is None where it was no JSON."""

    sent: bool
    seconds: float
    raw: bytes
    message: Any


class Record(NamedTuple):
    """All that went over the wire, to the end of the process."""

    entries: list[Entry]
    unended: bytes
    """What stood on stdout behind the last newline."""
    stderr: bytes
    ended_by: str
    """The step of the ladder after which the process was gone."""
    status: int | None


class Wire:
    """One agent process and what was said to and by it."""

    def __init__(self, process: Process, replies: Mapping[str, Reply]) -> None:
        self.entries: list[Entry] = []
        self.replies = dict(replies)
        self._process = process
        self._began = time.monotonic()
        self._changed = asyncio.Condition()
        self._rest = b""
        self._stderr = bytearray()
        self._next_id = 1
        self._reading = asyncio.ensure_future(self._read())
        self._draining = asyncio.ensure_future(self._drain())

    @classmethod
    async def open(cls, argv: Sequence[str], env: Mapping[str, str], cwd: Path, replies: Mapping[str, Reply]) -> Wire:
        """Start the agent."""
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=cwd,
            env={**os.environ, **env},
        )
        return cls(process, replies)

    # --- listening

    async def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        while data := await stdout.read(65536):
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._take(line)
            await self._wake()
        await self._wake()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        self._keep(line, message, sent=False)
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and "method" in each and "id" in each:
                self._reply(each)

    def _reply(self, request: dict[str, Any]) -> None:
        reply = self.replies.get(request["method"])
        if reply is None:
            answer: dict[str, Any] = {"error": {"code": -32601, "message": "Method not found"}}
        else:
            result = reply(request.get("params"))
            if result is None:
                return
            answer = {"result": result}
        self._write(_text({"jsonrpc": "2.0", "id": request["id"], **answer}))

    async def _drain(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while data := await stderr.read(65536):
            self._stderr += data

    def _keep(self, raw: bytes, message: Any, *, sent: bool) -> None:
        self.entries.append(Entry(sent, time.monotonic() - self._began, raw, message))

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, holds: Callable[[Entry], bool], since: int = 0) -> Entry:
        """The first line at or behind the place `since` that the agent said and for which something holds."""
        place = since
        async with asyncio.timeout(BOUND_SECONDS), self._changed:
            while True:
                for entry in self.entries[place:]:
                    if not entry.sent and holds(entry):
                        return entry
                place = max(since, len(self.entries))
                assert not self._reading.done(), f"the agent is gone: {bytes(self._stderr[-2000:]).decode()}"
                await self._changed.wait()

    # --- talking

    def _write(self, raw: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        self._keep(raw, _read_json(raw), sent=True)
        stdin.write(raw + b"\n")

    async def send(self, raw: bytes) -> int:
        """Send a line, whatever it holds; gives the place in the record from which an answer can come."""
        self._write(raw)
        stdin = self._process.stdin
        assert stdin is not None
        async with asyncio.timeout(BOUND_SECONDS):
            await stdin.drain()
        return len(self.entries)

    async def say(self, message: Any) -> int:
        """Send something as JSON."""
        return await self.send(_text(message))

    async def notify(self, method: str, params: Any) -> None:
        await self.say({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any, id_: Any = None) -> Any:
        """Send a request without waiting; gives its id."""
        if id_ is None:
            id_, self._next_id = self._next_id, self._next_id + 1
        await self.say({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return id_

    async def answer(self, id_: Any) -> dict[str, Any]:
        """The answer to a request."""
        entry = await self.until(lambda entry: is_answer(entry.message, id_))
        message: dict[str, Any] = entry.message
        return message

    async def request(self, method: str, params: Any, id_: Any = None) -> dict[str, Any]:
        """Ask and wait."""
        return await self.answer(await self.ask(method, params, id_))

    # --- the end

    async def shut(self) -> Record:
        """End the process, gently first, and hear all that it has still to say."""
        stdin = self._process.stdin
        assert stdin is not None
        ended_by = "nothing"
        for step, number, seconds in LADDER:
            if number is None:
                stdin.close()
            else:
                with suppress(ProcessLookupError):
                    self._process.send_signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._process.wait()
                ended_by = step
                break
        async with asyncio.timeout(BOUND_SECONDS):
            await asyncio.gather(self._reading, self._draining)
        return Record(self.entries, self._rest, bytes(self._stderr), ended_by, self._process.returncode)


def is_answer(message: Any, id_: Any) -> bool:
    """Whether a message answers the request with an id; 1 is not "1", and not True."""
    if not isinstance(message, dict) or "method" in message or "id" not in message:
        return False
    return type(message["id"]) is type(id_) and bool(message["id"] == id_)


def _text(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def _read_json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None
