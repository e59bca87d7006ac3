"""The public registry of agents: its format, a copy that is kept for a while, and the commands for its entries.

No list is shipped with Accord: the config names a file or an address. An agent's description that cannot be understood
is left out with a warning, so that one bad entry does not cost the others.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from accord.config.errors import ConfigError, DownloadError, RegistryError
from accord.config.fields import Notes, Table, open_table, read_bytes
from accord.stores.folder import make_private, safe_name

__all__ = ["Download", "Launch", "Registry", "RegistryAgent", "launch", "load_registry", "parse_registry", "target_of"]

MAX_REGISTRY_BYTES = 8 * 1024 * 1024
FETCH_SECONDS = 20.0
FRESH_SECONDS = 3600.0

_IDS = re.compile(r"[a-z][a-z0-9-]*")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_SYSTEMS = {"linux": "linux", "darwin": "darwin", "win32": "windows"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Package:
    """A package that a runner (`npx`, `uvx`) fetches and starts; `command` where its program has another name."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Binary:
    """An archive for one platform, and the program in it."""

    archive: str
    command: str
    sha256: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegistryAgent:
    """One agent, with every way in which it is distributed."""

    id: str
    name: str
    version: str
    description: str = ""
    packages: Mapping[str, Package] = field(default_factory=dict)
    binaries: Mapping[str, Binary] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Registry:
    """The agents of one registry, by id."""

    address: str
    agents: Mapping[str, RegistryAgent]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Download:
    """A program that must be fetched before it can run: the archive, and the folder for it."""

    address: str
    folder: Path
    program: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A command, and the download that it needs."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    download: Download | None = None
    is_runner: bool = False
    """The program is a package runner, which reads files of its current directory."""


def load_registry(
    address: str,
    cache: Path,
    *,
    fetch: Callable[..., Iterator[bytes]] | None = None,
    now: Callable[[], float] = time.time,
) -> Registry:
    """The registry of a file or an address. A fetched copy is valid for an hour, and for longer where fetching fails.

    Raises:
        RegistryError: It cannot be fetched or read, or is no registry.
    """
    if not address.startswith(("http://", "https://")):
        try:
            content = read_bytes(Path(address))
        except ConfigError as error:
            raise RegistryError(str(error), address=address) from error
        if content is None:
            raise RegistryError(f"{address}: there is no such registry file", address=address)
        return parse_registry(content, address)
    kept = cache / f"registry-{hashlib.sha256(address.encode()).hexdigest()[:16]}.json"
    old, age = _kept(kept, address, now())
    if old is not None and 0 <= age < FRESH_SECONDS:
        return old
    try:
        content = b"".join((fetch or _fetch)(address, max_bytes=MAX_REGISTRY_BYTES, timeout_seconds=FETCH_SECONDS))
        registry = parse_registry(content, address)
    except (DownloadError, RegistryError) as error:
        if old is None:
            raise RegistryError(f"the registry cannot be read: {error}", address=address) from error
        return Registry(address, old.agents, (*old.warnings, f"an older copy of the registry is used: {error}"))
    _keep(kept, content)
    return registry


def _fetch(address: str, *, max_bytes: int, timeout_seconds: float) -> Iterator[bytes]:
    # Only here: a network costs more to import than all that reads files.
    from accord.config.download import fetch  # noqa: PLC0415

    return fetch(address, max_bytes=max_bytes, timeout_seconds=timeout_seconds)


def _kept(path: Path, address: str, now: float) -> tuple[Registry | None, float]:
    """The cached copy, and its age in seconds."""
    try:
        content = read_bytes(path, MAX_REGISTRY_BYTES)
        if content is None:
            return None, 0.0
        return parse_registry(content, address), now - path.stat().st_mtime
    except (OSError, ConfigError, RegistryError):
        return None, 0.0


def _keep(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{time.time_ns()}.new")
    try:
        make_private(temporary)
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError:
        # A cache that cannot be written costs only time.
        with contextlib.suppress(OSError):
            temporary.unlink()


def parse_registry(content: bytes, address: str) -> Registry:
    """The content of a registry, or of the description of a single agent.

    Raises:
        RegistryError: It is neither.
    """
    notes = Notes()
    try:
        table = open_table(content, address, notes)
    except ConfigError as error:
        raise RegistryError(str(error), address=address) from error
    if "agents" not in table and "distribution" not in table:
        raise RegistryError(f"{address}: agents: expected a list of agents", address=address)
    found = table.tables("agents") if "agents" in table else [table]
    warnings = [f"{address}: {problem}" for problem in notes.problems]
    agents: dict[str, RegistryAgent] = {}
    for entry in found:
        notes.problems.clear()
        agent = _agent(entry)
        if notes.problems:
            warnings += [f"{address}: {problem}; the agent is left out" for problem in notes.problems]
        elif agent.id not in agents:
            agents[agent.id] = agent
    return Registry(address, agents, tuple(warnings))


def _agent(entry: Table) -> RegistryAgent:
    id_ = entry.text("id", needed=True) or ""
    if id_ and not _IDS.fullmatch(id_):
        entry.notes.problem(f"{entry.key}.id", "small letters, digits and hyphens, a letter first")
    name, version = entry.text("name"), entry.text("version", needed=True)
    packages: dict[str, Package] = {}
    binaries: dict[str, Binary] = {}
    ways = entry.table("distribution")
    if ways is None:
        entry.notes.problem(f"{entry.key}.distribution", "an object")
    else:
        for runner in ("npx", "uvx"):
            way = ways.table(runner)
            if way is not None:
                packages[runner] = _package(way)
        binaries = {target: _binary(way) for target, way in ways.named_tables("binary").items()}
    return RegistryAgent(id_, name or id_, version or "", entry.text("description") or "", packages, binaries)


def _package(way: Table) -> Package:
    name, command = way.text("package", needed=True) or "", way.text("cmd")
    for key, text in (("package", name), ("cmd", command or "")):
        # It would become an option of the runner.
        if text.startswith("-"):
            way.notes.problem(f"{way.key}.{key}", "a name that does not begin with '-'")
    return Package(name, command, way.texts("args"), way.pairs("env"))


def _binary(way: Table) -> Binary:
    archive, command = way.text("archive", needed=True) or "", way.text("cmd", needed=True) or ""
    if archive and not archive.startswith(("https://", "http://")):
        way.notes.problem(f"{way.key}.archive", "a web address")
    program = PurePosixPath(command.replace("\\", "/"))
    if program.is_absolute() or ".." in program.parts or ":" in command:
        way.notes.problem(f"{way.key}.cmd", "a program inside the archive")
    sha256 = way.text("sha256")
    if sha256 is not None and not _SHA256.fullmatch(sha256):
        way.notes.problem(f"{way.key}.sha256", "64 hexadecimal digits")
    return Binary(archive, str(program), sha256 and sha256.lower(), way.texts("args"), way.pairs("env"))


def target_of(system: str, machine: str) -> str | None:
    """A platform's name in the registry; None for one that it does not know."""
    found = _SYSTEMS.get(system), _MACHINES.get(machine.lower())
    return f"{found[0]}-{found[1]}" if all(found) else None


def launch(
    agent: RegistryAgent,
    cache: Path,
    *,
    target: str | None = None,
    which: Callable[[str], Any] = shutil.which,
) -> Launch:
    """The command that starts an agent here: by a package runner that is installed, else the platform's own program.

    Nothing is fetched; a program that is not installed yet has a `download`.

    Raises:
        RegistryError: No distribution works here; the message names what is missing.
    """
    for runner, package in agent.packages.items():
        if which(runner) is not None:
            return Launch((*_RUNNERS[runner](package), *package.args), package.env, is_runner=True)
    target = target or target_of(sys.platform, platform.machine())
    binary = agent.binaries.get(target or "")
    if binary is not None:
        return _launch_binary(agent, binary, cache)
    ways = [f"{runner} on the PATH" for runner in agent.packages]
    if agent.binaries:
        ways.append(f"one of the platforms {', '.join(agent.binaries)}")
    missing = " or ".join(ways) or "a way of distribution that Accord knows"
    raise RegistryError(f"the agent {agent.id!r} needs {missing}", agent=agent.id)


def _npx(package: Package) -> tuple[str, ...]:
    # npx would ask whether it may install the package, and no user could answer.
    if package.command is None:
        return "npx", "--yes", package.name
    return "npx", "--yes", "--package", package.name, package.command


def _uvx(package: Package) -> tuple[str, ...]:
    return ("uvx", package.name) if package.command is None else ("uvx", "--from", package.name, package.command)


_RUNNERS: dict[str, Callable[[Package], tuple[str, ...]]] = {"npx": _npx, "uvx": _uvx}


def _launch_binary(agent: RegistryAgent, binary: Binary, cache: Path) -> Launch:
    digest = hashlib.sha256(f"{binary.archive}\n{binary.sha256}".encode()).hexdigest()[:12]
    folder = cache / "agents" / safe_name(agent.id) / f"{safe_name(agent.version)}-{digest}"
    program = folder / binary.command
    download = None if program.is_file() else Download(binary.archive, folder, binary.command, binary.sha256)
    return Launch((str(program), *binary.args), binary.env, download)
