"""What an agent does with a client, in small parts that are played inside the turns which the client begins."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from accord.check.case import Unseen
from accord.check.client.seat import Seat
from accord.check.client.words import Update
from accord.check.entry import Entry
from accord.check.options import Options
from accord.check.rule import EDITIONS, EditionName
from accord.check.talk import StepFailed
from accord.check.wire import Gone, Silence

__all__ = ["KNOWS", "PARTS", "ClientGone", "Notes", "Part", "Turn", "When", "add_part", "part"]

Notes: TypeAlias = dict[str, Any]
"""What a part tells those who judge it."""
When: TypeAlias = Literal["turn", "after", "hold"]
"""Inside a turn; when it has been answered; or in a turn of its own that the client should cancel."""

# A client that once left something unanswered is not given the whole time again.
IMPATIENT_SECONDS = 0.5
KNOWS = "ACCORD-CLIENT-EXT-001"


class Turn:
    """The agent that we play, in one turn of one session."""

    def __init__(
        self, seat: Seat, options: Options, session: str, cwd: str, offered: dict[str, Any], blamed: set[str]
    ) -> None:
        self.seat = seat
        self.options = options
        self.edition = options.edition
        self.session = session
        self.cwd = cwd
        """Where the client says that the session works."""
        self.offered = offered
        """Its capabilities."""
        self.cancelled = asyncio.Event()
        self._blamed = blamed
        self._folder: Path | None = None

    @property
    def now(self) -> int:
        """The place of the next line in the record."""
        return len(self.seat.entries)

    @property
    def folder(self) -> Path:
        """A new folder for files, where the session works; gone after the part.

        Raises:
            Unseen: The session works somewhere else.
        """
        if self._folder is None:
            if not os.path.isabs(self.cwd):  # noqa: PTH117 - it is a text of somebody else
                raise Unseen("it is not known where the session works")
            try:
                self._folder = Path(tempfile.mkdtemp(prefix=".accord-check-", dir=self.cwd))
            except OSError as error:
                raise Unseen(f"the session works where no file can be made: {error.strerror}") from None
        return self._folder

    def sweep(self) -> Path | None:
        """The folder that was made, if one was: whoever asks removes it."""
        folder, self._folder = self._folder, None
        return folder

    def offers(self, *path: str) -> bool:
        """Whether the client offers something; an empty object is a yes."""
        said: Any = self.offered
        for key in path:
            said = said.get(key) if isinstance(said, dict) else None
        return said is not None and said is not False

    # --- telling

    def update(self, update: Update) -> int:
        """Tell something; gives its place in the record."""
        return self.seat.notify("session/update", {"sessionId": self.session, "update": update})

    # --- asking

    def ask(self, method: str, **params: Any) -> Any:
        """Ask about this session without waiting; gives the id."""
        return self.seat.ask(method, {"sessionId": self.session, **params})

    async def answer(self, id_: Any, rule: str, seconds: float | None = None) -> dict[str, Any]:
        """The answer.

        Raises:
            StepFailed: There is none; `rule` is blamed.
        """
        bound = self.options.timeout_seconds if seconds is None else seconds
        bound = min(bound, IMPATIENT_SECONDS) if rule in self._blamed else bound
        try:
            return await self.seat.answer(id_, bound)
        except Silence as silence:
            self._blamed.add(rule)
            asked = [entry for entry in self.seat.entries if entry.sent and _id_of(entry) == id_]
            if isinstance(silence, Gone):
                raise ClientGone("the client left instead of answering", rule, *asked) from None
            raise StepFailed(f"it was not answered: {silence}", rule, *asked) from None

    async def request(self, method: str, rule: str, /, **params: Any) -> dict[str, Any]:
        """Ask about this session and wait for the answer, result or error."""
        return await self.answer(self.ask(method, **params), rule)

    async def result(self, method: str, rule: str, /, **params: Any) -> dict[str, Any]:
        """Ask for something that has to succeed; gives the result, `null` as an empty one.

        Raises:
            StepFailed: It did not; `rule` is blamed.
        """
        id_ = self.ask(method, **params)
        answer = await self.answer(id_, rule)
        result = answer.get("result")
        if "result" not in answer or not isinstance(result, dict | None):
            told = [entry for entry in self.seat.entries if _id_of(entry) == id_]
            raise StepFailed(f"{method} did not succeed", rule, *told)
        return result or {}

    async def is_alive(self, rule: str, *because: Entry) -> None:
        """Whether the client still answers.

        Raises:
            StepFailed: It does not; `rule` is blamed, `because` are the lines after which it was so.
        """
        id_ = self.seat.ask("_accord.check/are_you_there", {})
        if KNOWS in self._blamed:
            # It leaves what it does not know unanswered, which is judged elsewhere: that it stays must do.
            with suppress(Silence):
                await self.seat.answer(id_, IMPATIENT_SECONDS / 10)
            if not self.seat.ended:
                return
        try:
            await self.answer(id_, rule)
        except StepFailed as failure:
            raise type(failure)(f"after this {failure.reason}", rule, *(because or failure.evidence)) from None


class ClientGone(StepFailed):
    """The client left in the middle of a part."""


def _id_of(entry: Entry) -> Any:
    return entry.message.get("id") if isinstance(entry.message, dict) else None


Play: TypeAlias = Callable[[Turn], Awaitable[Notes]]


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that an agent does."""

    name: str
    play: Play
    editions: tuple[EditionName, ...]
    order: int
    """What disturbs others comes late."""
    when: When
    offer: tuple[str, ...] = field(default=())
    """What the client has to offer for the part to make sense: a path into its capabilities."""


PARTS: dict[str, Part] = {}
"""By name."""


def add_part(each: Part) -> None:
    """Let it be played.

    Raises:
        ValueError: There is one of that name.
    """
    if each.name in PARTS:
        message = f"there are two parts {each.name!r}"
        raise ValueError(message)
    PARTS[each.name] = each


def part(
    *offer: str, editions: tuple[EditionName, ...] = EDITIONS, order: int = 50, when: When = "turn"
) -> Callable[[Play], Play]:
    """Make a function a part, named like it.

    It gives its notes; a `StepFailed` says why it could not, and an `Unseen` why there is no sense in it.
    """

    def add(play: Play) -> Play:
        add_part(Part(play.__name__, play, editions, order, when, offer))
        return play

    return add
