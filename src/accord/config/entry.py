"""The entry of an agent: its command and source, its time limits, and whether its file must be trusted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.config.acp_json import ConfigFile, PermissionPolicy, Server
from accord.config.paths import expand_home
from accord.config.registry import Download, Launch
from accord.transport.interpreter import own_command
from accord.transport.remote import is_address

if TYPE_CHECKING:
    from accord.config.catalogue_lookup import ResolvedAgent

__all__ = ["DEMO", "AgentEntry", "catalogue_entry", "demo_entry", "entry_of", "registry_entry"]

Origin: TypeAlias = Literal["project", "user", "simse", "catalogue", "registry", "built-in"]

DEMO = "demo"
TIMEOUT_SECONDS = 60.0
START_SECONDS = 30.0
# Entries of editors and registries start package runners, which download at the first run.
FETCHING_START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """An agent by its name. `env` are changes to the environment (None unsets); `cwd` None is that of the caller.

    With `needs_trust`, `source` is a project's file: show it to the user, then `Trust.trust(source, sha256)`. With a
    `download` the program must be installed first.
    """

    name: str
    argv: tuple[str, ...]
    origin: Origin
    source: str
    cwd: str | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)
    start_seconds: float = START_SECONDS
    idle_seconds: float | None = None
    permission_policy: PermissionPolicy | None = None
    dialect: str | None = None
    edition: str | None = None
    framing: str | None = None
    label: str = ""
    mode: str | None = None
    model: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    registry_id: str | None = None
    sha256: str = ""
    needs_trust: bool = False
    download: Download | None = None
    asks_download: bool = False
    """The program is a package runner that downloads the agent and runs it: the user is asked first."""
    runs_outside: bool = False
    """`cwd` is a folder of Accord, made when the agent is started: a package runner reads files of its directory."""
    shadowed: bool = False
    """Another entry of this name counts."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request, where `argv` is an address."""
    token_env: str | None = None
    """The variable with the token for an address."""
    token_file: str | None = None
    """The file with the token for an address."""
    ca_file: str | None = None
    """Certificates of authorities that are trusted for an address, in place of the system's."""

    @property
    def address(self) -> str | None:
        """The address, where the agent has one instead of a command."""
        return self.argv[0] if len(self.argv) == 1 and is_address(self.argv[0]) else None


def demo_entry() -> AgentEntry:
    """The built-in coding agent with its offline model."""
    argv = own_command("accord.coder", "--model", "offline")
    return AgentEntry(DEMO, argv, "built-in", "built-in", start_seconds=FETCHING_START_SECONDS, label=DEMO)


def entry_of(server: Server, file: ConfigFile, *, needs_trust: bool) -> AgentEntry:
    """The agent of one entry of a file; without a command if the registry has it."""
    of_simse = server.shape == "servers"
    folder = file.path.absolute().parent
    cwd = None if server.cwd is None else str(_absolute(server.cwd, folder))
    env = dict(server.env)
    if of_simse:
        # As simse does: some agents refuse to run inside another one.
        env.setdefault("CLAUDECODE", None)
    idle = None if server.timeout_ms is None else server.timeout_ms / 1000
    argv = () if server.command is None else (_program(server.command, Path(cwd or folder)), *server.args)
    return AgentEntry(
        name=server.name,
        argv=argv if server.url is None else (server.url,),
        origin=file.scope,
        source=str(file.path),
        cwd=cwd,
        env=env,
        start_seconds=START_SECONDS if of_simse else FETCHING_START_SECONDS,
        idle_seconds=TIMEOUT_SECONDS if of_simse and idle is None else idle,
        permission_policy=server.permission_policy,
        dialect=server.dialect,
        edition=server.edition,
        framing=server.framing,
        label=server.default_agent or file.default_agent or server.name,
        mode=server.mode,
        model=server.model,
        options=server.options,
        registry_id=server.registry_id,
        sha256=file.sha256,
        needs_trust=needs_trust,
        headers=server.headers,
        token_env=server.token_env,
        token_file=None if server.token_file is None else str(_absolute(server.token_file, folder)),
        ca_file=None if server.ca_file is None else str(_absolute(server.ca_file, folder)),
    )


def catalogue_entry(found: ResolvedAgent, runners: Path) -> AgentEntry:
    """The agent of a row of the catalogue; `runners` is the folder in which package runners are started."""
    return AgentEntry(
        found.agent.id, found.argv, "catalogue", found.agent.source, cwd=str(runners) if found.download else None,
        env=dict(found.agent.env), start_seconds=FETCHING_START_SECONDS, label=found.agent.name,
        asks_download=found.download, runs_outside=found.download,
    )  # fmt: skip


def registry_entry(name: str, launch: Launch, address: str, chosen: AgentEntry | None = None) -> AgentEntry:
    """The agent of a registry, with the settings of its entry in a file."""
    if chosen is not None:
        return replace(chosen, argv=launch.argv, env={**launch.env, **chosen.env}, download=launch.download)
    return AgentEntry(
        name, launch.argv, "registry", address, env=dict(launch.env), start_seconds=FETCHING_START_SECONDS, label=name,
        registry_id=name, download=launch.download,
    )  # fmt: skip


def _program(command: str, folder: Path) -> str:
    """The program: a plain name is looked up at the start; a path is relative to the config."""
    if command.startswith("~/"):
        return str(expand_home(command))
    separators = [os.sep, *([os.altsep] if os.altsep else [])]
    if any(separator in command for separator in separators):
        return str(_absolute(command, folder))
    return command


def _absolute(path: str, folder: Path) -> Path:
    return Path(os.path.normpath(folder / expand_home(path)))


def is_installed(entry: AgentEntry) -> bool:
    """Whether its program can be found now; a package that a runner downloads is not checked."""
    return entry.address is not None or (bool(entry.argv) and shutil.which(entry.argv[0]) is not None)
