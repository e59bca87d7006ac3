"""Serving an agent over the network: an ASGI application with WebSocket and streamable HTTP, and who may connect.

`Agent.asgi` makes the application of an `accord.Agent`; `program_application` that of any program that speaks ACP on
stdio. What is below a connection's messages is in docs/remote-wire.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from accord.errors import LocalProtocolError
from accord.serve.access import AccessCheck
from accord.serve.application import AgentApplication
from accord.serve.connections import Connections
from accord.serve.limits import HostLimits
from accord.serve.metrics import Metrics
from accord.serve.options import HostOptions, OnDisconnect
from accord.serve.principal import Authenticate, Credentials, Principal, anyone
from accord.serve.session_owners import SessionOwners
from accord.serve.tokens import TokenFile, one_token
from accord.serve.upstream import AgentUpstream, ProgramUpstream, RecordedUpstream, ServedAgent, Upstream
from accord.trace.connection_trace import ConnectionTrace

__all__ = [
    "AgentApplication",
    "Authenticate",
    "Credentials",
    "HostLimits",
    "HostOptions",
    "OnDisconnect",
    "Principal",
    "ServedAgent",
    "TokenFile",
    "anyone",
    "application",
    "one_token",
    "program_application",
]


def application(agent: ServedAgent, **options: object) -> AgentApplication:
    """The application of an agent in this process; `Agent.asgi` calls it. `options` are those of `HostOptions`.

    Raises:
        LocalProtocolError: Nothing says who may connect.
    """
    given = _options(options)
    upstream = AgentUpstream(
        agent, keeps_turns=given.on_disconnect != "cancel", detached_seconds=given.limits.detached_seconds
    )
    return _application(upstream, given)


def program_application(
    argv: Sequence[str], *, env: Mapping[str, str | None] | None = None, **options: object
) -> AgentApplication:
    """The application of a program that speaks ACP on stdio: one process for each connection, in its principal's root.

    `env` changes the environment of the program; `options` are those of `HostOptions`. A connection that lost its
    client is kept for the grace; within it a new connection of the same principal takes its process over.

    Raises:
        LocalProtocolError: Nothing says who may connect.
    """
    return _application(ProgramUpstream(argv, env), _options(options))


def _options(options: dict[str, object]) -> HostOptions:
    if options.get("authenticate") is None:
        raise LocalProtocolError(
            "say who may connect: authenticate=TokenFile(path), a function, or anyone",
            field="authenticate",
            expected="a function that finds the principal of a request",
        )
    return HostOptions(**cast("dict[str, Any]", options))


def _application(upstream: Upstream, options: HostOptions) -> AgentApplication:
    if options.trace is not None:
        trace = ConnectionTrace(options.trace)
        trace.open()
        upstream = RecordedUpstream(upstream, trace)
    access, metrics = AccessCheck(options.authenticate, options.hosts, options.origins), Metrics()
    owners = None
    if not options.shared_sessions:
        owners = SessionOwners(None if options.owners is None else Path(options.owners))
    root = Path.cwd() if options.root is None else Path(options.root)
    connections = Connections(upstream, access, metrics, owners, root, options)
    return AgentApplication(connections, access, metrics)
