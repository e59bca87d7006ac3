"""Agents that are wrong about the MCP servers of a session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from accord.transport.interpreter import own_command
from tests.check.faults.change import ends, refuses, skips, takes
from tests.check.faults.fault import JUNE, V1, V2, full, plain
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_PARAMS

__all__: list[str] = []


def _has_server(**fields: Any) -> Any:
    """Whether one of the servers in the params has these fields."""
    return lambda _, params: any(
        all(server.get(key) == value for key, value in fields.items())
        for server in params.get("mcpServers") or []
        if isinstance(server, dict)
    )


def _passes_over(is_so: Any) -> Any:
    """Servers of some transports are not looked at."""
    return takes(
        lambda params: {"mcpServers": [each for each in params.get("mcpServers") or [] if not is_so(each["type"])]}
    )


def _is_missing(_: Any, __: Any, servers: list[Any]) -> bool:
    return any("accord-check-missing" in str(server.get("command")) for server in servers)


plain("ACCORD-MCP-001", V1 + JUNE, "NoServers")(connect=refuses(INTERNAL_ERROR, lambda _, __, servers: servers))
plain("ACCORD-MCP-002", V1, "IgnoresServersUnasked", note="never greeted")(connect=skips())
plain("ACCORD-MCP-002", JUNE, "IgnoresServers")(connect=skips())
plain("ACCORD-MCP-003", V1 + JUNE, "DiesOfMissingServers")(connect=ends(_is_missing))
plain("ACP-MCP-201", JUNE, "ServersMustRunSomething", note="-32602")(
    servers_of=refuses(INVALID_PARAMS, _has_server(args=list(own_command(Path(os.devnull))[1:])))
)
full("ACP-MCP-202", JUNE, "NoServersOverHttp", note="-32602")(
    servers_of=refuses(INVALID_PARAMS, _has_server(type="http"))
)
full("ACP-MCP-201", V2, "RefusesServersOnStdio", note="-32099")(
    check_servers=refuses(-32099, _has_server(type="stdio"))
)
full("ACP-MCP-202", V2, "RefusesServersOverHttp", note="-32099")(
    check_servers=refuses(-32099, _has_server(type="http"))
)
plain("ACCORD-MCP-201", V2, "AcceptsPigeons")(check_servers=_passes_over(lambda kind: kind.startswith("_")))
plain("ACCORD-MCP-202", V2, "AcceptsEveryTransport")(check_servers=_passes_over(lambda kind: kind in {"stdio", "http"}))
