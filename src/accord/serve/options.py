"""The options of a served agent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from accord.serve.limits import HostLimits
from accord.serve.principal import Authenticate
from accord.trace import TraceWriter

__all__ = ["LOOPBACK_HOSTS", "HostOptions", "OnDisconnect"]

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")

OnDisconnect: TypeAlias = Literal["continue", "cancel"]
"""The fate of a running turn whose client is gone for longer than the grace."""


@dataclass(frozen=True, kw_only=True)
class HostOptions:
    """The options of `Agent.asgi`, of `accord.serve.application` and of `accord.serve.program_application`."""

    authenticate: Authenticate
    """Finds the principal of every request: a `TokenFile`, `one_token`, or a function of yours; `anyone` where another
    server has authenticated it already."""
    root: str | os.PathLike[str] | None = None
    """The directory that sessions must lie in, unless their principal has one of its own; None is the current one."""
    hosts: Sequence[str] = LOOPBACK_HOSTS
    """The host names under which requests may come; `*` is any."""
    origins: Sequence[str] = ()
    """The origins of pages that may connect."""
    owners: str | os.PathLike[str] | None = None
    """The file that keeps which principal a session belongs to; None forgets it when the process ends. It is not used
    with a `PostgresStore`, which has the principal in the row of the session."""
    shared_sessions: bool = False
    """Whether every principal may open every session."""
    fleet_secret: str = field(default="", repr=False)
    """The secret that all nodes of a fleet share; needed where the agent's store is a `PostgresStore` that other nodes
    use too, so that requests can be forwarded among them."""
    stdio_mcp: bool = False
    """Whether clients may name MCP servers that are started on this machine."""
    on_disconnect: OnDisconnect | None = None
    """The fate of a running turn whose client does not come back; None: an agent in this process goes on, a
    program is ended."""
    trace: str | os.PathLike[str] | TraceWriter | None = None
    """The file into which the wire of all connections is recorded, secrets masked: each has a number, and a note with
    the name of its principal. A `TraceWriter` records with options of its own."""
    limits: HostLimits = field(default_factory=HostLimits)
    """Numbers, sizes and times."""
