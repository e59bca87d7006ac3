"""Programs that the user runs from a chat: an editor for the prompt, and `!command`. The agent sees neither."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from signal import SIGINT, signal as set_handler

from accord.config.catalogue_lookup import find_program
from accord.session.entry import TerminalEntry
from accord.session.event import TerminalExit
from accord.workspace import RunningCommand, StartFailed, TerminalSize, start_command
from accord.workspace.launch import SHELL

# --- an external editor

MAX_BYTES = 1024 * 1024
FALLBACKS = ("nano", "vi")


class EditorFailed(Exception):
    """The editor failed, and the prompt stays unchanged; the message says why."""


def editor_of(environment: Mapping[str, str]) -> list[str]:
    """The editor's command.

    Raises:
        EditorFailed: There is none.
    """
    for name in ("VISUAL", "EDITOR"):
        try:
            argv = shlex.split(environment.get(name, ""))
        except ValueError as error:
            raise EditorFailed(f"${name} is no command: {error}") from error
        if argv:
            return argv
    places = environment.get("PATH", os.defpath)
    # Not a program of the folder that the chat is in.
    tried = (find_program(each, path=places, project=Path.cwd()) for each in FALLBACKS)
    found = next(filter(None, tried), None)
    if found is None:
        raise EditorFailed("there is no editor: set $EDITOR")
    return [found]


async def edited(text: str, argv: Sequence[str], terminal: contextlib.AbstractContextManager[None]) -> str:
    """The text as the user leaves it; the editor has the `terminal` meanwhile.

    Raises:
        EditorFailed: The editor did not start, or ended with a failure, or left no text.
    """
    # For its owner alone, independent of the umask.
    with tempfile.TemporaryDirectory(prefix="accord-") as folder:
        file = Path(folder, "prompt.md")
        _write(file, text)
        with terminal:
            await _run([*argv, str(file)])
        return _read(file)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EditorFailed(f"there is no room for the text: {error.strerror}") from error


def _read(file: Path) -> str:
    try:
        with file.open("rb") as left:
            data = left.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise EditorFailed(f"the edited text cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise EditorFailed("the edited text is no UTF-8") from error
    if len(data) > MAX_BYTES:
        raise EditorFailed("the text is too long for a prompt")
    return text.rstrip("\n")


async def _run(argv: list[str]) -> None:
    with _without_interrupt():
        try:
            process = subprocess.Popen(argv)  # noqa: ASYNC220 - the terminal is the editor's: nothing else is drawn
        except OSError as error:
            raise EditorFailed(f"{argv[0]}: {error.strerror}") from error
        status = await asyncio.to_thread(process.wait)
    if status:
        raise EditorFailed(f"the editor ended with status {status}")


@contextlib.contextmanager
def _without_interrupt() -> Iterator[None]:
    """While the editor has the terminal, Ctrl+C goes to the editor.

    By a handler that does nothing: a program that is started meanwhile takes the signal as usual, where it would
    inherit that it is ignored.
    """
    before = set_handler(SIGINT, lambda *_: None)
    try:
        yield
    finally:
        set_handler(SIGINT, before)


# --- `!command`

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
