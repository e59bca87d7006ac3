"""The catalogue of known agents: for each the start lines, the installation and the login.

The data is `catalogue.json` beside this module. Each row names the public page or package that it comes from and the
date on which that was read; `tried` marks the agents that the interoperability tests drive, and `tried_by_hand` has
the day on which the same conversations were held with another one. This module does not look at the machine:
`accord.config.catalogue_lookup` decides which start line works on it.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from accord.config.errors import ConfigError, Problem

__all__ = [
    "CATALOGUE_FILE",
    "Catalogue",
    "CatalogueAgent",
    "CatalogueLogin",
    "PackageManager",
    "StartLine",
    "load_catalogue",
    "parse_catalogue",
]

CATALOGUE_FILE = Path(__file__).with_name("catalogue.json")
CATALOGUE_VERSION = 1

PackageManager: TypeAlias = Literal[
    "npm", "bun", "uv", "pipx", "brew", "cargo", "winget", "script", "powershell", "page"
]
"""The kind of an install line; `script` is a line for a POSIX shell, `page` an address to read."""


class StartLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to start an agent: a program and its arguments, never a line for a shell."""

    argv: tuple[str, ...]
    requires: tuple[str, ...] = ()
    """Programs that the agent starts itself and that must be on the `PATH` too."""
    download: bool = False
    """The program is a package runner (`npx`, `uvx`), which downloads the agent and runs it: ask the user first."""


class CatalogueLogin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The login of an agent: a sentence, and the command to type, the variables to set or the file to write."""

    sentence: str
    command: str = ""
    variables: tuple[str, ...] = ()
    file: str = ""


class CatalogueAgent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One agent; the start lines are in order of preference, those that download last."""

    id: str
    name: str
    aliases: tuple[str, ...]
    start: tuple[StartLine, ...]
    env: dict[str, str] = {}
    min_node: int = 0
    """The oldest Node.js that it runs on, by its major version; 0 where no page names one."""
    editions: tuple[Literal["v1", "v2"], ...]
    install: dict[PackageManager, str]
    login: CatalogueLogin
    homepage: str
    source: str
    date: datetime.date
    tried: bool
    tried_by_hand: datetime.date | None = None

    @property
    def programs(self) -> tuple[str, ...]:
        """The names under which an installed copy is looked for on the `PATH`."""
        return tuple(dict.fromkeys(line.argv[0] for line in self.start if not line.download))


class Catalogue:
    """All agents, found by id or alias; upper and lower case are the same."""

    def __init__(self, agents: Mapping[str, CatalogueAgent]) -> None:
        self.agents = agents
        self._ids = {name.casefold(): agent.id for agent in agents.values() for name in (agent.id, *agent.aliases)}

    def find(self, name: str) -> CatalogueAgent | None:
        """The agent with this id or alias."""
        id_ = self._ids.get(name.casefold())
        return None if id_ is None else self.agents[id_]

    def names(self) -> list[str]:
        """All ids and aliases, sorted."""
        return sorted(self._ids)


class _Heading(msgspec.Struct):
    version: int


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    agents: list[CatalogueAgent]


@functools.cache
def load_catalogue() -> Catalogue:
    """The catalogue of this version of Accord, read at the first call.

    Raises:
        ConfigError: The installed file is missing or damaged.
    """
    try:
        content = CATALOGUE_FILE.read_bytes()
    except OSError as error:
        problem = Problem("", f"a file that can be read ({error.strerror})")
        raise ConfigError(str(CATALOGUE_FILE), [problem]) from error
    return parse_catalogue(content, str(CATALOGUE_FILE))


def parse_catalogue(content: bytes, path: str) -> Catalogue:
    """The catalogue that a file holds.

    Raises:
        ConfigError: It is no catalogue, is of a later version, has an unknown key, or has one name twice.
    """
    try:
        # The version is read alone first: a later one may have keys that this one does not know.
        version = msgspec.json.decode(content, type=_Heading).version
        if version != CATALOGUE_VERSION:
            raise ConfigError(path, [Problem("version", _expected_version(version))])
        document = msgspec.json.decode(content, type=_Document)
    except msgspec.MsgspecError as error:
        raise ConfigError(path, [Problem("", f"a catalogue of agents ({error})")]) from error
    owners: dict[str, str] = {}
    for agent in document.agents:
        for name in (agent.id, *agent.aliases):
            owner = owners.setdefault(name.casefold(), agent.id)
            if owner != agent.id or (name == agent.id and name in agent.aliases):
                problem = Problem(f"agents.{agent.id}", f"names of its own; {name!r} is also a name of {owner!r}")
                raise ConfigError(path, [problem])
    return Catalogue({agent.id: agent for agent in document.agents})


def _expected_version(found: int) -> str:
    if found > CATALOGUE_VERSION:
        return f"{CATALOGUE_VERSION} at most: this file is for a later version of Accord; update Accord"
    return f"the whole number {CATALOGUE_VERSION}"
