"""A framework of a few lines: its agent is a function that gets the run, and its history is a list of texts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from accord.adapters import FrameworkRun, make_agent
from accord.agent import Agent, Turn
from accord.stores import MemoryStore
from accord.stores.interface import Store

Script = Callable[["ScriptedRun"], Awaitable[None]]


class ScriptedRun(FrameworkRun):
    framework = "scripted"
    takes = frozenset({"image"})

    def __init__(self, turn: Turn, script: Script) -> None:
        super().__init__(turn)
        self._script = script
        self.messages: list[str] = [*(self.state.history or [])]

    async def execute(self) -> None:
        self.messages.append(self.text)
        await self._script(self)

    async def history(self) -> Any:
        return self.messages


def scripted_agent(script: Script, store: Store | None = None, **options: Any) -> Agent:
    return make_agent("scripted", lambda turn: ScriptedRun(turn, script), store=store or MemoryStore(), **options)
