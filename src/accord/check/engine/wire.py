"""Our end of a program's pipes: records raw bytes in both directions and can send malformed lines.

It implements JSON-RPC and the end of the program, and no method of the protocol; answers to requests of the program are
given to it. Every wait is bounded.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from accord.check.engine.evidence import NOT_KEPT, Allowance, Entry, Record, RecordBudget, cost_of, is_answer, read_json
from accord.check.engine.program import AgentAddress, JudgedAgent, RunningProgram, start_agent
from accord.errors import ConnectFailed
from accord.time_scale import scaled

TERMINATE_SECONDS = scaled(2.0)
LEAVING_SECONDS = scaled(0.5)
PAUSE_SECONDS = scaled(0.75)
MAX_PAUSES = 2
"""A program that wrote more than is kept, and in one of these only reads, does not write without end."""
MAX_UNENDED_BYTES = 64 * 1024
"""The kept part of a line that does not end within the budget."""


class Refusal(NamedTuple):
    """An error as the answer to a request."""

    code: int
    message: str
    data: Any = None


class Deferred:
    """The answer to a request that is given later, once."""

    def __init__(self) -> None:
        self._give: Callable[[Any], None] | None = None

    def bind(self, give: Callable[[Any], None]) -> None:
        self._give = give

    def give(self, result: Any) -> None:
        give, self._give = self._give, None
        if give is not None:
            give(result)


Reply: TypeAlias = Callable[[Any], Any]
"""Params of a request by the program to its result, a `Refusal` or a `Deferred`; None leaves it unanswered."""


class Observer(Protocol):
    """Gets every message of a wire in both directions."""

    def sending(self, wire: RecordedWire, message: Any) -> None:
        """Called before a message is sent; an exception keeps it from being sent."""
        ...

    def received(self, wire: RecordedWire, message: Any) -> None: ...


class Silence(Exception):
    """A message did not come in time."""


class ProgramEnded(Silence):
    """A message cannot come any more: the program has ended."""


class RecordedWire:
    """One start of a program, with all lines in both directions."""

    def __init__(
        self,
        name: str,
        timeout_seconds: float,
        replies: Mapping[str, Reply],
        budget: RecordBudget | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.name = name
        self.timeout_seconds = timeout_seconds
        self.entries: list[Entry] = []
        self.replies = dict(replies)
        self._now = asyncio.get_running_loop().time
        self._began = self._now()
        self._changed = asyncio.Event()
        self._parts: list[bytes] = []
        self._part_bytes = 0
        self._allowance: Allowance = (budget or RecordBudget()).start()
        self._observer = observer
        self._next_id = 1
        self._asked: dict[str, int] = {}
        """The place of each request: its answer comes behind it."""
        self._running: RunningProgram | None = None
        self.ended = False
        """Whether nothing more of it is read: its stdout has ended, or it wrote more than the budget keeps."""
        self.overflowed = False
        """Whether it wrote more than the budget keeps."""
        self.is_endless = False
        """Whether it then went on writing while a message was waited for."""
        self._over_at = 0
        """The place in the record behind which nothing is kept."""
        self._dropped_bytes = 0
        self.has_streams = False
        """Whether its messages come on several streams: two of them may arrive in another order than they were sent."""

    @classmethod
    async def open(
        cls,
        name: str,
        program: JudgedAgent,
        env: Mapping[str, str | None],
        timeout_seconds: float,
        replies: Mapping[str, Reply],
        budget: RecordBudget | None = None,
        observer: Observer | None = None,
    ) -> RecordedWire:
        """Start the program, or connect to the address.

        Raises:
            ConnectFailed: There is no such command, or no agent at the address.
        """
        wire = cls(name, timeout_seconds, replies, budget, observer)
        wire.has_streams = isinstance(program, AgentAddress) and not program.is_websocket
        wire._running = await start_agent(program, env, wire._on_data)
        return wire

    @property
    def refusal(self) -> ConnectFailed | None:
        """Set where there was no agent at the address, which only the answer to the first message shows."""
        return getattr(self._running, "refusal", None)

    # --- receiving

    def _on_data(self, data: bytes) -> None:
        if not data:
            self.ended = True
        elif self.overflowed:
            self._dropped_bytes += len(data)
            return
        elif b"\n" not in data:
            self._parts.append(data)
            self._part_bytes += len(data)
            if not self._allowance.has(cost_of(data) + 2 * self._part_bytes):
                self._overflow(b"".join(self._parts)[:MAX_UNENDED_BYTES])
        else:
            *lines, rest = (b"".join(self._parts) + data).split(b"\n")
            self._parts, self._part_bytes = ([rest] if rest else []), len(rest)
            for line in lines:
                cost = cost_of(line)
                if not self._allowance.has(cost):
                    self._overflow(line[:MAX_UNENDED_BYTES])
                    break
                self._allowance.spend(cost)
                self._take(line)
        self._changed.set()

    def _overflow(self, rest: bytes) -> None:
        self.overflowed = self.ended = True
        self._over_at = len(self.entries)
        self._parts, self._part_bytes = [rest], len(rest)
        self._allowance.spend_all()

    def _take(self, line: bytes) -> None:
        message = read_json(line)
        self._keep(line, message, sent=False)
        if self._observer is not None:
            self._observer.received(self, message)
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and "id" in each and isinstance(each.get("method"), str):
                self._reply(each)

    def _reply(self, request: dict[str, Any]) -> None:
        reply = self.replies.get(request["method"])
        given = Refusal(-32601, "Method not found") if reply is None else reply(request.get("params"))
        if isinstance(given, Deferred):
            given.bind(lambda result: self._answer(request, result))
        elif given is not None:
            self._answer(request, given)

    def _answer(self, request: dict[str, Any], given: Any) -> None:
        if isinstance(given, Refusal):
            error = {"code": given.code, "message": given.message}
            answer: dict[str, Any] = {"error": error if given.data is None else {**error, "data": given.data}}
        else:
            answer = {"result": given}
        place = self.send_json({"jsonrpc": "2.0", "id": request["id"], **answer})
        # Endless requests of the program must not fill the record with our answers either.
        self._allowance.spend(cost_of(self.entries[place].raw))

    def _keep(self, raw: bytes, message: Any, *, sent: bool) -> None:
        seconds = self._now() - self._began
        self.entries.append(Entry(sent, seconds, raw, message, len(self.entries)))

    async def until(self, holds: Callable[[Entry], bool], since: int = 0, seconds: float | None = None) -> Entry:
        """Wait for a line of the program, from a place in the record on.

        Raises:
            Silence: It did not come in time; `ProgramEnded` if it cannot come any more.
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
                    if self.overflowed:
                        break
                    if self.ended:
                        raise ProgramEnded("the program ended")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise Silence(f"nothing came in {bound:g} s") from None
        raise await self._overflowing(since)

    async def _overflowing(self, since: int) -> ProgramEnded:
        """The end of a wait that began at a place in the record."""
        budget = self._allowance.budget
        if since < self._over_at:
            budget.is_flooded = self.is_endless = budget.is_flooded or await self._goes_on()
        without_end = "the program writes without end: more than a check keeps, and the rest is not read"
        return ProgramEnded(without_end if self.is_endless else NOT_KEPT)

    async def _goes_on(self) -> bool:
        """Whether the program still writes after long, or pauses without reading what it was sent."""
        for _ in range(MAX_PAUSES):
            before = self._dropped_bytes
            await asyncio.sleep(PAUSE_SECONDS)
            if self._dropped_bytes == before:
                return self._running is not None and self._running.has_unread()
        return True

    # --- sending

    def send(self, line: bytes) -> int:
        """Send any line, also a malformed one; returns its place in the record."""
        place = len(self.entries)
        message = read_json(line)
        if self._observer is not None:
            self._observer.sending(self, message)
        self._keep(line, message, sent=True)
        if self._running is not None:
            self._running.write(line + b"\n")
        return place

    def send_json(self, message: Any) -> int:
        return self.send(json.dumps(message, ensure_ascii=False).encode())

    def notify(self, method: str, params: Any) -> int:
        """Send a notification; returns its place in the record."""
        return self.send_json({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any, id_: Any = None) -> Any:
        """Send a request without waiting; returns its id."""
        if id_ is None:
            id_, self._next_id = self._next_id, self._next_id + 1
        self._asked[repr(id_)] = self.send_json({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
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
        return await self.answer(self.ask(method, params, id_), seconds)

    # --- the end

    def close_stdin(self) -> None:
        if self._running is not None:
            self._running.close_stdin()

    async def shut(self, grace_seconds: float) -> Record:
        """End the program: by closing stdin, then by signals; reads its remaining output."""
        running = self._running
        if running is None:
            raise RuntimeError("it was never started")
        ended_by = "itself"
        # A program that has closed its stdout is about to end by itself.
        if not await running.wait(LEAVING_SECONDS if self.ended and not self.overflowed else 0):
            ended_by = "closed stdin"
            if self.is_endless:
                grace_seconds = min(grace_seconds, LEAVING_SECONDS)
            running.close_stdin()
            if not await running.wait(grace_seconds):
                ended_by = "SIGTERM"
                running.terminate()
                if not await running.wait(TERMINATE_SECONDS):
                    ended_by = "SIGKILL"
        with_rest = asyncio.get_running_loop().time() + 1.0
        while not self.ended and ended_by != "SIGKILL" and asyncio.get_running_loop().time() < with_rest:
            self._changed.clear()
            try:
                async with asyncio.timeout(0.2):
                    await self._changed.wait()
            except TimeoutError:
                break
        status = await running.destroy()
        # What was not read to its end is no fault of the program.
        unended = b"" if self.overflowed and not self.is_endless else b"".join(self._parts)
        return Record(self.name, self.entries, unended, bytes(running.stderr), ended_by, status)


def _answers(message: Any, id_: Any) -> bool:
    return any(is_answer(each, id_) for each in (message if isinstance(message, list) else [message]))
