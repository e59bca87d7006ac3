"""`!command`: a line of the user, run by a shell in the session's folder. The agent never sees it."""

from __future__ import annotations

from collections.abc import Callable

from accord.session.entry import TerminalEntry
from accord.session.event import TerminalExit
from accord.workspace import RunningCommand, StartFailed, TerminalSize, start_command
from accord.workspace.launch import SHELL

MAX_OUTPUT_BYTES = 1024 * 1024


class UserCommand(TerminalEntry):
    """The line and its output, of which a limited part is kept."""

    on_output: Callable[[], None] = staticmethod(lambda: None)
    """Called when there is new output."""

    def append(self, data: bytes) -> None:
        """Add bytes at the end; the first half is dropped where there are too many."""
        super().append(data)
        if len(self._output) > MAX_OUTPUT_BYTES:
            del self._output[: -MAX_OUTPUT_BYTES // 2]
            self._decoder.reset()
            self._decoded, self._text = 0, ""
        self.on_output()


class Shell:
    """One line at a time. It has no input, a process group of its own, and it ends with the chat."""

    def __init__(self) -> None:
        self._running: RunningCommand | None = None
        self._count = 0

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def line(self, text: str, cwd: str) -> UserCommand:
        """A new command, with an id that no other one has."""
        self._count += 1
        return UserCommand(f"!{self._count}", text, cwd)

    async def run(self, line: UserCommand, columns: int) -> str | None:
        """Run it to its end; returns the reason where it could not be started."""
        size = TerminalSize(columns, 24)
        try:
            # A terminal, so that programs print line by line and in colours.
            command = await start_command(
                [SHELL, "-c", line.command or ""], cwd=line.cwd, pty=size, on_output=line.append,
                output_byte_limit=1,
            )  # fmt: skip
        except StartFailed as error:
            line.exit = TerminalExit(None, None)
            return str(error)
        self._running = command
        try:
            async with command:
                await command.wait()
            line.exit = TerminalExit(*await command.wait())
        finally:
            self._running = None
        return None

    async def stop(self) -> None:
        """End the running command and its descendants."""
        if self._running is not None:
            await self._running.kill()
