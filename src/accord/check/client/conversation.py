"""The agent end of a conversation with a client, in one turn of one session."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from accord.check.client.messages import Update
from accord.check.engine.evidence import Inconclusive, StepFailed
from accord.check.engine.judging import Notes, StepRegistry
from accord.check.engine.record import Entry, Record, RecordBudget, cost_of, read_json
from accord.check.engine.wire import ProgramEnded, RecordedWire, Silence
from accord.check.options import Options
from accord.check.rule import EDITIONS, EditionName

When: TypeAlias = Literal["turn", "after", "hold"]
"""The part for a step: inside a turn, after its answer, or in a turn of its own that the client should cancel."""
P = TypeVar("P", bound=Callable[..., Awaitable[Notes]])

# A client that left a request unanswered does not get the full time again.
IMPATIENT_SECONDS = 0.5
KNOWS = "ACCORD-CLIENT-EXT-001"
STEPS = StepRegistry()
"""The steps of checks of clients."""


def step(
    *offer: str, editions: tuple[EditionName, ...] = EDITIONS, order: int = 50, when: When = "turn"
) -> Callable[[P], P]:
    """Make a function a step, named like it; `offer` is the capability that a client needs for it, as a path.

    It returns its notes; it raises `StepFailed` where it fails and `Inconclusive` where it does not apply to this
    client.
    """
    gate = dict.fromkeys(EDITIONS, ".".join(offer)) if offer else None
    return STEPS.step(when, editions=editions, gate=gate, order=order)


class Pipe(Protocol):
    """The connection to the client's program."""

    def write(self, data: bytes) -> None: ...

    def close_stdin(self) -> None: ...


class ClientWire(RecordedWire):
    """The agent end of a connection. `on_message` gets requests and notifications of the client, never its answers."""

    def __init__(
        self,
        name: str,
        timeout_seconds: float,
        on_message: Callable[[ClientWire, dict[str, Any]], None],
        budget: RecordBudget,
    ) -> None:
        super().__init__(name, timeout_seconds, {}, budget)
        self._on_message = on_message
        self._pipe: Pipe | None = None

    def join(self, pipe: Pipe) -> None:
        """Use a pipe for all further messages."""
        self._pipe = pipe

    def feed(self, data: bytes) -> None:
        """Take the client's output; b"" at its end."""
        self._on_data(data)

    def _take(self, line: bytes) -> None:
        message = read_json(line)
        self._keep(line, message, sent=False)
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and isinstance(each.get("method"), str):
                self._on_message(self, each)

    def send(self, line: bytes) -> int:
        """Send any line, also a malformed one; returns its place in the record."""
        place = super().send(line)
        if self._pipe is not None:
            self._pipe.write(line + b"\n")
        return place

    def answer_to(self, id_: Any, result: Any) -> None:
        self.respond({"jsonrpc": "2.0", "id": id_, "result": result})

    def respond(self, answer: dict[str, Any]) -> None:
        """Send an answer; counted, since a client may send requests without end."""
        place = self.send_json(answer)
        self._allowance.spend(cost_of(self.entries[place].raw))

    def leave(self) -> None:
        if self._pipe is not None:
            self._pipe.close_stdin()

    def record(self, stderr: bytes, ended_by: str, status: int | None) -> Record:
        """The record of this connection; `ended_by` and `status` are those of the client."""
        return Record(self.name, self.entries, b"".join(self._parts), stderr, ended_by, status)


class ClientConversation:
    """The stub agent in one turn of one session."""

    def __init__(
        self, wire: ClientWire, options: Options, session: str, cwd: str, offered: dict[str, Any], blamed: set[str]
    ) -> None:
        self.wire = wire
        self.options = options
        self.edition = options.edition
        self.session = session
        self.cwd = cwd
        """The working directory that the client gave the session."""
        self.offered = offered
        """Its capabilities."""
        self.cancelled = asyncio.Event()
        self._blamed = blamed
        self._folder: Path | None = None

    @property
    def now(self) -> int:
        """The place of the next line in the record."""
        return len(self.wire.entries)

    @property
    def folder(self) -> Path:
        """A new folder for files in the session's directory; removed after the part.

        Raises:
            Unseen: The session works somewhere else.
        """
        if self._folder is None:
            if not os.path.isabs(self.cwd):  # noqa: PTH117 - a path of the client, as text
                raise Inconclusive("it is not known where the session works")
            try:
                self._folder = Path(tempfile.mkdtemp(prefix=".accord-check-", dir=self.cwd))
            except OSError as error:
                raise Inconclusive(f"the session works where no file can be made: {error.strerror}") from None
        return self._folder

    def sweep(self) -> Path | None:
        """The folder that was made, if any; the caller removes it."""
        folder, self._folder = self._folder, None
        return folder

    def offers(self, *path: str) -> bool:
        """Whether the client offers a capability; an empty object counts."""
        said: Any = self.offered
        for key in path:
            said = said.get(key) if isinstance(said, dict) else None
        return said is not None and said is not False

    # --- updates

    def update(self, update: Update) -> int:
        """Send an update; returns its place in the record."""
        return self.wire.notify("session/update", {"sessionId": self.session, "update": update})

    # --- requests

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request about this session without waiting; returns its id."""
        return self.wire.ask(method, {"sessionId": self.session, **params})

    async def answer(self, id_: Any, rule: str, seconds: float | None = None) -> dict[str, Any]:
        """The answer.

        Raises:
            StepFailed: There is none; `rule` is blamed.
        """
        bound = self.options.timeout_seconds if seconds is None else seconds
        bound = min(bound, IMPATIENT_SECONDS) if rule in self._blamed else bound
        try:
            return await self.wire.answer(id_, bound)
        except Silence as silence:
            self._blamed.add(rule)
            asked = [entry for entry in self.wire.entries if entry.sent and _id_of(entry) == id_]
            if isinstance(silence, ProgramEnded):
                raise ClientLeft("the client left instead of answering", rule, *asked) from None
            raise StepFailed(f"it was not answered: {silence}", rule, *asked) from None

    async def ask_and_wait(self, method: str, params: Any, rule: str, seconds: float | None = None) -> Notes:
        """Send a request and wait for the answer, result or error; notes its id. `rule` is blamed for silence."""
        id_ = self.wire.ask(method, params)
        await self.answer(id_, rule, seconds)
        return {"id": id_}

    def exchange(self, id_: Any) -> list[Entry]:
        """The lines with an id: a request and its answer."""
        return [entry for entry in self.wire.entries if _id_of(entry) == id_]

    async def is_alive(self, rule: str, *because: Entry) -> None:
        """Whether the client still answers.

        Raises:
            StepFailed: It does not; `rule` is blamed, `because` are the lines after which it was so.
        """
        id_ = self.wire.ask("_accord.check/are_you_there", {})
        if KNOWS in self._blamed:
            # It does not answer unknown requests, which another rule judges: a live connection has to be enough.
            with suppress(Silence):
                await self.wire.answer(id_, IMPATIENT_SECONDS / 10)
            if not self.wire.ended:
                return
        try:
            await self.answer(id_, rule)
        except StepFailed as failure:
            raise type(failure)(f"after this {failure.reason}", rule, *(because or failure.evidence)) from None


class ClientLeft(StepFailed):
    """The client disconnected in the middle of a part."""


def _id_of(entry: Entry) -> Any:
    return entry.message.get("id") if isinstance(entry.message, dict) else None
