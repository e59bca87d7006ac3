"""The user at a terminal: one line asked for at a time, and whether there is anybody at all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable

from accord.cli.show.line import Line, Span
from accord.cli.show.screen import Progress, Screen, has_colours, is_terminal
from accord.display import SafeText

__all__ = ["Terminal", "somebody_is_there"]


def somebody_is_there() -> bool:
    """Whether a question can be asked: somebody types at stdin and looks at stderr."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


class Terminal:
    """Questions on stderr, answers from stdin, so that stdout stays what it was meant to be."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress or Progress(sys.stderr, shown=False)
        self._screen = Screen(sys.stderr, self._progress, colours=has_colours(sys.stderr, os.environ))
        self._alone = asyncio.Lock()
        self.before: Callable[[], None] = lambda: None
        """Called before a question: what was said until now should be on the screen."""
        self.after: Callable[[], None] = lambda: None
        """Called when it was answered."""

    @contextlib.asynccontextmanager
    async def floor(self) -> AsyncIterator[None]:
        """One question after the other, and nothing else is shown meanwhile."""
        async with self._alone:
            self.before()
            held, self._progress.is_held = self._progress.is_held, True
            self._progress.erase()
            try:
                yield
            finally:
                self._progress.is_held = held
                self.after()

    def show(self, lines: Iterable[Line]) -> None:
        """Show something that belongs to a question."""
        self._screen.lines(lines)
        self._screen.flush()

    async def ask(self, prompt: SafeText) -> str | None:
        """The line that the user types; None where the input ends."""
        self._screen.text(prompt)
        self._screen.flush()
        try:
            answer = await _read_line()
        except asyncio.CancelledError:
            # Whatever comes next begins on a line of its own.
            self._screen.line([])
            raise
        self._screen.forget_line()
        if answer is None:
            self._screen.line([])
        return answer

    def say(self, text: SafeText, style: str = "") -> None:
        """One line."""
        self.show([[Span(text, style)]])


async def _read_line() -> str | None:
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        line = await asyncio.to_thread(sys.stdin.readline)
        return line.strip() if line else None
    # The terminal gives whole lines. Waiting in the loop can be cancelled, a thread in `readline` could not.
    ready: asyncio.Future[None] = loop.create_future()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    try:
        data = os.read(descriptor, 65536)
    except OSError:
        return None
    return data.decode(errors="replace").strip() if data else None
