"""Plays a trick at the library: `accord.connect` with a `Policy`, or without any; as a program too, to be measured.

`python library.py FOLDER TRICK` plays it on a stage and prints the most memory that it had, in KiB.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import accord
from accord.client import Policy
from accord.client.question import PermissionQuestion
from accord.config.permission import AnswerFiles, agent_identity
from accord.session.option import PermissionKind
from tests.hostile.registry import Again, Row, rows
from tests.hostile.stage import Stage

KINDS: dict[str, PermissionKind] = {"y": "allow_once", "a": "allow_always", "n": "reject_once", "d": "reject_always"}


class Told(NamedTuple):
    """What one play gave beside what the stage shows."""

    questions: int
    counts: tuple[int, int, int]


class Person:
    """Answers as the row says, and refuses whatever else is asked."""

    def __init__(self, answers: tuple[str, ...]) -> None:
        self._left = list(answers)
        self.questions = 0

    def __call__(self, question: PermissionQuestion) -> Any:
        self.questions += 1
        typed = self._left.pop(0) if self._left else "n"
        return question.option(KINDS[typed]) if typed in KINDS else typed


class Library:
    """One home of the library: what it remembers, and the sessions that it has made."""

    def __init__(self, stage: Stage, row: Row) -> None:
        self.stage = stage
        self.row = row
        self._key: str | None = None
        self._session_id = ""

    async def play(self, again: Again | None = None) -> Told:
        """The trick with a policy; a further run of a row goes on with the same home."""
        row = self.row
        expected = row if again is None else again
        person = None if expected.answers is None else Person(expected.answers)
        argv = self.stage.agent(row, *(() if again is None else again.arguments))
        policy = Policy(
            expected.rules,
            on_question=person,
            remember=AnswerFiles(self.stage.folder / "always", agent_identity(argv)),
        )
        folder = self.stage.work / ("" if again is None else again.folder)
        goes_on = again is not None and "-c" in again.words
        await self._talk(argv, policy, folder, goes_on=goes_on)
        counts = (policy.denied_unasked, policy.refused_requests, policy.completed_unasked)
        return Told(0 if person is None else person.questions, counts)

    async def play_bare(self) -> None:
        """The trick without any policy."""
        await self._talk(self.stage.agent(self.row), None, self.stage.work, goes_on=False)

    async def _talk(self, argv: list[str], policy: Policy | None, folder: Path, *, goes_on: bool) -> None:
        async with self._connected(argv, policy) as agent:
            with contextlib.suppress(accord.AccordError, TimeoutError):
                await agent.open()
                await self._prompt(agent, folder, goes_on=goes_on)

    async def _prompt(self, agent: accord.client.ConnectedAgent, folder: Path, *, goes_on: bool) -> None:
        async with asyncio.timeout(self.row.timeout):
            session = await self._opened(agent, folder, goes_on=goes_on)
        self._key, self._session_id = session.key, session.id
        for _ in range(self.row.sessions - 1):
            await agent.new_session(folder)
        turn = session.prompt("go")
        waiting = asyncio.ensure_future(turn.wait())
        if self.row.interrupt:
            await self._noted("ready", waiting)
            turn.cancel()
        await waiting
        if self.row.at == "end":
            await self._noted("played", None)

    async def _opened(
        self, agent: accord.client.ConnectedAgent, folder: Path, *, goes_on: bool
    ) -> accord.client.Session:
        if goes_on:
            return await agent.resume_session(self._session_id, folder, key=self._key)
        if self.row.at == "load":
            return await agent.load_session("s-1", folder)
        return await agent.new_session(folder)

    async def _noted(self, word: str, waiting: asyncio.Future[Any] | None) -> None:
        """Wait until the agent has noted a word, or the turn is over."""
        while not any(word in entry for entry in self.stage.entries()):
            if waiting is not None and waiting.done():
                return
            await asyncio.sleep(0.01)

    @contextlib.asynccontextmanager
    async def _connected(self, argv: list[str], policy: Policy | None) -> AsyncIterator[accord.client.ConnectedAgent]:
        limit = self.row.timeout
        agent = accord.connect(
            *argv,
            permission=policy,
            program_cwd=self.stage.work,
            env=self.stage.marks,
            stderr=lambda _: None,
            respawn=False,
            # Nothing that takes so long hears a cancel.
            deadlines=None if limit is None else accord.Deadlines(limit, limit, limit, limit, 0.1),
        )
        try:
            async with asyncio.timeout(self.row.seconds):
                yield agent
        finally:
            await agent.close()


def main() -> None:

    row = rows()[sys.argv[2]]
    stage = Stage(Path(sys.argv[1]))
    os.environ.update(stage.marks)
    told = asyncio.run(Library(stage, row).play())
    stage.assert_harmless(row)
    stage.assert_answers(row)
    if row.counts is not None:
        assert told.counts == row.counts, told.counts
    # Of this program alone: `ru_maxrss` begins with that of the process that started it.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.partition("VmHWM:")[2].split()[0])
    sys.stdout.write(f"{peak} {told.questions}\n")


if __name__ == "__main__":
    main()
