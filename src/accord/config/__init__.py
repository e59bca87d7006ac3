"""The configuration of agents: `acp.json`, the catalogue, the registry, trusted files, records of sessions.

The wire is not known here. Every module is imported when it is first used: looking up a name imports neither a database
nor a network client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy import lazy_exports

if TYPE_CHECKING:
    from accord.config.acp_json import (
        ConfigFile as ConfigFile,
        Server as Server,
        read_config as read_config,
    )
    from accord.config.agents import (
        Agents as Agents,
        find as find,
        load_agents as load_agents,
    )
    from accord.config.binary import (
        install as install,
    )
    from accord.config.connect import (
        connect_to as connect_to,
    )
    from accord.config.edit import (
        add_agent as add_agent,
        remove_agent as remove_agent,
        set_default as set_default,
    )
    from accord.config.entry import (
        AgentEntry as AgentEntry,
    )
    from accord.config.errors import (
        ConfigError as ConfigError,
        DownloadError as DownloadError,
        FleetFailed as FleetFailed,
        NotInstalled as NotInstalled,
        Problem as Problem,
        RegistryError as RegistryError,
        UnknownAgent as UnknownAgent,
        UntrustedFile as UntrustedFile,
    )
    from accord.config.fleet import (
        Backoff as Backoff,
        CircuitBreaker as CircuitBreaker,
        Fleet as Fleet,
        Health as Health,
    )
    from accord.config.mcp_json import (
        McpFile as McpFile,
        load_mcp as load_mcp,
        user_mcp_files as user_mcp_files,
    )
    from accord.config.paths import (
        ConfigPaths as ConfigPaths,
    )
    from accord.config.permission import (
        permission_for as permission_for,
    )
    from accord.config.records import (
        ClientSessionRecord as ClientSessionRecord,
        Records as Records,
    )
    from accord.config.registry import (
        Registry as Registry,
        load_registry as load_registry,
    )
    from accord.config.trust import (
        Trust as Trust,
    )

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "accord.config.acp_json": "ConfigFile Server read_config",
            "accord.config.agents": "Agents find load_agents",
            "accord.config.binary": "install",
            "accord.config.connect": "connect_to",
            "accord.config.edit": "add_agent remove_agent set_default",
            "accord.config.entry": "AgentEntry",
            "accord.config.errors": (
                "ConfigError DownloadError FleetFailed NotInstalled Problem RegistryError UnknownAgent UntrustedFile"
            ),
            "accord.config.fleet": "Backoff CircuitBreaker Fleet Health",
            "accord.config.mcp_json": "McpFile load_mcp user_mcp_files",
            "accord.config.paths": "ConfigPaths",
            "accord.config.permission": "permission_for",
            "accord.config.records": "ClientSessionRecord Records",
            "accord.config.registry": "Registry load_registry",
            "accord.config.trust": "Trust",
        },
    )
