"""The reader of `acp.json`: simse's list of `servers` and the editors' `agent_servers`, in one file or two.

Invalid content is a value, not an exception: an entry that cannot be used keeps its problems beside the others, and a
file that is no JSON has no entries and one error. `accord.config.agents` decides which file counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from accord.config.errors import ConfigError
from accord.config.fields import Notes, Table, join_key, open_table, read_bytes
from accord.dialects import dialect_names
from accord.transport.remote import is_address

__all__ = ["ConfigFile", "PermissionPolicy", "Scope", "Server", "check_version", "read_config", "read_default_server"]

Scope: TypeAlias = Literal["project", "user", "simse"]
Shape: TypeAlias = Literal["servers", "agent_servers"]
PermissionPolicy: TypeAlias = Literal["auto-approve", "prompt", "deny"]

POLICIES: tuple[PermissionPolicy, ...] = ("auto-approve", "prompt", "deny")
EDITIONS = ("auto", "newest", "1", "2", "2-june")
FRAMINGS = ("lines", "headers")
# The form of the file that this version knows; a file without a `version` is of the first.
FILE_VERSION = 1
MIN_TIMEOUT_MS = 1_000
MAX_TIMEOUT_MS = 600_000

# Settings of editors' own windows in the same entry.
_OF_EDITORS = (
    "favorite_models",
    "favorite_config_option_values",
    "use_idea_mcp",
    "use_custom_mcp",
    "ignore_system_node",
)


@dataclass(frozen=True, slots=True)
class Server:
    """One entry: an agent and how it is started or reached. One of `command`, `registry_id` and `url` is set."""

    name: str
    shape: Shape
    command: str | None = None
    registry_id: str | None = None
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)
    timeout_ms: int | None = None
    permission_policy: PermissionPolicy | None = None
    default_agent: str | None = None
    dialect: str | None = None
    edition: str | None = None
    framing: str | None = None
    mode: str | None = None
    model: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    token_env: str | None = None
    token_file: str | None = None
    ca_file: str | None = None


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The content of one file. `sha256` is that of the bytes that were read, which are trusted or not."""

    path: Path
    scope: Scope
    sha256: str = ""
    servers: Mapping[str, Server] = field(default_factory=dict)
    default_server: str | None = None
    default_agent: str | None = None
    registry: str | None = None
    warnings: tuple[str, ...] = ()
    errors: tuple[ConfigError, ...] = ()
    broken: Mapping[str, ConfigError] = field(default_factory=dict)
    """Entries that cannot be used, by name."""
    models: tuple[str, ...] = ()
    """The models of the built-in agent, the first one its default; only the user's own file is asked for them."""


def read_config(path: Path, scope: Scope) -> ConfigFile | None:
    """The content of the file; None if there is none. Does not raise: problems are in the result."""
    try:
        content = read_bytes(path)
        if content is None:
            return None
        notes = Notes()
        table = open_table(content, str(path), notes)
        if scope != "simse":
            check_version(table, str(path))
    except ConfigError as error:
        return ConfigFile(path, scope, errors=(error,))
    return _Reading(path, table).config(scope, hashlib.sha256(content).hexdigest())


def check_version(table: Table, path: str) -> None:
    """Refuse a file of a later version as a whole: a field that is ignored or misread could start another program.

    Raises:
        ConfigError: The file is of a later version.
    """
    table.version(FILE_VERSION)
    if table.notes.problems:
        raise ConfigError(path, table.notes.problems)


def read_default_server(path: Path) -> tuple[str | None, ConfigError | None]:
    """The `defaultServer` of simse's settings of a workspace; all other settings are ignored."""
    notes = Notes()
    try:
        content = read_bytes(path)
        name = None if content is None else open_table(content, str(path), notes).text("defaultServer")
    except ConfigError as error:
        return None, error
    return name, ConfigError(str(path), notes.problems) if notes.problems else None


class _Reading:
    def __init__(self, path: Path, table: Table) -> None:
        self._path = str(path)
        self._place = path
        self._table = table
        self._notes = table.notes
        self._servers: dict[str, Server] = {}
        self._broken: dict[str, ConfigError] = {}
        self._errors: list[ConfigError] = []

    def config(self, scope: Scope, sha256: str) -> ConfigFile:
        table = self._table
        for shape, name, entry in self._entries():
            self._add(shape, name, entry)
        default_server, default_agent = table.text("defaultServer"), table.text("defaultAgent")
        registry, models = table.text("registry"), table.texts("models")
        table.skip("$schema", "default_mcp_settings")
        table.finish()
        self._settle()
        if default_server is not None and default_server not in self._servers and default_server not in self._broken:
            # It may name an agent of another file, so that is no error here.
            self._notes.warn("defaultServer", "names no server of this file")
        return ConfigFile(
            self._place, scope, sha256, self._servers, default_server, default_agent, registry,
            tuple(f"{self._path}: {warning}" for warning in self._notes.warnings), tuple(self._errors), self._broken,
            models,
        )  # fmt: skip

    def _entries(self) -> Iterator[tuple[Shape, str | None, Table]]:
        for entry in self._table.tables("servers"):
            yield "servers", self._named(f"{entry.key}.name", entry.text("name", needed=True)), entry
        for name, entry in self._table.named_tables("agent_servers").items():
            yield "agent_servers", self._named(entry.key, name), entry

    def _named(self, key: str, name: str | None) -> str | None:
        # It is shown to users, with invisible characters visible.
        if name is not None and not (name.strip() and name.isprintable()):
            self._notes.problem(key, "a name that is not empty and can be printed")
            return None
        return name

    def _add(self, shape: Shape, name: str | None, entry: Table) -> None:
        server = _server(shape, name or "", entry)
        entry.finish()
        problem = self._settle()
        if name is None:
            return
        if name in self._servers or name in self._broken:
            self._notes.warn(entry.key, f"there is another {name!r} in this file, which counts")
        elif problem is not None:
            self._broken[name] = problem
        else:
            self._servers[name] = server

    def _settle(self) -> ConfigError | None:
        """The problems since the last call, as one error."""
        if not self._notes.problems:
            return None
        error = ConfigError(self._path, self._notes.problems)
        self._notes.problems = []
        self._errors.append(error)
        return error


def _server(shape: Shape, name: str, entry: Table) -> Server:
    from_registry = shape == "agent_servers" and entry.choice("type", ("custom", "registry")) == "registry"
    url = _url(entry)
    command = entry.text("command", needed=not from_registry and url is None)
    args = entry.texts("args")
    if command is not None and " " in command and "args" not in entry and not Path(command).exists():
        entry.notes.warn(entry.key, "the command has a space and there are no args: each word is an element of args")
    entry.skip(*_OF_EDITORS)
    policy = entry.choice("permissionPolicy", POLICIES)
    return Server(
        name=name,
        shape=shape,
        command=None if from_registry else command,
        registry_id=name if from_registry else None,
        args=args,
        cwd=entry.text("cwd"),
        env=entry.variables("env"),
        timeout_ms=entry.integer("timeoutMs", MIN_TIMEOUT_MS, MAX_TIMEOUT_MS),
        permission_policy=next((each for each in POLICIES if each == policy), None),
        default_agent=entry.text("defaultAgent"),
        # Installed packages are searched only where an entry names a dialect.
        dialect=entry.choice("dialect", dialect_names() if "dialect" in entry else ()),
        edition=entry.choice("edition", EDITIONS),
        framing=entry.choice("framing", FRAMINGS),
        mode=entry.text("default_mode"),
        model=entry.text("default_model"),
        options=entry.pairs("default_config_options"),
        url=url,
        headers=entry.pairs("headers"),
        token_env=entry.text("tokenEnv"),
        token_file=entry.text("tokenFile"),
        ca_file=entry.text("caFile"),
    )


def _url(entry: Table) -> str | None:
    url = entry.text("url")
    if url is not None and not is_address(url):
        entry.notes.problem(join_key(entry.key, "url"), "an address that begins with ws, wss, http or https", url)
    if url is not None and "command" in entry:
        entry.notes.problem(entry.key, "a command or a url, and not both")
    return url
