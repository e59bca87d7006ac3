"""Editing of the prompt in an external editor: `$VISUAL`, `$EDITOR`, or one that every system has."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from signal import SIGINT, signal as set_handler

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
    found = next((path for each in FALLBACKS if (path := shutil.which(each)) is not None), None)
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
