"""Clients that prompt all the time, whatever happens to the servers, and remember what they were told."""

from __future__ import annotations

import asyncio
import math
import random
import time
from dataclasses import dataclass, field
from typing import Literal

import accord
from tests.fleet.nodes import TOKEN
from tests.limits import limit

Phase = Literal["pausing", "answering", "closing", "connecting", "opening"]
PHASES = ("noticing", "closing", "connecting", "opening", "answering", "pausing")
PARTS = 4


def answer_of(tag: str) -> str:
    """What the agent answers to `work TAG`."""
    return "".join(f"<{tag}.{number}>" for number in range(PARTS))


@dataclass
class Conversation:
    """One session and its client."""

    number: int
    address: str
    root: str
    patience_seconds: float
    session_id: str = ""
    answered: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """The prompts that ended with an error, by tag, and what it was."""
    wrong: list[str] = field(default_factory=list)
    """Answers that were not what the agent says."""
    hung: list[str] = field(default_factory=list)
    """Prompts that neither were answered nor failed."""
    times: list[tuple[float, float]] = field(default_factory=list)
    """When each answered prompt was sent and when its answer came, by the monotonic clock."""
    phases: list[tuple[float, Phase]] = field(default_factory=list)
    """What the client began to wait for, and when."""
    _sent: int = 0

    @property
    def edition(self) -> Literal["1", "2"]:
        return "1" if self.number % 3 else "2"

    async def run(self) -> None:
        """Prompt until cancelled; after each loss connect again and load the session."""
        while True:
            self._begin("connecting")
            try:
                async with accord.connect(self.address, token=TOKEN, edition=self.edition) as agent:
                    try:
                        await self._talk(agent)
                    finally:
                        self._begin("closing")
            except (accord.AccordError, TimeoutError, OSError):
                await asyncio.sleep(0.05)

    async def _talk(self, agent: accord.client.ConnectedAgent) -> None:
        while True:
            self._begin("opening")
            async with asyncio.timeout(self.patience_seconds):
                if self.session_id:
                    session = await agent.load_session(self.session_id, cwd=self.root)
                else:
                    session = await agent.new_session(cwd=self.root)
                    self.session_id = session.id
            try:
                while True:
                    self._begin("answering")
                    await self._prompt(session)
                    self._begin("pausing")
                    await asyncio.sleep(random.uniform(0.1, 0.6))
            except accord.RequestError:
                continue  # the session may be opened again on this connection

    async def _prompt(self, session: accord.client.Session) -> None:
        self._sent += 1
        tag = f"{self.number}-{self._sent}"
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.patience_seconds):
                async with session.prompt(f"work {tag}") as turn:
                    async for _ in turn:
                        pass
        except TimeoutError:
            self.hung.append(tag)
            raise
        except accord.AccordError as error:
            self.failed[tag] = f"{type(error).__name__}: {error}"
            raise
        if turn.stop_reason == "end_turn" and turn.answer == answer_of(tag):
            self.answered.append(tag)
            self.times.append((began, time.monotonic()))
        elif turn.stop_reason == "end_turn":
            self.wrong.append(f"{tag}: {turn.answer}")
        else:
            self.failed[tag] = str(turn.stop_reason)
            raise accord.RequestError("the turn was stopped")

    def _begin(self, phase: Phase) -> None:
        self.phases.append((time.monotonic(), phase))

    def parts(self, since: float, until: float) -> dict[str, float]:
        """How long the client waited for what between two moments.

        `noticing` is the answer that did not come any more, until its failure was known.
        """
        found: dict[str, float] = {}
        following: list[tuple[float, Phase]] = [*self.phases[1:], (math.inf, "pausing")]
        for (begin, phase), (end, then) in zip(self.phases, following, strict=True):
            seconds = min(end, until) - max(begin, since)
            if seconds > 0:
                name = "noticing" if phase == "answering" and then != "pausing" else phase
                found[name] = found.get(name, 0.0) + seconds
        return found


@dataclass
class Recovery:
    """How long a session was not usable, and what its client waited for meanwhile."""

    seconds: float
    parts: dict[str, float]


async def all_answer(conversations: list[Conversation], since: float, seconds: float) -> list[Recovery]:
    """Wait until each has the answer to a prompt that was sent after `since`; how long each took."""
    async with asyncio.timeout(limit(seconds)):
        while any(not each.times or each.times[-1][0] <= since for each in conversations):
            await asyncio.sleep(0.02)
    ends = [next(end for begin, end in each.times if begin > since) for each in conversations]
    return [Recovery(end - since, each.parts(since, end)) for each, end in zip(conversations, ends, strict=True)]
