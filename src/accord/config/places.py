"""Knows where the platform wants config, state and cache to be; nothing is made here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import NamedTuple

__all__ = ["Folders", "Places", "folders"]


class Folders(NamedTuple):
    """The platform's folders for one user's programs."""

    config: PurePath
    state: PurePath
    cache: PurePath


def folders(platform: str, environment: Mapping[str, str], home: str) -> Folders:
    """The folders, for any platform."""
    if platform == "win32":
        local = PureWindowsPath(environment.get("LOCALAPPDATA") or PureWindowsPath(home, "AppData", "Local"))
        roaming = PureWindowsPath(environment.get("APPDATA") or PureWindowsPath(home, "AppData", "Roaming"))
        return Folders(roaming, local, local / "Cache")
    if platform == "darwin":
        library = PurePosixPath(home, "Library")
        return Folders(library / "Application Support", library / "Application Support", library / "Caches")
    return Folders(
        _xdg(environment.get("XDG_CONFIG_HOME", ""), home, ".config"),
        _xdg(environment.get("XDG_STATE_HOME", ""), home, ".local/state"),
        _xdg(environment.get("XDG_CACHE_HOME", ""), home, ".cache"),
    )


def _xdg(given: str, home: str, otherwise: str) -> PurePath:
    # XDG: a relative path is invalid and to be ignored.
    return PurePosixPath(given) if PurePosixPath(given).is_absolute() else PurePosixPath(home, otherwise)


@dataclass(frozen=True, slots=True)
class Places:
    """One user's folders; `config`, `state` and `cache` are Accord's own, `simse` is where simse has its files."""

    config: Path
    state: Path
    cache: Path
    simse: Path

    @classmethod
    def here(cls) -> Places:
        """Those of this user on this machine."""
        found = folders(sys.platform, os.environ, str(Path.home()))
        return cls(
            Path(found.config, "accord"), Path(found.state, "accord"), Path(found.cache, "accord"),
            Path(found.config, "simse"),
        )  # fmt: skip

    @property
    def user_file(self) -> Path:
        """The user's `acp.json`."""
        return self.config / "acp.json"

    @property
    def trust_file(self) -> Path:
        """Which files of projects are trusted."""
        return self.state / "trusted.jsonl"

    @property
    def records_file(self) -> Path:
        """Our records of sessions."""
        return self.state / "sessions.db"
