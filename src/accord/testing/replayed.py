"""The agent of a recorded conversation, as an agent in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

from accord.trace import open_trace
from accord.trace.replay.agent import RecordedAgent
from accord.trace.replay.conversation import RecordedConversation
from accord.trace.replay.report import Deviation, ReplayReport, deviation_lines
from accord.transport.interface import Transport

__all__ = ["OpenReplay", "ReplayedAgent"]

# Two clients have different names and abilities, and that is seldom what a test is about.
INTRODUCTION = ("clientInfo", "clientCapabilities", "info", "capabilities", "protocolVersion")


class ReplayedAgent:
    """The agent of a trace, for `accord.connect(ReplayedAgent("talk.jsonl"))`.

    Each connection plays it from its beginning. It answers what the recorded agent answered, matched by method and
    session. `speed` is 0 for at once and 1 for the recorded pauses. `ignore` are keys that are not compared, besides
    ids, times and counts of tokens.

    Raises:
        TraceFileError: The file is no trace, or of a newer version, or without messages.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, speed: float = 0.0, ignore: Sequence[str] = INTRODUCTION
    ) -> None:
        self._conversation = RecordedConversation.of(open_trace(path))
        self._path = path
        self._speed = speed
        self._ignore = tuple(ignore)
        self._reports: list[ReplayReport] = []

    def __repr__(self) -> str:
        return f"<the agent of {os.fspath(self._path)}>"

    async def serve(self, transport: Transport) -> None:
        """Play the agent at one end of a link."""
        report = ReplayReport()
        self._reports.append(report)
        player = RecordedAgent(self._conversation, speed=self._speed, ignore=self._ignore, report=report)
        await player.serve(transport)

    @property
    def prompts(self) -> list[str]:
        """The texts of the recorded prompts, without those that the agent refused."""
        recorded = self._conversation
        asked = [step for step in recorded.of_side("client", "request") if step.method == "session/prompt"]
        accepted = [step for step in asked if "error" not in ((recorded.answer_of(step) or step).body or {})]
        return ["".join(_texts(step.body)) for step in accepted]

    @property
    def deviations(self) -> list[str]:
        """How the client of the last connection differed from the recorded one; complete when it is closed."""
        found: list[Deviation] = self._reports[-1].deviations if self._reports else []
        return ["\n".join(deviation_lines(each)) for each in found]


OpenReplay: TypeAlias = Callable[..., ReplayedAgent]
"""The type of the fixture `accord_replay`."""


def _texts(body: object) -> list[str]:
    blocks = body.get("prompt") if isinstance(body, dict) else None
    return [str(each["text"]) for each in blocks or () if isinstance(each, dict) and isinstance(each.get("text"), str)]
