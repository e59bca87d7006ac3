"""Makes the pictures of docs/chat.md: the steps of a new user with the built-in agent, as PNG files.

    . scripts/env && python -m pip install resvg_py && python scripts/pictures.py [FOLDER]

resvg_py turns the SVG that Textual exports into PNG; it is no dependency of the package. The font is DejaVu Sans Mono
(Debian: fonts-dejavu-core).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import accord
from accord.cli.chat.app import ChatApp
from accord.cli.chat.chat_session import ChatOptions
from accord.cli.chat.dialogs.permission import PermissionDialog
from accord.cli.chat.timeline import ShellPart

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
FONT = "DejaVu Sans Mono"
MAX_BYTES = 200_000
WAIT_SECONDS = 60.0


async def until(holds: Callable[[], Any], pilot: Any) -> None:
    """Let the screen work until something holds."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not holds():
            await pilot.pause(0.02)


class Camera:
    """Walks through a chat and keeps what is seen."""

    def __init__(self, app: ChatApp, pilot: Any, folder: Path) -> None:
        self.app = app
        self.pilot = pilot
        self._folder = folder

    async def picture(self, name: str) -> None:
        """Write what is seen now."""
        await self.pilot.pause(0.3)
        write_png(self.app.export_screenshot(title="accord chat"), self._folder / f"{name}.png")

    async def say(self, text: str) -> None:
        """Type a line and send it."""
        self.app.composer.insert(text)
        await self.pilot.press("enter")

    async def idle(self) -> None:
        """Wait for the end of the turn."""
        session = self.app.chat_session
        await until(lambda: session.session is not None and not session.is_busy and not session.queue, self.pilot)
        await self.pilot.pause(0.2)

    async def asked(self) -> None:
        """Wait for a question."""
        await until(lambda: isinstance(self.app.screen, PermissionDialog), self.pilot)
        await self.pilot.pause(0.2)


def write_png(svg: str, path: Path) -> None:
    """Render what Textual exports."""
    import resvg_py  # noqa: PLC0415 - a tool for contributors

    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg).replace("Fira Code", FONT)
    data = bytes(resvg_py.svg_to_bytes(svg_string=svg, font_family=FONT, monospace_family=FONT))
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path.name} has {len(data)} bytes: too many for the documentation")
    path.write_bytes(data)
    print(f"{path.name}: {len(data)} bytes")


@contextlib.asynccontextmanager
async def camera(connect: Any, project: Path, name: str, folder: Path) -> AsyncIterator[Camera]:
    """A chat in a folder."""
    app = ChatApp(connect, ChatOptions(str(project)), name=name, arming_seconds=0)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        found = Camera(app, pilot, folder)
        await found.idle()
        yield found


async def walk(project: Path, folder: Path) -> None:
    """All pictures."""
    demo = functools.partial(
        accord.connect, sys.executable, "-P", "-m", "accord", "agent", "--store", "memory", program_cwd=project
    )
    async with camera(demo, project, "demo", folder) as chat:
        await first_steps(chat)
        await other_looks(chat)
    async with camera(functools.partial(accord.connect, limited()), project, "example", folder) as chat:
        await chat.say("explain greet.py")
        await chat.idle()
        await chat.picture("chat-error")


async def first_steps(chat: Camera) -> None:
    """The first screen, the commands, an edit with permission, a command of one's own."""
    app, pilot = chat.app, chat.pilot
    await chat.picture("chat-first-screen")
    app.composer.insert("/m")
    await chat.picture("chat-commands")
    app.composer.put("")
    await chat.say("replace pritn with print in greet.py")
    await chat.asked()
    await chat.picture("chat-permission")
    await pilot.press("y")
    await chat.idle()
    await chat.say("!python3 greet.py")
    await until(lambda: any(part.is_over for part in app.query(ShellPart)), pilot)
    await chat.picture("chat-edit")


async def other_looks(chat: Camera) -> None:
    """The log, the light theme, a small and a large terminal."""
    app, pilot = chat.app, chat.pilot
    await chat.say("read nothing.py")
    await chat.idle()
    await pilot.press("f2")
    await chat.picture("chat-log")
    await pilot.press("f2")
    app.use_theme("light")
    await chat.picture("chat-light")
    await pilot.resize_terminal(80, 24)
    await chat.picture("chat-80x24")
    app.use_theme("dark")
    await pilot.resize_terminal(200, 60)
    await chat.picture("chat-200x60")


def limited() -> accord.Agent:
    """An agent whose service has had enough."""
    agent = accord.Agent("example", version="1.0", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say("I look at `greet.py` first: it is in greet.py, and README.md is not there.")
        raise accord.RateLimited(30)

    return agent


def main() -> None:
    """Write the pictures into the folder that is named, or into the documentation."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else FOLDER).absolute()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        # The pictures show `~/project`, wherever that is.
        os.environ["HOME"] = home
        project = Path(home, "project")
        project.mkdir()
        (project / "greet.py").write_text('def greet(name):\n    pritn(f"Hello, {name}!")\n\n\ngreet("world")\n')
        asyncio.run(walk(project, target))


if __name__ == "__main__":
    main()
