"""Our end of a program's pipes, by hand: raw bytes kept both ways, nothing too malformed to be sent.

It knows JSON-RPC and how a program is ended, and no method of the protocol; how the program's own requests are answered
is given to it. Every wait is bounded.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from accord.check.entry import Entry, Record, is_answer, read_json
from accord.check.link import Link, Program, open_link

__all__ = ["Gone", "Refusal", "Reply", "Silence", "Wire"]

TERMINATE_SECONDS = 2.0
LEAVING_SECONDS = 0.5
MAX_BYTES = 128 * 1024 * 1024
"""What is kept of one start of a program: who says more is taken for one that has ended."""


class Refusal(NamedTuple):
    """An error as the answer to a request."""

    code: int
    message: str
    data: Any = None


Reply: TypeAlias = Callable[[Any], Any]
"""Params of a request by the program to the result it gets, or a `Refusal`; None leaves it unanswered, for ever."""


class Silence(Exception):
    """What was waited for did not come in time."""


class Gone(Silence):
    """What was waited for cannot come any more: the program has ended."""


class Wire:
    """One start of a program, and all that was said to and by it."""

    def __init__(self, name: str, timeout_seconds: float, replies: Mapping[str, Reply]) -> None:
        self.name = name
        self.timeout_seconds = timeout_seconds
        self.entries: list[Entry] = []
        self.replies = dict(replies)
        self._began = time.monotonic()
        self._changed = asyncio.Event()
        self._parts: list[bytes] = []
        self._heard_bytes = 0
        self._next_id = 1
        self._asked: dict[str, int] = {}
        """Where each request was sent: its answer stands behind it."""
        self._link: Link | None = None
        self.ended = False
        """Whether its stdout has ended."""

    @classmethod
    async def open(
        cls,
        name: str,
        program: Program,
        env: Mapping[str, str | None],
        timeout_seconds: float,
        replies: Mapping[str, Reply],
    ) -> Wire:
        """Start the program.

        Raises:
            ConnectFailed: There is no such command.
        """
        wire = cls(name, timeout_seconds, replies)
        wire._link = await open_link(program, env, wire._on_data)
        return wire

    # --- listening

    def _on_data(self, data: bytes) -> None:
        self._heard_bytes += len(data)
        if not data or self._heard_bytes > MAX_BYTES:
            self.ended = True
        elif b"\n" not in data:
            self._parts.append(data)
        else:
            *lines, rest = (b"".join(self._parts) + data).split(b"\n")
            self._parts = [rest] if rest else []
            for line in lines:
                self._take(line)
        self._changed.set()

    def _take(self, line: bytes) -> None:
        message = read_json(line)
        self._keep(line, message, sent=False)
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and "id" in each and isinstance(each.get("method"), str):
                self._reply(each)

    def _reply(self, request: dict[str, Any]) -> None:
        reply = self.replies.get(request["method"])
        given = Refusal(-32601, "Method not found") if reply is None else reply(request.get("params"))
        if given is None:
            return
        if isinstance(given, Refusal):
            error = {"code": given.code, "message": given.message}
            answer: dict[str, Any] = {"error": error if given.data is None else {**error, "data": given.data}}
        else:
            answer = {"result": given}
        self.say({"jsonrpc": "2.0", "id": request["id"], **answer})

    def _keep(self, raw: bytes, message: Any, *, sent: bool) -> None:
        seconds = time.monotonic() - self._began
        self.entries.append(Entry(sent, seconds, raw, message, len(self.entries)))

    async def until(self, holds: Callable[[Entry], bool], since: int = 0, seconds: float | None = None) -> Entry:
        """Wait for a line of the program, from a place in the record on.

        Raises:
            Silence: It did not come in time; `Gone` if it cannot come any more.
        """
        bound = self.timeout_seconds if seconds is None else seconds
        place = since
        try:
            async with asyncio.timeout(bound):
                while True:
                    for entry in self.entries[place:]:
                        if not entry.sent and holds(entry):
                            return entry
                    place = max(since, len(self.entries))
                    if self.ended:
                        raise Gone("the program ended")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise Silence(f"nothing came in {bound:g} s") from None

    # --- speaking

    def send(self, line: bytes) -> int:
        """Send a line, whatever it is; gives its place in the record."""
        place = len(self.entries)
        self._keep(line, read_json(line), sent=True)
        if self._link is not None:
            self._link.write(line + b"\n")
        return place

    def say(self, message: Any) -> int:
        """Send JSON; gives its place in the record."""
        return self.send(json.dumps(message, ensure_ascii=False).encode())

    def notify(self, method: str, params: Any) -> int:
        """Send a notification; gives its place in the record."""
        return self.say({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any, id_: Any = None) -> Any:
        """Send a request without waiting; gives its id."""
        if id_ is None:
            id_, self._next_id = self._next_id, self._next_id + 1
        self._asked[repr(id_)] = self.say({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return id_

    async def answer(self, id_: Any, seconds: float | None = None) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            Silence: There was none in time.
        """
        asked = self._asked.get(repr(id_), 0)
        entry = await self.until(lambda entry: _answers(entry.message, id_), asked, seconds)
        found = entry.message if isinstance(entry.message, list) else [entry.message]
        return next(each for each in found if is_answer(each, id_))

    async def request(self, method: str, params: Any, id_: Any = None, seconds: float | None = None) -> dict[str, Any]:
        """Ask and wait."""
        return await self.answer(self.ask(method, params, id_), seconds)

    # --- the end

    def close_stdin(self) -> None:
        """Say nothing more."""
        if self._link is not None:
            self._link.close_stdin()

    async def shut(self, grace_seconds: float) -> Record:
        """End the program, gently first, and hear all that it still has to say."""
        link = self._link
        if link is None:
            raise RuntimeError("it was never started")
        ended_by = "itself"
        # Who has closed its stdout is on its way out, and is not pushed.
        if not await link.wait(LEAVING_SECONDS if self.ended else 0):
            ended_by = "closed stdin"
            link.close_stdin()
            if not await link.wait(grace_seconds):
                ended_by = "SIGTERM"
                link.terminate()
                if not await link.wait(TERMINATE_SECONDS):
                    ended_by = "SIGKILL"
        with_rest = asyncio.get_running_loop().time() + 1.0
        while not self.ended and ended_by != "SIGKILL" and asyncio.get_running_loop().time() < with_rest:
            self._changed.clear()
            try:
                async with asyncio.timeout(0.2):
                    await self._changed.wait()
            except TimeoutError:
                break
        status = await link.destroy()
        return Record(self.name, self.entries, b"".join(self._parts), bytes(link.stderr), ended_by, status)


def _answers(message: Any, id_: Any) -> bool:
    return any(is_answer(each, id_) for each in (message if isinstance(message, list) else [message]))
