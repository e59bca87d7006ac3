"""Serving an agent over the network: an ASGI application with WebSocket and streamable HTTP, and its access control.

`Agent.asgi` makes the application of an `accord.Agent`; `program_application` that of any program that speaks ACP on
stdio. docs/remote-wire.md describes the wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from accord.errors import LocalProtocolError
from accord.serve.access import AccessCheck
from accord.serve.application import AgentApplication
from accord.serve.connections import Connections
from accord.serve.fleet import FleetStore, ServerFleet
from accord.serve.metrics import Metrics
from accord.serve.options import HostLimits, HostOptions, OnDisconnect
from accord.serve.principals import Authenticate, Credentials, Principal, TokenFile, anyone, one_token
from accord.serve.session_rules import SessionOwners
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
        LocalProtocolError: `authenticate` is missing, or there is a secret of a fleet and no store for one.
    """
    given = _options(options)
    store = getattr(agent, "store", None)
    fleet = ServerFleet(store, given.fleet_secret) if isinstance(store, FleetStore) else None
    if fleet is None and given.fleet_secret:
        raise LocalProtocolError(
            "a fleet needs a store that its nodes share: give the agent a PostgresStore",
            field="fleet_secret",
            expected="an agent with a PostgresStore",
        )
    upstream = AgentUpstream(
        agent,
        keeps_turns=given.on_disconnect != "cancel",
        detached_seconds=given.limits.detached_seconds,
        fleet=fleet,
        has_principals=fleet is not None and not given.shared_sessions,
        max_bytes=given.limits.body_bytes,
    )
    return _application(upstream, given, fleet)


def program_application(
    argv: Sequence[str], *, env: Mapping[str, str | None] | None = None, **options: object
) -> AgentApplication:
    """The application of a program that speaks ACP on stdio: one process for each connection, in its principal's root.

    `env` changes the environment of the program; `options` are those of `HostOptions`. A connection that lost its
    client is kept for the grace; within it a new connection of the same principal takes its process over.

    Raises:
        LocalProtocolError: `authenticate` is missing.
    """
    given = _options(options)
    if given.fleet_secret:
        raise LocalProtocolError(
            "a program keeps its sessions itself, so it cannot be served by a fleet",
            field="fleet_secret",
            expected="an accord.Agent",
        )
    return _application(ProgramUpstream(argv, env), given)


def _options(options: dict[str, object]) -> HostOptions:
    if options.get("authenticate") is None:
        raise LocalProtocolError(
            "say who may connect: authenticate=TokenFile(path), a function, or anyone",
            field="authenticate",
            expected="a function that finds the principal of a request",
        )
    return HostOptions(**cast("dict[str, Any]", options))


def _application(upstream: Upstream, options: HostOptions, fleet: ServerFleet | None = None) -> AgentApplication:
    if options.trace is not None:
        trace = ConnectionTrace(options.trace)
        trace.open()
        upstream = RecordedUpstream(upstream, trace)
    read_pass = None if fleet is None else fleet.read_pass
    access = AccessCheck(options.authenticate, options.hosts, options.origins, read_pass)
    metrics = Metrics(node="" if fleet is None else fleet.name)
    owners = None
    # In a fleet the store has the principals, and the agent looks there.
    if not options.shared_sessions and fleet is None:
        owners = SessionOwners(None if options.owners is None else Path(options.owners))
    root = Path.cwd() if options.root is None else Path(options.root)
    connections = Connections(upstream, access, metrics, owners, root, options, fleet)
    return AgentApplication(connections, access, metrics)
