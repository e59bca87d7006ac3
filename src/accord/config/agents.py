"""The lookup of agents by name: in the config files, the built-in agent, the catalogue, and a registry.

The project's file is `acp.json` in the given directory and in no folder above it: the program that a command starts
must not depend on files elsewhere on the disk.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from accord.config.acp_json import ConfigFile, Scope, read_config, read_default_server
from accord.config.entry import DEMO, AgentEntry, catalogue_entry, demo_entry, entry_of, registry_entry
from accord.config.errors import ConfigError, NotInstalled, Problem, UnknownAgent
from accord.config.paths import ConfigPaths, expand_home
from accord.config.registry import Registry, launch, load_registry
from accord.config.trust import Trust

if TYPE_CHECKING:
    from accord.config.catalogue import Catalogue, CatalogueAgent
    from accord.config.catalogue_lookup import ResolvedAgent

__all__ = ["Agents", "find", "load_agents"]

DEFAULT = "default"
RUNNERS = "runners"
"""The folder in which package runners are started: in the project's folder they would read its files."""
_NO_AGENT = "add one with `accord agents add`, or try the built-in agent `demo`"


def find(
    name: str, *, cwd: str | os.PathLike[str] = ".", trust: Trust | None = None, paths: ConfigPaths | None = None
) -> AgentEntry:
    """The agent of a name; `default` is the config's default agent. May fetch a registry, and blocks meanwhile.

    Raises:
        UnknownAgent: There is none; `suggestions` are names that may have been meant.
        NotInstalled: The catalogue knows it, and its program is not on this machine.
        ConfigError: Its entry cannot be used, or none was found and a file could not be read; or the notes on trust
            cannot be read, or there is no home directory.
        RegistryError: The registry that should have it cannot be read, or it cannot run here.
    """
    return load_agents(cwd, trust=trust, paths=paths).find(name)


def load_agents(
    cwd: str | os.PathLike[str] = ".", *, trust: Trust | None = None, paths: ConfigPaths | None = None
) -> Agents:
    """The agents of the config files for a directory; broken files are in `errors`.

    Raises:
        ConfigError: There is no home directory.
    """
    here = paths or ConfigPaths.here()
    folder = Path(cwd).absolute()
    wanted: list[tuple[Path, Scope]] = [
        (folder / "acp.json", "project"),
        (here.user_file, "user"),
        (here.simse / "acp.json", "simse"),
    ]
    if _is_same(wanted[0][0], here.user_file) or _is_same(wanted[0][0], here.simse / "acp.json"):
        # The directory is the config folder itself: the user's file is no project file.
        del wanted[0]
    files = [file for file in (read_config(path, scope) for path, scope in wanted) if file is not None]
    settings = folder / ".simse" / "settings.json"
    return Agents(files, settings, trust or Trust(here.trust_file), here, folder)


class Agents:
    """All agents of one directory. The first file that has a name counts, also if its entry is broken."""

    def __init__(self, files: list[ConfigFile], settings: Path, trust: Trust, paths: ConfigPaths, folder: Path) -> None:
        self.files = files
        self._settings = settings
        self._trust = trust
        self._paths = paths
        self._folder = folder
        self._registry: Registry | None = None
        self._chosen, wrong = read_default_server(settings)
        self.errors: list[ConfigError] = [error for file in files for error in file.errors]
        if wrong is not None:
            self.errors.append(wrong)
        self.warnings: list[str] = [warning for file in files for warning in file.warnings]
        for file in files:
            if DEFAULT in file.servers:
                self.warnings.append(f"{file.path}: the name {DEFAULT!r} means the default agent; this one is hidden")

    def find(self, name: str) -> AgentEntry:
        """The agent of a name; see `accord.config.find`."""
        if name == DEFAULT:
            return self.default()
        for file in self.files:
            if name in file.broken:
                raise file.broken[name]
            if name in file.servers:
                return self._resolved(file, name)
        if name == DEMO:
            return demo_entry()
        return self._from_catalogue(name) or self._from_registry(name)

    def catalogue(self) -> list[ResolvedAgent]:
        """Every agent of the catalogue, with the command that starts it on this machine."""
        return [self._locate(row) for row in _catalogue().agents.values()]

    def _locate(self, row: CatalogueAgent) -> ResolvedAgent:
        from accord.config.catalogue_lookup import resolve_agent  # noqa: PLC0415 - as the catalogue

        return resolve_agent(row, path=os.environ.get("PATH", os.defpath), project=self._folder)

    def _from_catalogue(self, name: str) -> AgentEntry | None:
        row = _catalogue().find(name)
        if row is None:
            return None
        found = self._locate(row)
        if found.argv:
            return catalogue_entry(found, self._paths.cache / RUNNERS)
        registry = self.registry()
        if registry is not None and name in registry.agents:
            return None
        raise NotInstalled(row.id, found.advice)

    def default(self, name: str | None = None) -> AgentEntry:
        """The default agent.

        That is `name`, or the `defaultServer` of simse's workspace settings, of the project's file, of the user's, of
        simse's; or the first agent of the first file that has one.

        Raises:
            UnknownAgent: There is none, or none of that name.
        """
        if name is not None and name != DEFAULT:
            return self.find(name)
        for source, key, default in self._defaults():
            try:
                return self.find(default)
            except UnknownAgent as error:
                raise ConfigError(source, [Problem(key, f"the name of an agent ({error})")]) from error
        raise self._unknown(DEFAULT)

    def _defaults(self) -> Iterator[tuple[str, str, str]]:
        if self._chosen is not None and self._chosen != DEFAULT:
            yield str(self._settings), "defaultServer", self._chosen
        for file in self.files:
            if file.default_server is not None and file.default_server != DEFAULT:
                yield str(file.path), "defaultServer", file.default_server
        for file in self.files:
            for name in (*file.servers, *file.broken):
                if name != DEFAULT:
                    yield str(file.path), "servers", name

    def entries(self) -> list[AgentEntry]:
        """All entries of the files, and the built-in one; where several have a name, the later ones are `shadowed`.

        Nothing is fetched: an entry that leaves its command to the registry has none here.
        """
        found: list[AgentEntry] = []
        names_so_far: set[str] = set()
        for file in self.files:
            needs_trust = bool(file.servers) and self._looks_foreign(file)
            found += [
                replace(entry_of(server, file, needs_trust=needs_trust), shadowed=name in names_so_far)
                for name, server in file.servers.items()
            ]
            names_so_far.update(file.servers, file.broken)
        return [*found, replace(demo_entry(), shadowed=DEMO in names_so_far)]

    def servers(self) -> list[AgentEntry]:
        """The entries of the files that are not shadowed, without built-in ones: those that a fleet starts."""
        return [entry for entry in self.entries() if not entry.shadowed and entry.origin != "built-in"]

    def names(self) -> list[str]:
        """All names that can be found without a registry."""
        return list(dict.fromkeys(entry.name for entry in self.entries() if entry.name != DEFAULT))

    def registry(self) -> Registry | None:
        """The registry that the config names, read now; None if it names none.

        A project's registry is used only once its file is trusted: commands come from it, and fetching it reveals to
        its server that this user exists.

        Raises:
            RegistryError: It cannot be read.
        """
        if self._registry is None:
            for file in self.files:
                if file.registry is not None and not self._is_foreign(file):
                    address = _address(file.registry, file.path.absolute().parent)
                    self._registry = load_registry(address, self._paths.cache)
                    self.warnings += self._registry.warnings
                    break
        return self._registry

    def _is_foreign(self, file: ConfigFile) -> bool:
        return file.scope == "project" and not self._trust.is_trusted(file.path, file.sha256)

    def _looks_foreign(self, file: ConfigFile) -> bool:
        """`_is_foreign` for lists, which go on where the trust file cannot be read; the failure is in `errors` then."""
        try:
            return self._is_foreign(file)
        except ConfigError as error:
            if str(error) not in map(str, self.errors):
                self.errors.append(error)
            return True

    def _entry(self, file: ConfigFile, name: str) -> AgentEntry:
        return entry_of(file.servers[name], file, needs_trust=self._is_foreign(file))

    def _resolved(self, file: ConfigFile, name: str) -> AgentEntry:
        entry = self._entry(file, name)
        if entry.registry_id is None or entry.needs_trust:
            return entry
        found = self._from_registry(entry.registry_id, entry)
        return replace(found, argv=(*found.argv, *file.servers[name].args))

    def _from_registry(self, name: str, chosen: AgentEntry | None = None) -> AgentEntry:
        registry = self.registry()
        if registry is None and chosen is not None:
            problem = Problem("registry", f"the address of a registry, because {name!r} is an agent of one")
            raise ConfigError(chosen.source, [problem])
        if registry is None or name not in registry.agents:
            raise self._unknown(name)
        found = launch(registry.agents[name], self._paths.cache)
        entry = registry_entry(name, found, registry.address, chosen)
        if found.is_runner and entry.cwd is None:
            return replace(entry, cwd=str(self._paths.cache / RUNNERS), runs_outside=True)
        return entry

    def _unknown(self, name: str) -> Exception:
        """The exception for an unknown name, which may be in a file that cannot be read."""
        for file in self.files:
            if not file.sha256:
                return file.errors[0]
        known = self.names()
        if self._registry is not None:
            known += [each for each in self._registry.agents if each not in known]
        hints = [str(error) for error in self.errors]
        hints += [
            f"{file.path} names a registry, which is not asked before that file is trusted"
            for file in self.files
            if file.registry is not None and self._looks_foreign(file)
        ]
        suggestions = difflib.get_close_matches(name, known, 3) or difflib.get_close_matches(
            name, _catalogue().names(), 3
        )
        if name == DEFAULT:
            return UnknownAgent(name, hint="; ".join([_NO_AGENT, *hints]))
        return UnknownAgent(name, suggestions=suggestions, known=known, hint="; ".join(hints))


def _catalogue() -> Catalogue:
    from accord.config.catalogue import load_catalogue  # noqa: PLC0415 - only for names that no file has

    return load_catalogue()


def _is_same(one: Path, other: Path) -> bool:
    return one.name == other.name and one.parent.resolve() == other.parent.resolve()


def _address(text: str, folder: Path) -> str:
    """A registry's address: a web address unchanged, a file relative to the config."""
    if text.startswith(("http://", "https://")):
        return text
    return str((folder / expand_home(text)).absolute())
