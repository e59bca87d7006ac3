"""The paths of one user's files in the platform's folders; nothing is created here."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from accord.config.errors import ConfigError, Problem
from accord.stores.folder import APPLICATION, folders, home_folder

__all__ = ["ConfigPaths", "expand_home", "folders"]


@dataclass(frozen=True, slots=True)
class ConfigPaths:
    """One user's folders; `config`, `state` and `cache` are Accord's, `simse` is simse's."""

    config: Path
    state: Path
    cache: Path
    simse: Path

    @classmethod
    def here(cls) -> ConfigPaths:
        """Those of this user on this machine.

        Raises:
            ConfigError: The environment names neither the folders nor a home directory.
        """
        home, problem = home_folder()
        found = folders(sys.platform, os.environ, home)
        if not all(each.is_absolute() for each in found):
            expected = f"the absolute path of your home directory; {problem}"
            raise ConfigError("HOME", [Problem("", expected)])
        return cls(
            Path(found.config, APPLICATION), Path(found.state, APPLICATION), Path(found.cache, APPLICATION),
            Path(found.config, "simse"),
        )  # fmt: skip

    @property
    def user_file(self) -> Path:
        """The user's `acp.json`."""
        return self.config / "acp.json"

    @property
    def trust_file(self) -> Path:
        """The list of trusted project files."""
        return self.state / "trusted.jsonl"

    @property
    def records_file(self) -> Path:
        return self.state / "sessions.db"


def expand_home(path: str) -> Path:
    """A path with `~` at the beginning expanded; that of an unknown user stays unchanged."""
    # Not pathlib: it raises where there is no such user.
    return Path(os.path.expanduser(path))  # noqa: PTH111
