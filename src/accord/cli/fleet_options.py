"""The options of a fleet on the command line: its store, its secret, and the node that a server is in it.

A connection string may have a password, and the secret opens every node: both come from a file that others cannot read,
or from a variable, which is taken out of the environment so that no program started here inherits it.
"""

from __future__ import annotations

import argparse
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from accord.cli.options import Parser, seconds_of
from accord.cli.status import CommandFailure, Status, UsageFailure
from accord.errors import LocalProtocolError, StoreError

if TYPE_CHECKING:
    from accord.stores import NodeRecord, PostgresStore

__all__ = [
    "SECRET_VARIABLE",
    "STORE_VARIABLE",
    "add_node_options",
    "add_secret_option",
    "add_store_option",
    "ask_to_move",
    "fleet_secret",
    "node_store",
    "store_failure",
    "store_of",
]

STORE_VARIABLE = "ACCORD_STORE"
DIRECT_VARIABLE = "ACCORD_STORE_DIRECT"
MOVE_SECONDS = 10.0
SECRET_VARIABLE = "ACCORD_FLEET_SECRET"  # noqa: S105 - the name of a variable
_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - recognised, not bound


def add_store_option(parser: Parser) -> None:
    parser.add_argument(
        "--store-file",
        metavar="FILE",
        help=f"a file with the connection string of PostgreSQL; or put that into {STORE_VARIABLE}",
    )


def add_secret_option(parser: Parser) -> None:
    parser.add_argument(
        "--fleet-secret-file",
        metavar="FILE",
        help=f"a file with the secret of all nodes; or put that into {SECRET_VARIABLE}",
    )


def add_node_options(parser: Parser) -> None:
    add_store_option(parser)
    parser.add_argument(
        "--direct-store-file",
        metavar="FILE",
        help=f"the same for the server behind a transaction pooler; or put that into {DIRECT_VARIABLE}",
    )
    parser.add_argument("--node", metavar="NAME", help="the name of this server in a fleet")
    parser.add_argument(
        "--node-address", metavar="URL", help="where the other nodes reach it; http://HOST:PORT unless given"
    )
    add_secret_option(parser)
    parser.add_argument(
        "--lease", type=seconds_of, metavar="S", help="seconds until a dead node's sessions are free; 10 unless given"
    )
    parser.add_argument(
        "--patience",
        type=seconds_of,
        metavar="S",
        help="seconds that a commit waits for the database; as many as --lease unless given",
    )


def store_of(options: argparse.Namespace) -> str:
    """The connection string of the store; "" if none was given."""
    return _secret(options.store_file, "--store-file", STORE_VARIABLE)


def fleet_secret(options: argparse.Namespace) -> str:
    """The secret of the fleet; "" if none was given."""
    return _secret(options.fleet_secret_file, "--fleet-secret-file", SECRET_VARIABLE)


def _secret(file: str | None, option: str, variable: str) -> str:
    given = os.environ.pop(variable, "")
    if file is None:
        return given.strip()
    try:
        with Path(file).open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            text = opened.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageFailure(f"{option} {file}: {getattr(error, 'strerror', None) or 'it is no text'}") from error
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise UsageFailure(f"{option} {file}: other users can read it", advice=f"Do this first: chmod 600 {file}")
    if not text:
        raise UsageFailure(f"{option} {file}: the file is empty")
    return text


def node_store(options: argparse.Namespace) -> PostgresStore | None:
    """The store of a server; None if none was given.

    Raises:
        UsageFailure: Options that need one were given without it, or do not go together.
    """
    conninfo = store_of(options)
    direct = _secret(options.direct_store_file, "--direct-store-file", DIRECT_VARIABLE)
    if not conninfo:
        for given, name in (
            (options.node, "--node"),
            (options.node_address, "--node-address"),
            (options.lease, "--lease"),
            (options.patience, "--patience"),
            (options.direct_store_file, "--direct-store-file"),
            (options.fleet_secret_file, "--fleet-secret-file"),
        ):
            if given is not None:
                advice = f"Give --store-file FILE, or put the connection string into {STORE_VARIABLE}"
                raise UsageFailure(f"{name} is for a server of a fleet, which needs a store", advice=advice)
        return None
    from accord.serve.fleet import check_address, check_node_name  # noqa: PLC0415 - only here
    from accord.stores import PostgresStore  # noqa: PLC0415 - only here

    name = f"single-{os.getpid()}" if options.node is None else options.node
    if options.node and options.node_address is None and options.host in _ANY_ADDRESS:
        raise UsageFailure(f"the other nodes cannot reach {options.host}: give --node-address http://HOST:PORT")
    try:
        check_node_name(name)
        if options.node_address is not None:
            check_address(options.node_address)
    except LocalProtocolError as error:
        raise UsageFailure(str(error)) from error
    times = {"lease_seconds": options.lease, "patience_seconds": options.patience}
    given_times = {name: seconds for name, seconds in times.items() if seconds is not None}
    address = (options.node_address or "").rstrip("/")
    return PostgresStore(conninfo, node=name, address=address, direct=direct or None, **given_times)


def ask_to_move(owner: NodeRecord, secret: str, session_id: str, node: str) -> None:
    """Ask the node that owns a session to hand it over to another one, when its turn is over."""
    import urllib.request  # noqa: PLC0415 - only here
    from http import HTTPStatus  # noqa: PLC0415 - only here

    from accord.serve.fleet_pass import FORWARD_HEADER, NOT_TRUSTED, FleetPass, PassSigner  # noqa: PLC0415 - only here

    try:
        given = PassSigner(secret).sign(FleetPass("accord fleet", owner.name, owner.incarnation, ""))
    except LocalProtocolError as error:
        raise UsageFailure(str(error)) from error
    body = json.dumps({"sessionId": session_id, "node": node}).encode()
    request = urllib.request.Request(f"{owner.address}/move", body, {FORWARD_HEADER: given}, method="POST")  # noqa: S310 - http or https, see `check_address`
    try:
        # No proxy: it is the address by which the nodes reach each other.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(request, timeout=MOVE_SECONDS).close()
    except OSError as error:
        why = NOT_TRUSTED if getattr(error, "code", 0) == HTTPStatus.UNAUTHORIZED else error
        message = f"node {owner.name} cannot be asked at {owner.address}: {why}"
        raise CommandFailure(Status.FAILED, "session", message) from error


def store_failure(error: StoreError, phase: str = "start") -> CommandFailure:
    """The end of a command whose database cannot be used."""
    return CommandFailure(Status.FAILED, phase, str(error))
