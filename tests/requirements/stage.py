"""Plays scenes with an agent process, each once, and keeps what was said for the rules that are judged by it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.requirements.talk import REPLIES, Talk, is_update
from tests.requirements.wire import Record, Wire, is_answer

__all__ = ["AGENTS", "Scene", "Stage", "Subject", "Take"]

AGENTS = ("plain", "full")
_PROGRAMS = {name: Path(__file__).with_name(f"{name}_agent.py") for name in AGENTS}

Scene = Callable[[Talk], Awaitable[dict[str, Any]]]
"""What a client does with one agent process; it gives its notes for the rules: ids of sessions and requests."""


class Take:
    """What went over the wire while a scene was played, and the scene's notes."""

    def __init__(self, edition: str, record: Record, notes: dict[str, Any], home: Path) -> None:
        self.edition = edition
        self.record = record
        self.notes = notes
        self.home = home
        self.heard = [entry for entry in record.entries if not entry.sent]

    def __getitem__(self, note: str) -> Any:
        return self.notes[note]

    def messages(self) -> list[Any]:
        """What the agent said, message by message, those of batches too."""
        return [
            message
            for entry in self.heard
            for message in (entry.message if isinstance(entry.message, list) else [entry.message])
        ]

    def answers(self) -> list[dict[str, Any]]:
        """What the agent answered."""
        return [each for each in self.messages() if isinstance(each, dict) and "method" not in each]

    def answer(self, id_: Any) -> dict[str, Any]:
        """The one answer to a request."""
        found = [each for each in self.messages() if is_answer(each, id_)]
        assert len(found) == 1, f"{len(found)} answers to {id_!r}"
        answer: dict[str, Any] = found[0]
        return answer

    def result(self, id_: Any) -> Any:
        """The result of a request that must have succeeded."""
        answer = self.answer(id_)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, id_: Any) -> dict[str, Any]:
        """The error of a request that must have failed."""
        answer = self.answer(id_)
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def calls(self, *methods: str) -> list[dict[str, Any]]:
        """What the agent asked or told of itself, by method or all."""
        found = [each for each in self.messages() if isinstance(each, dict) and "method" in each]
        return [each for each in found if not methods or each["method"] in methods]

    def place(self, holds: Callable[[Any], bool], since: int = 0) -> int:
        """Where in the record, from a place on, the agent first said something for which something holds."""
        for place, entry in enumerate(self.record.entries[since:], since):
            if not entry.sent and holds(entry.message):
                return place
        raise AssertionError("the agent never said it")

    def place_of_request(self, id_: Any) -> int:
        """Where in the record a request was sent."""
        for place, entry in enumerate(self.record.entries):
            message = entry.message
            if entry.sent and isinstance(message, dict) and "method" in message and message.get("id") == id_:
                return place
        raise AssertionError("it was never asked")

    def place_of_answer(self, id_: Any) -> int:
        """Where in the record a request was answered."""
        return self.place(lambda message: is_answer(message, id_))

    def updates(self, session: str, *kinds: str, since: int = 0, before: int | None = None) -> list[dict[str, Any]]:
        """The updates of a session, of some kinds or all, between two places of the record."""
        heard = [entry.message for entry in self.record.entries[since:before] if not entry.sent]
        return [each["params"]["update"] for each in heard if is_update(each, session, *kinds)]


class _Play(NamedTuple):
    edition: str
    agent: str
    scene: Scene
    after: Scene | None
    env: tuple[tuple[str, str], ...]


class Stage:
    """Where scenes are played: each one once, however many rules look at it; a failure is kept as well."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._takes: dict[_Play, Take | Exception] = {}

    def take(self, play: _Play) -> Take:
        """The take of a scene."""
        if play not in self._takes:
            try:
                self._takes[play] = asyncio.run(self._shoot(play))
            except (AssertionError, KeyError, TimeoutError, OSError) as failure:
                self._takes[play] = failure
        taken = self._takes[play]
        if isinstance(taken, Exception):
            pytest.fail(f"the scene {play.scene.__name__} could not be played: {taken!r}")
        return taken

    async def _shoot(self, play: _Play) -> Take:
        before = None if play.after is None else self._takes[play._replace(scene=play.after, after=None)]
        if isinstance(before, Take):
            home, notes = before.home, before.notes
        else:
            home, notes = self._folder / str(len(self._takes)), {}
            (home / "state").mkdir(parents=True)
            (home / "work").mkdir()
        env = {"XDG_STATE_HOME": str(home / "state"), **dict(play.env)}
        wire = await Wire.open([sys.executable, str(_PROGRAMS[play.agent])], env, home, REPLIES)
        try:
            found = await play.scene(Talk(play.edition, wire, home / "work", notes))
        finally:
            record = await wire.shut()
        return Take(play.edition, record, found, home)


class Subject:
    """The agent under test, in one edition."""

    def __init__(self, stage: Stage, edition: str, name: str) -> None:
        self.edition = edition
        self.name = name
        self._stage = stage

    @property
    def is_full(self) -> bool:
        """Whether nothing is missing, so that every rule has something to judge."""
        return self.name == "full"

    def take(self, scene: Scene, *, after: Scene | None = None, logged_in: bool = True, **env: str) -> Take:
        """A scene played with it; `after` is played before, in a process of its own that leaves its sessions behind."""
        if logged_in:
            env["FULL_AGENT_LOGGED_IN"] = "1"
        play = _Play(self.edition, self.name, scene, after, tuple(sorted(env.items())))
        if after is not None:
            self._stage.take(play._replace(scene=after, after=None))
        return self._stage.take(play)
