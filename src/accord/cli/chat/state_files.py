"""Files that a chat keeps in the state folder, for the user alone: its settings, and the history of prompts."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from accord.display import prose, whole
from accord.stores.folder import make_folder


def write_private(path: Path, data: bytes) -> None:
    """Replace the file atomically: a reader sees the old one or the new one.

    Raises:
        OSError: It cannot be written.
    """
    make_folder(path.parent)
    # Made with mode 0600, independent of the umask.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def append_private(path: Path, data: bytes) -> None:
    """Add to the file in one write, so that two chats that do so do not mix their lines.

    Raises:
        OSError: It cannot be written.
    """
    make_folder(path.parent)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


# --- settings

ThemeChoice: TypeAlias = Literal["auto", "dark", "light"]
THEMES: tuple[ThemeChoice, ...] = get_args(ThemeChoice)
VERSION = 1
_MAX_SETTINGS_BYTES = 64 * 1024
BELL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ChatSettings:
    theme: ThemeChoice = "auto"
    bell_seconds: float | None = BELL_SECONDS
    """The shortest turn, in seconds, whose end rings the bell; None is never."""


class SettingsFile:
    """The settings on disk; without a path they last as long as the chat."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.settings = _read(path)

    def change(self, **changes: Any) -> str | None:
        """Use these from now on, and write them; returns the reason where they cannot be written."""
        self.settings = replace(self.settings, **changes)
        if self._path is None:
            return None
        text = json.dumps({"version": VERSION, **asdict(self.settings)}, indent=2)
        try:
            write_private(self._path, f"{text}\n".encode())
        except OSError as error:
            return error.strerror or str(error)
        return None


def _read(path: Path | None) -> ChatSettings:
    """The settings in the file; invalid values, and a file of a later version, count as absent."""
    if path is None:
        return ChatSettings()
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MAX_SETTINGS_BYTES))
    except (OSError, ValueError, RecursionError):
        return ChatSettings()
    if not isinstance(found, dict) or found.get("version") != VERSION:
        return ChatSettings()
    named = {field.name for field in fields(ChatSettings)}
    kept = {name: value for name, value in found.items() if name in named and _is_valid(name, value)}
    return ChatSettings(**kept)


def _is_valid(name: str, value: object) -> bool:
    if name == "theme":
        return value in THEMES
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value >= 0)


# --- history

MAX_PROMPTS = 500
MAX_PROMPT_CHARS = 20_000
# Beyond this size only the end of the file is read, and the file is rewritten.
MAX_HISTORY_BYTES = 1024 * 1024


class PromptHistory:
    """All prompts, the oldest first; without a path those of this chat alone."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.prompts: list[str] = []
        self.problem: str | None = None
        """The reason why prompts cannot be kept, if there is one."""
        if path is not None:
            self._load(path)

    def add(self, prompt: str) -> None:
        """Keep a prompt, not twice in a row; one over the size limit is not written to the file."""
        if self.prompts and self.prompts[-1] == prompt:
            return
        self.prompts = [*self.prompts[1 - MAX_PROMPTS :], prompt]
        if self._path is None or self.problem is not None or len(prompt) > MAX_PROMPT_CHARS:
            return
        try:
            append_private(self._path, _line(prompt))
        except OSError as error:
            self.problem = error.strerror or str(error)

    def _load(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - MAX_HISTORY_BYTES))
                # The first line may be cut: it is no JSON, and is left out.
                lines = file.read(MAX_HISTORY_BYTES).splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            self.problem = error.strerror or str(error)
            return
        found = [prompt for line in lines if (prompt := _prompt(line)) is not None]
        self.prompts = found[-MAX_PROMPTS:]
        if size > MAX_HISTORY_BYTES or len(lines) > 2 * MAX_PROMPTS:
            self._compact(path)

    def _compact(self, path: Path) -> None:
        try:
            write_private(path, b"".join(map(_line, self.prompts)))
        except OSError as error:
            self.problem = error.strerror or str(error)


def _line(prompt: str) -> bytes:
    return json.dumps(whole(prompt), ensure_ascii=False).encode() + b"\n"


def _prompt(line: bytes) -> str | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    # The file may have been changed since: it must not control the screen.
    return prose(found) if isinstance(found, str) and found.strip() else None
