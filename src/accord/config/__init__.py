"""Agents before they are started: `acp.json`, the registry of agents, trusted files, records of sessions.

It does not know the wire. Every part is imported when it is first used: looking up a name pays neither for a database
nor for a network.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accord.config.acp_json import ConfigFile, Server, read_config
    from accord.config.agents import Agents, find, load_agents
    from accord.config.binary import install
    from accord.config.connect import connect_to
    from accord.config.edit import add_agent, remove_agent, set_default
    from accord.config.entry import AgentEntry
    from accord.config.errors import (
        ConfigError,
        DownloadError,
        FleetFailed,
        Problem,
        RegistryError,
        UnknownAgent,
        UntrustedFile,
    )
    from accord.config.fleet import Backoff, CircuitBreaker, Fleet, Health
    from accord.config.mcp_json import McpFile, load_mcp, user_mcp_files
    from accord.config.paths import ConfigPaths
    from accord.config.permission import permission_for
    from accord.config.records import ClientSessionRecord, Records
    from accord.config.registry import Registry, load_registry
    from accord.config.trust import Trust

_HOMES = {
    "acp_json": ("ConfigFile", "Server", "read_config"),
    "agents": ("Agents", "find", "load_agents"),
    "binary": ("install",),
    "edit": ("add_agent", "remove_agent", "set_default"),
    "entry": ("AgentEntry",),
    "errors": (
        "ConfigError",
        "DownloadError",
        "FleetFailed",
        "Problem",
        "RegistryError",
        "UnknownAgent",
        "UntrustedFile",
    ),
    "fleet": ("Backoff", "CircuitBreaker", "Fleet", "Health"),
    "mcp_json": ("McpFile", "load_mcp", "user_mcp_files"),
    "connect": ("connect_to",),
    "permission": ("permission_for",),
    "paths": ("ConfigPaths",),
    "records": ("ClientSessionRecord", "Records"),
    "registry": ("Registry", "load_registry"),
    "trust": ("Trust",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AgentEntry",
    "Agents",
    "Backoff",
    "CircuitBreaker",
    "ClientSessionRecord",
    "ConfigError",
    "ConfigFile",
    "ConfigPaths",
    "DownloadError",
    "Fleet",
    "FleetFailed",
    "Health",
    "McpFile",
    "Problem",
    "Records",
    "Registry",
    "RegistryError",
    "Server",
    "Trust",
    "UnknownAgent",
    "UntrustedFile",
    "add_agent",
    "connect_to",
    "find",
    "install",
    "load_agents",
    "load_mcp",
    "load_registry",
    "permission_for",
    "read_config",
    "remove_agent",
    "set_default",
    "user_mcp_files",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        message = f"module 'accord.config' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"accord.config.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
