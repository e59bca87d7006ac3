"""A chat without a terminal: the real screen against an agent in this process, every wait bounded."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widget import Widget

import accord
from accord.cli.chat.app import ChatApp
from accord.cli.chat.chat_session import ChatOptions
from tests.limits import limit

__all__ = ["EDITIONS", "Chat", "open_chat", "until"]

EDITIONS = ("1", "2-june", "2")
WAIT_SECONDS = limit(30.0)


async def until(holds: Callable[[], Any], pilot: Pilot[int], what: str = "it") -> None:
    """Let the screen work until something holds."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not holds():
                await pilot.pause(0.01)
    except TimeoutError:
        message = f"{what} did not come; the screen shows:\n{screen_text(pilot.app)}"
        raise AssertionError(message) from None


def screen_text(app: Any) -> str:
    """What a user sees now, as plain lines."""
    width, height = app.size
    screen = app.screen
    lines = screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip()[:width] for strip in lines[:height])


@dataclass
class Chat:
    """One running chat."""

    app: ChatApp
    pilot: Pilot[int]

    @property
    def text(self) -> str:
        return screen_text(self.app)

    async def sees(self, *words: str) -> None:
        await until(lambda: all(word in self.text for word in words), self.pilot, f"{words}")

    async def sees_no(self, *words: str) -> None:
        await until(lambda: not any(word in self.text for word in words), self.pilot, f"an end of {words}")

    async def until(self, holds: Callable[[], Any], what: str = "it") -> None:
        await until(holds, self.pilot, what)

    async def idle(self) -> None:
        session = self.app.chat_session
        await self.until(lambda: not session.is_busy and not session.queue, "the end of the turn")

    async def ready(self) -> None:
        await self.until(
            lambda: self.app.chat_session.session is not None and not self.app.chat_session.is_busy, "a session"
        )

    async def write(self, text: str) -> None:
        self.app.composer.insert(text)
        await self.pilot.pause()

    async def say(self, text: str) -> None:
        """Write a prompt and send it; returns before it is answered."""
        await self.write(text)
        await self.pilot.press("enter")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    def part(self, kind: type[Widget], at: int = -1) -> Any:
        return [part for part in self.app.timeline.parts if isinstance(part, kind)][at]


@contextlib.asynccontextmanager
async def open_chat(  # noqa: PLR0913 - each is one thing that a test decides
    agent: Any,
    cwd: Path,
    *,
    edition: Any = "1",
    size: tuple[int, int] = (100, 40),
    ready: bool = True,
    arming_seconds: float = 0.0,
    connect: Any = None,
    name: str = "tested",
    app: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[Chat]:
    make = connect or functools.partial(accord.connect, agent, edition=edition)
    made = ChatApp(
        make, ChatOptions(str(cwd), **options), name=name, arming_seconds=arming_seconds, repaint_seconds=0.01,
        **(app or {}),
    )  # fmt: skip
    async with made.run_test(size=size, notifications=True) as pilot:
        chat = Chat(made, pilot)
        if ready:
            await chat.ready()
        yield chat
