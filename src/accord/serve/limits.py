"""The limits of a server: numbers of connections and sessions, sizes, and times."""

from __future__ import annotations

from dataclasses import dataclass

from accord.time_scale import scaled

__all__ = ["HostLimits"]


@dataclass(frozen=True)
class HostLimits:
    """The limits of a server. What is over one is refused with a status or a code that says so."""

    connections: int = 1024
    """Connections of all principals. Further ones get 503."""
    connections_per_principal: int = 256
    """Connections of one principal. Where it has more, its oldest one that was never used makes room; else 503."""
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
    """How long a reader may take none of what waits for it; then its link is closed."""
    body_seconds: float = scaled(60.0)
    """How long a body may take to arrive; then 408."""
    detached_seconds: float = scaled(3600.0)
    """How long a turn may go on, and a question wait, without any client."""
    keepalive_seconds: float = scaled(15.0)
    """After so much silence a stream gets a comment."""
