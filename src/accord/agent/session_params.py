"""What a client may say about a session that it opens: its directories and its MCP servers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from accord.errors import InvalidParams
from accord.protocol.model import Unknown
from accord.session.capability import AgentCapabilities
from accord.session.client_requests import McpServer

__all__ = ["check_path", "check_session_params", "same_directory"]


class SessionParams(Protocol):
    """What every way of opening a session says about its place."""

    @property
    def cwd(self) -> str: ...
    @property
    def roots(self) -> list[str]: ...
    @property
    def servers(self) -> list[McpServer | Unknown]: ...


def check_session_params(request: SessionParams, served: AgentCapabilities) -> tuple[list[str], list[McpServer]]:
    """The roots and the servers of a session.

    Raises:
        InvalidParams: A root is relative, or a server is one that this agent cannot reach.
    """
    check_path(request.cwd, "cwd")
    for place, root in enumerate(request.roots):
        check_path(root, f"additionalDirectories.{place}")
    servers: list[McpServer] = []
    for place, server in enumerate(request.servers):
        if isinstance(server, Unknown) or server.type not in served.mcp:
            # What we know by this name and did not hear as such, the edition has no words for.
            known = served.mcp - {server.tag} if isinstance(server, Unknown) else served.mcp
            expected = f"one of {', '.join(sorted(known))}"
            raise InvalidParams(
                "This agent cannot reach such an MCP server",
                {"field": f"mcpServers.{place}.type", "expected": expected},
            )
        servers.append(server)
    return [request.cwd, *request.roots], servers


def check_path(path: str, field: str) -> None:
    """Refuse a path that is not absolute, by the name of its field."""
    if not Path(path).is_absolute() or "\0" in path:
        raise InvalidParams("The path must be absolute", {"field": field, "expected": "an absolute path"})


def same_directory(one: str, other: str) -> bool:
    """Whether two paths are the same but for dots and slashes."""
    return os.path.normpath(one) == os.path.normpath(other)
