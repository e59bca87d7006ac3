"""The speed of a replay: the recorded pauses, capped, or none."""

from __future__ import annotations

import asyncio

from accord.trace.replay.conversation import RecordedConversation, RecordedStep

__all__ = ["Pace"]

# A recorded lunch break is not waited for.
MAX_PAUSE_SECONDS = 5.0


class Pace:
    """Waits before a message as long as was recorded, divided by `speed`; 0 is at once."""

    def __init__(self, speed: float) -> None:
        self._speed = speed

    async def before(self, step: RecordedStep, conversation: RecordedConversation) -> None:
        """Wait for the time of a step, counted from the one before it."""
        if self._speed <= 0 or step.index == 0:
            return
        pause = step.t - conversation.steps[step.index - 1].t
        if pause > 0:
            await asyncio.sleep(min(pause, MAX_PAUSE_SECONDS) / self._speed)
