"""The options of a served agent, and its limits: numbers of connections and sessions, sizes, and times."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from accord.serve.principals import Authenticate
from accord.time_scale import scaled
from accord.trace import TraceWriter

__all__ = ["LOOPBACK_HOSTS", "HostLimits", "HostOptions", "OnDisconnect"]

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")

OnDisconnect: TypeAlias = Literal["continue", "cancel"]
"""Whether a running turn goes on or is cancelled when its client is gone for longer than the grace."""


@dataclass(frozen=True)
class HostLimits:
    """The limits of a server. A request or message beyond one is refused with a status or a code of its own."""

    connections: int = 1024
    """Connections of all principals. Further ones get 503."""
    connections_per_principal: int = 256
    """Connections of one principal. Where it has more, one that was never used makes room, or the one without a session
    whose client left first; else 503."""
    sessions_per_principal: int = 256
    """Open sessions of one principal. Further ones get the error -32029."""
    body_bytes: int = 16 * 1024 * 1024
    """The size of one message from a client. A larger body gets 413, a larger WebSocket message the close code 1009."""
    held_bytes: int = 8 * 1024 * 1024
    """Messages for one client that are not written or not acknowledged; beyond it the agent's sends wait."""
    replay_bytes: int = 1024 * 1024
    """Written messages that are kept for one client that acknowledges none, in case it comes back."""
    grace_seconds: float = scaled(60.0)
    """How long a connection without a link is kept."""
    start_seconds: float = scaled(30.0)
    """How long a new connection may take to `initialize` and to open its first stream."""
    initialize_seconds: float = scaled(60.0)
    """How long the agent may take to answer `initialize`; then 504."""
    stall_seconds: float = scaled(60.0)
    """How long a client may read nothing while messages wait for it; then its link is closed."""
    body_seconds: float = scaled(60.0)
    """How long a body may take to arrive; then 408."""
    detached_seconds: float = scaled(3600.0)
    """How long a turn may go on, and a question wait, without any client."""
    keepalive_seconds: float = scaled(15.0)
    """After so much silence a stream gets a comment."""


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
    """Whether a running turn goes on when its client does not come back; None: an agent in this process goes on, a
    program is ended."""
    trace: str | os.PathLike[str] | TraceWriter | None = None
    """The file into which the wire of all connections is recorded, secrets masked: each has a number, and a note with
    the name of its principal. A `TraceWriter` records with options of its own."""
    limits: HostLimits = field(default_factory=HostLimits)
    """Numbers, sizes and times."""
