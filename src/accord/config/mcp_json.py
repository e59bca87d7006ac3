"""The reader of MCP server lists: simse's `mcp.json`, and the `mcpServers` of most other programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from accord.config.errors import ConfigError, Problem
from accord.config.fields import Notes, Table, open_table, read_bytes
from accord.config.paths import ConfigPaths, expand_home
from accord.session.client_requests import McpServer

__all__ = ["McpFile", "load_mcp", "user_mcp_files"]

_TYPES: dict[str, Literal["stdio", "http", "sse"]] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
# Keys of other programs that a session has no field for.
_OF_OTHERS = ("description", "timeout", "trust", "autoApprove", "alwaysAllow", "includeTools", "excludeTools", "oauth")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A server that is not passed to agents: it is switched off, or required variables are unset."""

    name: str
    unset: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.unset:
            return f"the MCP server {self.name!r} is switched off"
        return f"the MCP server {self.name!r} is left out: {', '.join(self.unset)} not set"


@dataclass(frozen=True, slots=True)
class McpFile:
    path: Path
    servers: list[McpServer] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def user_mcp_files(paths: ConfigPaths | None = None) -> list[Path]:
    """The user's existing lists: Accord's, then simse's."""
    here = paths or ConfigPaths.here()
    return [path for path in (here.config / "mcp.json", here.simse / "mcp.json") if path.is_file()]


def load_mcp(path: str | os.PathLike[str], *, environment: Mapping[str, str] | None = None) -> McpFile:
    """The servers of a file. `environment` has the required variables: by default that of this process.

    Raises:
        ConfigError: There is no such file, or it has problems; names all of them.
    """
    place = Path(path)
    content = read_bytes(place)
    if content is None:
        raise ConfigError(str(place), [Problem("", "a file that is there")])
    notes = Notes()
    table = open_table(content, str(place), notes)
    found = McpFile(place)
    reading = _Reading(found, place.absolute().parent, os.environ if environment is None else environment)
    if table.kind("servers") is list:
        for entry in table.tables("servers"):
            reading.add(entry.text("name", needed=True), entry)
    named = "servers" if table.kind("servers") is dict else "mcpServers"
    for name, entry in table.named_tables(named).items():
        reading.add(name, entry)
    if not any(shape in table for shape in ("servers", "mcpServers")):
        notes.problem("mcpServers", "an object of servers by name, or a list of `servers`")
    table.skip("$schema", "inputs", "servers", "mcpServers")
    table.finish()
    if notes.problems:
        raise ConfigError(str(place), notes.problems)
    found.warnings.extend(f"{place}: {warning}" for warning in notes.warnings)
    return found


class _Reading:
    def __init__(self, found: McpFile, folder: Path, environment: Mapping[str, str]) -> None:
        self._found = found
        self._folder = folder
        self._environment = environment
        self._names: set[str] = set()

    def add(self, name: str | None, entry: Table) -> None:
        required = entry.texts("requiredEnv")
        is_off = entry.flag("disabled")
        server = self._server(name or "", entry, required)
        entry.skip(*_OF_OTHERS)
        entry.finish()
        if name in self._names:
            entry.notes.warn(entry.key, f"there is another {name!r} in this file, which counts")
            return
        self._names.add(server.name)
        own = {variable for variable, content in server.env if content}
        unset = tuple(each for each in required if each not in own)
        if unset or is_off:
            self._found.skipped.append(Skipped(server.name, unset))
        else:
            self._found.servers.append(server)

    def _server(self, name: str, entry: Table, required: tuple[str, ...]) -> McpServer:
        key = "transport" if "transport" in entry else "type"
        choice = entry.choice(key, tuple(_TYPES))
        kind = (
            _TYPES[choice] if choice is not None else ("http" if "url" in entry and "command" not in entry else "stdio")
        )
        command = entry.text("command", needed=kind == "stdio")
        url = entry.text("url", needed=kind != "stdio")
        if url is not None and not url.startswith(("http://", "https://")):
            entry.notes.problem(f"{entry.key}.url", "an address that begins with http:// or https://")
        args, env, headers = entry.texts("args"), entry.variables("env"), entry.pairs("headers")
        if kind != "stdio":
            return McpServer(name, kind, url=url or "", headers=list(headers.items()))
        # An agent may start its servers with few variables: required ones are passed, not left to be inherited.
        given = {each: self._environment[each] for each in required if self._environment.get(each)}
        given.update({variable: content for variable, content in env.items() if content is not None})
        return McpServer(name, kind, self._program(command or ""), list(args), list(given.items()))

    def _program(self, command: str) -> str:
        """The program's absolute path, which the protocol requires; a name that is not found stays a name."""
        if "/" in command or os.sep in command:
            return os.path.normpath(self._folder / expand_home(command))
        return shutil.which(command, path=self._environment.get("PATH")) or command
