"""A client that holds the rich conversation with whatever agent it is given, in whichever edition that speaks.

    python rich_driver.py --edition 2 --project /tmp/project -- some-agent --its-option

It uses `accord.connect` and nothing else. The project has a `greeting.txt`; the agent understands "fix", "wait" and
"recall", has the modes "ask" and "code", an option "model" and a command "/help".
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import accord
from accord import UNSET
from accord.session.event import (
    CommandsChanged,
    Event,
    InfoChanged,
    MessageChunk,
    PlanChanged,
    ToolChanged,
    UsageChanged,
)
from accord.time_scale import scaled as limit


@dataclass
class Story:
    """What the driver saw."""

    edition: str = ""
    agent: str = ""
    live: accord.Transcript = field(default_factory=accord.Transcript)
    reopened: accord.Transcript = field(default_factory=accord.Transcript)
    continued: accord.Transcript = field(default_factory=accord.Transcript)
    again: accord.Transcript = field(default_factory=accord.Transcript)
    shown: list[tuple[Any, ...]] = field(default_factory=list)
    """What a screen would have shown, line by line."""
    questions: list[accord.client.PermissionQuestion] = field(default_factory=list)
    followed: list[tuple[str, int | None]] = field(default_factory=list)
    """The places that the agent said it was at."""
    stop_reasons: list[str | None] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)
    """The statuses of the unfinished tool calls right after the cancel."""
    listed: list[str] = field(default_factory=list)
    settings: list[tuple[str | None, Any]] = field(default_factory=list)
    refusals: list[type[Exception]] = field(default_factory=list)
    stderr: bytes = b""


class Driver:
    """One agent's command, and the same conversation with it every time."""

    def __init__(self, argv: Sequence[str], *, edition: Any, project: Path, env: Mapping[str, str | None]) -> None:
        self.story = Story()
        self._argv = argv
        self._edition = edition
        self._project = project
        self._env = env
        self._statuses: dict[str, str] = {}

    def connect(self) -> accord.client.ConnectedAgent:
        return accord.connect(
            *self._argv,
            edition=self._edition,
            env=self._env,
            permission=self._permit,
            offer=accord.client.Offer(missing_file="error"),
            deadlines=accord.Deadlines(start_seconds=30, turn_seconds=30, cancel_seconds=10),
            stderr=self._complained,
        )

    async def drive(self) -> Story:
        story = self.story
        async with self.connect() as agent:
            story.edition, story.agent = agent.edition or "", agent.info.name if agent.info else ""
            session = await agent.new_session(self._project)
            await know_commands(session)
            await self._set_up(session)
            await self._fix(session)
            await self._stop(session)
            story.live = session.transcript
            story.listed = [summary.id async for summary in agent.list_sessions(self._project)]
        async with self.connect() as agent:
            session = await agent.load_session(session.id, self._project)
            await know_commands(session)
            story.reopened = accord.Transcript(session.transcript.events())
            self._ended(await session.prompt("recall"))
            story.continued = session.transcript
        async with self.connect() as agent:
            again = await agent.load_session(session.id, self._project)
            await know_commands(again)
            story.again = accord.Transcript(again.transcript.events())
            await self._help(again)
            await again.close()
            await self._resume(agent, session.id)
        return story

    # --- the acts

    async def _set_up(self, session: accord.client.Session) -> None:
        await session.set_mode("code")
        await session.set_option("model", "large")
        self.story.settings.append((session.mode, session.option("model").value))

    async def _fix(self, session: accord.client.Session) -> None:
        async with session.prompt("fix") as turn:
            async for event in turn:
                self._show(event, session.transcript)
        self._ended(turn)

    async def _stop(self, session: accord.client.Session) -> None:
        async with session.prompt("wait") as turn:
            async for event in turn:
                self._show(event, session.transcript)
                if isinstance(event, MessageChunk) and event.block == accord.Text("Watching."):
                    turn.cancel()
                    self.story.marked = [list(session.transcript.tool_calls.values())[-1].status]
        self._ended(turn)

    async def _help(self, session: accord.client.Session) -> None:
        async with session.prompt("/help tests") as turn:
            pieces = [piece async for piece in turn.text_stream()]
        assert "".join(pieces) == turn.text
        self._ended(turn)
        self.story.settings.append((session.mode, session.option("model").value))

    async def _resume(self, agent: accord.client.ConnectedAgent, session_id: str) -> None:
        session = await agent.resume_session(session_id, self._project)
        assert session.transcript.messages == [], "nothing is told again"
        self._ended(await session.prompt("recall"))
        try:
            await agent.load_session("no-such-session", self._project)
        except accord.RequestError as error:
            self.story.refusals.append(type(error))

    def _ended(self, turn: accord.client.Turn) -> None:
        self.story.stop_reasons.append(turn.stop_reason)
        self.story.texts.append(turn.text)

    # --- what the agent gets from us

    def _permit(self, question: accord.client.PermissionQuestion) -> Any:
        self.story.questions.append(question)
        return question.allow()

    def _complained(self, data: bytes) -> None:
        self.story.stderr += data

    # --- the screen

    def _show(self, event: Event, transcript: accord.Transcript) -> None:
        match event:
            case MessageChunk() if event.speaker != "user":
                self._line(event.speaker)
            case PlanChanged():
                self._line("plan", *(entry.status for entry in event.entries))
            case UsageChanged():
                self._line("usage", event.used, event.size)
            case InfoChanged():
                self._line("title", event.title)
            case ToolChanged():
                self._show_tool(event, transcript)
            case _:
                pass

    def _show_tool(self, event: ToolChanged, transcript: accord.Transcript) -> None:
        # The transcript may be ahead of whoever takes the events: what has just happened is in the event.
        if event.status is not UNSET and self._statuses.get(event.id) != event.status:
            self._statuses[event.id] = str(event.status)
            self._line("tool", transcript.tool_calls[event.id].title, event.status)
        for place in event.locations or ():
            if (place.path, place.line) not in self.story.followed:
                self.story.followed.append((place.path, place.line))

    def _line(self, *line: Any) -> None:
        if self.story.shown[-1:] != [line]:
            self.story.shown.append(line)


async def know_commands(session: accord.client.Session) -> None:
    """Return when the slash commands are known: they may come behind the answer that opens a session."""
    known = asyncio.Event()
    stop = session.listen(lambda event: known.set() if isinstance(event, CommandsChanged) else None)
    if not session.commands:
        async with asyncio.timeout(limit(10)):
            await known.wait()
    stop()


async def drive(
    argv: Sequence[str], *, edition: Any = "auto", project: Path, env: Mapping[str, str | None] | None = None
) -> Story:
    """The whole conversation."""
    async with asyncio.timeout(limit(100)):
        return await Driver(argv, edition=edition, project=project, env=env or {}).drive()


def main() -> None:
    parser = argparse.ArgumentParser(description="Hold the rich conversation with an agent.")
    parser.add_argument("--edition", default="auto")
    parser.add_argument("--project", type=Path, default=Path())
    parser.add_argument("agent", nargs="+")
    options = parser.parse_args()
    story = asyncio.run(drive(options.agent, edition=options.edition, project=options.project))
    print(f"{story.agent}, {story.edition}")  # noqa: T201 - a program for people too
    for line in story.shown:
        print(*line)  # noqa: T201


if __name__ == "__main__":
    main()
