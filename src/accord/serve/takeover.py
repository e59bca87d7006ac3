"""Takeover: a new connection of a principal gets the agent of one that lost its links.

It is for programs, whose sessions live in one process for each connection. The new client opens its sessions again, as
after any reconnect; the process, its login and its running turns are still there.
"""

from __future__ import annotations

from accord.errors import InvalidRequest
from accord.serve.connections import Connections
from accord.serve.introduction import Introduction, has_fewer_capabilities
from accord.serve.principal import Credentials, Principal
from accord.serve.remote_connection import RemoteConnection

__all__ = ["take_over"]


def take_over(
    connections: Connections,
    introduction: Introduction,
    principal: Principal,
    credentials: Credentials,
    connection_id: str,
    *,
    has_session_streams: bool = False,
) -> RemoteConnection | None:
    """The connection that goes on with a kept agent; None if there is none, or it speaks another version.

    Raises:
        InvalidRequest: The agent was introduced to a client with more capabilities, and would use them.
    """
    orphan = connections.orphan(principal)
    if orphan is None:
        return None
    kept = orphan.initialize_params
    if introduction.params.get("protocolVersion") != kept.get("protocolVersion"):
        return None
    if has_fewer_capabilities(introduction.params, kept):
        message = "An agent of yours waits for a client with more capabilities"
        raise InvalidRequest(message, {"reason": "fewer_capabilities"})
    return connections.succeed(
        orphan, credentials, has_session_streams=has_session_streams, connection_id=connection_id
    )
