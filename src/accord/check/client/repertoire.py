"""Plays the parts of the agent that we are, each once: inside a turn, after it, or in one that shall be cancelled."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from accord.check.case import Case, Played, Unseen
from accord.check.client.part import KNOWS, ClientGone, Part, Turn
from accord.check.client.seat import Seat
from accord.check.client.words import chunk
from accord.check.options import Options
from accord.check.stage import Progress
from accord.check.talk import StepFailed
from accord.check.wire import Silence

__all__ = ["Repertoire"]

CALM_SECONDS = 0.3
STAYS, EARLY = "ACCORD-CLIENT-TURN-001", "ACCORD-CLIENT-UPDATE-004"


class Repertoire:
    """What is left to be played, and in its case what came of the rest."""

    def __init__(self, options: Options, parts: list[Part], progress: Progress) -> None:
        self.case = Case(options)
        self.remaining = sorted(parts, key=lambda part: part.order)
        self.played = 0
        """How often something was seen to its end."""
        self.blamed: set[str] = set()
        """The rules that were found broken while something was played."""
        self._options = options
        self._edition = options.edition
        self._total = len(parts)
        self._progress = progress
        self._calmed: set[Seat] = set()
        self._folders: list[Path] = []
        # Turns of several sessions may run at once, but parts are played one after the other.
        self._lock = asyncio.Lock()

    def sweep(self) -> None:
        """Leave no file: once more when the client has ended, since what it ran may have written until then."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def tell_early(self, seat: Seat, session: str) -> bool:
        """Tell something of a session that the client does not know yet, once; whether it was now."""
        if "early" in self.case.steps:
            return False
        since = len(seat.entries)
        title = {"sessionUpdate": "session_info_update", "title": "Early"}
        seat.notify("session/update", {"sessionId": session, "update": title})
        self.case.steps["early"] = Played("early", seat.entries, since, since)
        return True

    async def see_early(self, turn: Turn) -> None:
        """Whether the client lives on after it."""
        played = self.case.steps["early"]
        try:
            await turn.is_alive(EARLY, turn.seat.entries[played.start])
        except ClientGone as failure:
            played.failure = failure
        except StepFailed:
            pass  # It is there, and does not answer what it does not know: that is judged elsewhere.
        played.end = turn.now
        self.played += 1

    async def play_turn(self, turn: Turn, id_: Any, prompt: list[Any]) -> None:
        """Play what there is to play inside a turn, and what comes after it."""
        if self._edition == "v2":
            message = f"u-{id_}"
            turn.update({"sessionUpdate": "user_message", "messageId": message, "content": prompt})
            turn.seat.answer_to(id_, {"messageId": message})
            turn.update({"sessionUpdate": "state_update", "state": "running"})
        async with self._lock:
            if turn.seat.ended:
                # It left while another of its turns was played: that is judged there.
                return
            if await self._calm(turn):
                await self._play_parts(turn)
            if turn.seat.ended:
                return
            self._end_turn(turn, id_)
            for part in [each for each in self.remaining if each.when == "after"]:
                await self._play(part, turn)

    def _end_turn(self, turn: Turn, id_: Any) -> None:
        reason = "cancelled" if turn.cancelled.is_set() else "end_turn"
        if self._edition == "v2":
            turn.update({"sessionUpdate": "state_update", "state": "idle", "stopReason": reason})
        else:
            turn.seat.answer_to(id_, {"stopReason": reason})

    async def _calm(self, turn: Turn) -> bool:
        """Whether a client stays while nothing happens: what it leaves for later is judged only then."""
        turn.update(chunk(self._edition, "Let me see. "))
        played = Played("calm", turn.seat.entries, turn.now, turn.now)
        try:
            await self._stays(turn)
        except ClientGone as failure:
            played.failure = failure
            self.case.steps["calm"] = played
            return False
        except StepFailed:
            self.blamed.add(KNOWS)
        self.case.steps.setdefault("calm", played)
        return True

    async def _stays(self, turn: Turn) -> None:
        await turn.is_alive(STAYS)
        if turn.seat not in self._calmed:
            self._calmed.add(turn.seat)
            # Who leaves as soon as its prompt was taken needs a moment for that.
            with suppress(Silence):
                await turn.seat.until(lambda _: False, turn.now, min(CALM_SECONDS, self._options.grace_seconds / 10))
            await turn.is_alive(STAYS)

    async def _play_parts(self, turn: Turn) -> None:
        inside = [each for each in self.remaining if each.when == "turn"]
        for part in inside or [each for each in self.remaining if each.when == "hold"]:
            if turn.seat.ended or (turn.cancelled.is_set() and part.when != "hold"):
                return
            await self._play(part, turn)

    async def _play(self, part: Part, turn: Turn) -> None:
        self.remaining.remove(part)
        self._progress(part.name, self._total - len(self.remaining), self._total)
        if part.offer and not turn.offers(*part.offer):
            self.case.skipped[part.name] = f"not offered: {'.'.join(part.offer)}"
            return
        played = Played(part.name, turn.seat.entries, turn.now, turn.now)
        try:
            notes = await self._played(part, turn)
        except Unseen as unseen:
            self.case.skipped[part.name] = str(unseen)
            return
        except StepFailed as failure:
            played.failure = failure
        else:
            if notes is None:
                self.remaining.append(part)
                return
            played.notes = notes
        finally:
            folder = turn.sweep()
            if folder is not None:
                self._folders.append(folder)
                self.sweep()
        played.end = turn.now
        self.case.steps[part.name] = played
        self.played += 1

    async def _played(self, part: Part, turn: Turn) -> dict[str, Any] | None:
        """What it noted; None if the client cancelled the turn meanwhile: then it is played another time."""
        if part.when != "turn":
            return await part.play(turn)
        playing = asyncio.ensure_future(part.play(turn))
        cancelled = asyncio.ensure_future(turn.cancelled.wait())
        try:
            await asyncio.wait([playing, cancelled], return_when=asyncio.FIRST_COMPLETED)
            return await playing if playing.done() else None
        finally:
            playing.cancel()
            cancelled.cancel()
            await asyncio.gather(playing, cancelled, return_exceptions=True)
