"""One connection of a client, seen from the agent's end: every line is kept, who serves it is told of each message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from accord.check.budget import Budget, cost_of
from accord.check.entry import Record, read_json
from accord.check.wire import Wire

__all__ = ["Pipe", "Seat"]


class Pipe(Protocol):
    """The way to the client."""

    def write(self, data: bytes) -> None:
        """Say something, as it is."""
        ...

    def close_stdin(self) -> None:
        """End the agent's output."""
        ...


class Seat(Wire):
    """Where the agent sits that we play. `on_message` gets what the client asks and tells, and never its answers."""

    def __init__(
        self, name: str, timeout_seconds: float, on_message: Callable[[Seat, dict[str, Any]], None], budget: Budget
    ) -> None:
        super().__init__(name, timeout_seconds, {}, budget)
        self._on_message = on_message
        self._pipe: Pipe | None = None

    def join(self, pipe: Pipe) -> None:
        """Speak through this."""
        self._pipe = pipe

    def feed(self, data: bytes) -> None:
        """What the client wrote; b"" at its end."""
        self._on_data(data)

    def _take(self, line: bytes) -> None:
        message = read_json(line)
        self._keep(line, message, sent=False)
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and isinstance(each.get("method"), str):
                self._on_message(self, each)

    def send(self, line: bytes) -> int:
        """Send a line, whatever it is; gives its place in the record."""
        place = super().send(line)
        if self._pipe is not None:
            self._pipe.write(line + b"\n")
        return place

    def answer_to(self, id_: Any, result: Any) -> None:
        """Answer a request of the client."""
        self.respond({"jsonrpc": "2.0", "id": id_, "result": result})

    def respond(self, answer: dict[str, Any]) -> None:
        """Send an answer; counted, since a client may ask without end."""
        place = self.say(answer)
        self._allowance.spend(cost_of(self.entries[place].raw))

    def leave(self) -> None:
        """End the agent."""
        if self._pipe is not None:
            self._pipe.close_stdin()

    def record(self, stderr: bytes, ended_by: str, status: int | None) -> Record:
        """All that was said; `ended_by` and `status` are those of the client."""
        return Record(self.name, self.entries, b"".join(self._parts), stderr, ended_by, status)
