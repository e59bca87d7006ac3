"""The user's settings of the chat, theme and bell: kept in the state folder, and read leniently."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from accord.cli.chat.private_file import write_private

ThemeChoice: TypeAlias = Literal["auto", "dark", "light"]
THEMES: tuple[ThemeChoice, ...] = get_args(ThemeChoice)
VERSION = 1
MAX_BYTES = 64 * 1024
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
            found = json.loads(file.read(MAX_BYTES))
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
