"""`accord serve`: any agent over WebSocket and streamable HTTP, for clients with a token."""

from __future__ import annotations

import argparse
import asyncio
import errno
import ipaddress
import logging
import os
import secrets
import shlex
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from accord.adapters.import_string import ImportString, is_import_string
from accord.cli.fleet_options import SECRET_VARIABLE, add_node_options, fleet_secret, node_store, store_failure
from accord.cli.options import Parser, add_log_option, count_of, log_writer, seconds_of, split_command
from accord.cli.show.screen import put
from accord.cli.status import LINE, CommandFailure, SafeFormatter, Status, UsageFailure, remark, show_line
from accord.cli.target import approve, target_of
from accord.cli.terminal import Questions, UserTerminal, is_interactive
from accord.display import exact, filled, own
from accord.errors import LocalProtocolError, StoreError
from accord.version import install_line

if TYPE_CHECKING:
    from accord.serve import AgentApplication, Authenticate, HostLimits
    from accord.stores import PostgresStore

USAGE = """accord serve AGENT [options]
       accord serve [options] -- COMMAND...
       accord serve AGENT --store-file FILE --node NAME [--node-address URL] [--fleet-secret-file FILE] [options]
       accord serve --token-file FILE --add-token NAME [--expires DAYS] [--token-root DIR]"""
EXAMPLES = """\
  accord serve demo
  accord serve my_agent:agent --port 8765 --root ~/projects
  accord serve --token-file tokens.json --add-token ada --expires 90
  accord serve --host 0.0.0.0 --token-file tokens.json --tls-cert cert.pem --tls-key key.pem -- gemini --acp

AGENT is a name (see: accord agents), MODULE:ATTRIBUTE of an agent, or a program behind `--`: then each
connection has a process of its own. Without --token-file there is one token: that of ACCORD_SERVE_TOKEN, or a new one,
which is printed once. Clients connect to ws://HOST:PORT/acp or http://HOST:PORT/acp. Servers with one
store are a fleet: any of them takes any client (docs/fleet.md).
"""
BRIEF = ("--host", "--port", "--root", "--token-file", "--add-token", "--tls-cert", "--tls-key")
DEFAULT_PORT = 8765
DAY_SECONDS = 24 * 3600.0
# The files of a server beside the sockets of its clients: those of its libraries, its store and its sessions.
OTHER_FILES = 256
TOKEN_VARIABLE = "ACCORD_SERVE_TOKEN"  # noqa: S105 - the name of a variable


class _NoSecrets(argparse.Action):
    """Refuses a secret on the command line, where every user of the machine can read it."""

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        advice = (
            f"Put it into {TOKEN_VARIABLE}, or its hash into a file: accord serve --token-file FILE --add-token NAME"
        )
        raise UsageFailure("a token on the command line can be read by every user of this machine", advice=advice)


def _parser() -> Parser:
    parser = Parser("serve", USAGE, "Serve an agent over WebSocket and streamable HTTP.", EXAMPLES, BRIEF)
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="a name, or MODULE:ATTRIBUTE")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on; 127.0.0.1 unless given")
    parser.add_argument("--port", type=count_of, default=DEFAULT_PORT, help="0 takes any free port; 8765 unless given")
    parser.add_argument("--token-file", metavar="FILE", help="hashed tokens with their principals")
    parser.add_argument("--add-token", metavar="NAME", help="add a token for NAME to the file, print it once, and end")
    parser.add_argument("--expires", type=count_of, metavar="DAYS", help="the lifetime of the added token")
    parser.add_argument("--token-root", metavar="DIR", help="the root of the added token's principal")
    parser.add_argument("--token", action=_NoSecrets, help=argparse.SUPPRESS)
    parser.add_argument("--tls-cert", metavar="FILE", help="the certificate chain, PEM")
    parser.add_argument("--tls-key", metavar="FILE", help="its key, PEM; not readable by others")
    parser.add_argument("--behind-proxy", action="store_true", help="listen without TLS: a reverse proxy has it")
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="a further name of this host")
    parser.add_argument("--allow-origin", action="append", default=[], metavar="ORIGIN", help="pages that may connect")
    parser.add_argument("--root", metavar="DIR", help="the root of all sessions; the current directory unless given")
    parser.add_argument("--allow-stdio-mcp", action="store_true", help="clients may start MCP servers on this machine")
    parser.add_argument("--max-connections", type=count_of, metavar="N", help="of all principals; 1024 unless given")
    parser.add_argument(
        "--max-sessions", type=count_of, metavar="N", help="open sessions of one principal; 256 unless given"
    )
    parser.add_argument(
        "--grace", type=seconds_of, metavar="S", help="seconds that a lost connection is kept; 60 unless given"
    )
    parser.add_argument(
        "--on-disconnect", choices=("continue", "cancel"), help="of a turn whose client does not come back"
    )
    parser.add_argument(
        "--drain", type=seconds_of, metavar="S", help="seconds for open requests after SIGTERM; 30 unless given"
    )
    add_node_options(parser)
    parser.add_argument("--quiet", action="store_true", help="no access log")
    add_log_option(parser, "the wire of all connections")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Serve until a signal comes."""
    before, command = split_command(arguments)
    options = _parser().read(before)
    _need_extra()
    if options.add_token is not None:
        return _add_token(options)
    if (options.agent is None) == (command is None):
        raise UsageFailure("name one agent, or a command behind --", advice="Try: accord serve demo")
    _check_address(options)
    store = _store(options, command)
    authenticate, token = _access(options)
    limits = _limits(options)
    application = _application(options, command, authenticate, limits, store)
    _direct_log(quiet=options.quiet)
    _serve(options, application, limits, store, token)
    remark(own("the server has ended"))
    return Status.DONE


def _need_extra() -> None:
    try:
        import_module("accord.serve.runner")
    except ModuleNotFoundError as error:
        message = f"accord serve needs a package that is not installed ({error.name})"
        raise UsageFailure(message, advice=f"Type {install_line('serve')}") from error


def _serve(
    options: argparse.Namespace,
    application: AgentApplication,
    limits: HostLimits,
    store: PostgresStore | None,
    token: str,
) -> None:
    from accord.serve.runner import Listener, run_server  # noqa: PLC0415 - brings a server along

    scheme = "s" if options.tls_cert else ""
    if store is not None:
        application.on_closed(store.close)

    def show_addresses(host: str, port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        remark(filled("serving at ws{}://{}:{}/acp and http{}://{}:{}/acp", scheme, shown, port, scheme, shown, port))
        if token:
            remark(filled("the token, which is shown only now: {}", exact(token)))
            root, url = shlex.quote(str(Path(options.root or ".").resolve())), f"ws{scheme}://{shown}:{port}/acp"
            remark(own("to talk to it, in another terminal:"))
            show_line(filled('cd {} && ACCORD_TOKEN={} accord run {} "hello"', exact(root), exact(token), url))

    listener = Listener(
        options.host, options.port, options.tls_cert, options.tls_key, options.drain or Listener.drain_seconds
    )

    def bound(host: str, port: int) -> None:
        if store is not None and not store.address:
            store.address = f"http{scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    try:
        run_server(application, listener, limits, show_addresses, bound)
    except (StoreError, LocalProtocolError, OSError) as error:
        raise _start_failure(options, error) from error


def _start_failure(options: argparse.Namespace, error: Exception) -> CommandFailure:
    if isinstance(error, StoreError):
        return store_failure(error)
    if isinstance(error, OSError):
        message = f"{options.host}:{options.port}: {error.strerror or error}"
        advice = "Name another port with --port" if error.errno == errno.EADDRINUSE else ""
        return CommandFailure(Status.FAILED, "start", message, advice=advice)
    return UsageFailure(str(error))


def _add_token(options: argparse.Namespace) -> int:
    from accord.serve import TokenFile  # noqa: PLC0415 - only here

    if options.token_file is None:
        raise UsageFailure("--add-token needs --token-file")
    expires_at = None if options.expires is None else time.time() + options.expires * DAY_SECONDS
    root = None if options.token_root is None else str(Path(options.token_root).resolve())
    try:
        token = TokenFile.add(options.token_file, options.add_token, expires_at=expires_at, root=root)
    except LocalProtocolError as error:
        raise UsageFailure(str(error)) from error
    remark(own("the token is shown only now; the file has its hash"))
    put(exact(token))
    return Status.DONE


def _check_address(options: argparse.Namespace) -> None:
    """Refuse an address beyond this machine without TLS, or without a token that was made for it."""
    if bool(options.tls_cert) != bool(options.tls_key):
        raise UsageFailure("--tls-cert and --tls-key go together")
    if _is_loopback(options.host):
        return
    if not options.tls_cert and not options.behind_proxy:
        advice = "Give --tls-cert and --tls-key, or --behind-proxy if a reverse proxy has the TLS"
        raise UsageFailure(f"other machines can reach {options.host}: tokens would be sent unencrypted", advice=advice)
    if not options.token_file and not os.environ.get(TOKEN_VARIABLE):
        advice = "Make one: accord serve --token-file FILE --add-token NAME"
        raise UsageFailure(f"other machines can reach {options.host}: it needs a token file", advice=advice)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _access(options: argparse.Namespace) -> tuple[Authenticate, str]:
    """The check of credentials, and the token to be shown if it was made just now."""
    from accord.serve import TokenFile, one_token  # noqa: PLC0415 - only here

    if options.token_file:
        try:
            return TokenFile(options.token_file), ""
        except LocalProtocolError as error:
            raise UsageFailure(str(error)) from error
    given = os.environ.pop(TOKEN_VARIABLE, "")  # taken out: agents that are started here do not inherit it
    token = given or secrets.token_urlsafe(32)
    return one_token(token), "" if given else token


def _limits(options: argparse.Namespace) -> HostLimits:
    from dataclasses import replace  # noqa: PLC0415 - only here

    from accord.serve import HostLimits  # noqa: PLC0415 - only here

    changes: dict[str, Any] = {}
    if options.max_connections is not None:
        changes["connections"] = options.max_connections
        changes["connections_per_principal"] = options.max_connections
    if options.max_sessions is not None:
        changes["sessions_per_principal"] = options.max_sessions
    if options.grace is not None:
        changes["grace_seconds"] = options.grace
    limits = replace(HostLimits(), **changes)
    if options.max_connections is not None or options.node:
        _check_files(limits.connections)
    return limits


def _check_files(connections: int) -> None:
    """Say so where the system lets this process have fewer sockets than connections."""
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return
    allowed, needed = resource.getrlimit(resource.RLIMIT_NOFILE)[0], connections + OTHER_FILES
    if allowed not in {resource.RLIM_INFINITY, -1} and allowed < needed:
        advice = own("raise that limit (ulimit -n, LimitNOFILE)")
        remark(
            filled("this process may open {} files, {} connections need {}: {}", allowed, connections, needed, advice)
        )


def _store(options: argparse.Namespace, command: Sequence[str] | None) -> PostgresStore | None:
    """The store of a fleet, which only an agent in this process can use."""
    store = node_store(options)
    if store is not None and (command is not None or not is_import_string(options.agent or "")):
        advice = "Serve an accord.Agent, by MODULE:ATTRIBUTE"
        raise UsageFailure(
            "a program keeps its sessions itself: a store is for an agent in this process", advice=advice
        )
    return store


def _application(
    options: argparse.Namespace,
    command: Sequence[str] | None,
    authenticate: Authenticate,
    limits: HostLimits,
    store: PostgresStore | None,
) -> AgentApplication:
    from accord.serve import application, program_application  # noqa: PLC0415 - only here
    from accord.serve.options import LOOPBACK_HOSTS  # noqa: PLC0415 - only here

    common: dict[str, Any] = {
        "authenticate": authenticate,
        "root": options.root,
        "hosts": [*LOOPBACK_HOSTS, options.host, *options.allow_host],
        "origins": options.allow_origin,
        # One token is one user: all sessions of this machine's agent are that user's.
        "shared_sessions": options.token_file is None,
        "stdio_mcp": options.allow_stdio_mcp,
        "limits": limits,
    }
    if options.log is not None:
        common["trace"] = log_writer(options.log, command or ())
    if options.root is not None and not Path(options.root).is_dir():
        raise UsageFailure(f"--root {options.root}: there is no such directory")
    if options.on_disconnect:
        common["on_disconnect"] = options.on_disconnect
    if options.agent is not None and is_import_string(options.agent):
        agent = _imported(options.agent)
        if store is None:
            return application(agent, owners=_owners(options, agent.name), **common)
        return _fleet_application(options, agent, store, common)
    questions = Questions(UserTerminal(), lambda _: False) if is_interactive() else None
    target = target_of(options.agent, command)
    target = asyncio.run(approve(target, trust=False, yes=None if questions is None else questions.yes))
    owners = _owners(options, target.entry.name)
    return program_application(target.entry.argv, env=target.entry.env, owners=owners, **common)


def _fleet_application(
    options: argparse.Namespace, agent: Any, store: PostgresStore, common: dict[str, Any]
) -> AgentApplication:
    from accord.serve import application  # noqa: PLC0415 - only here

    if not callable(getattr(agent, "use_store", None)):
        raise UsageFailure(f"{options.agent} is no accord.Agent")
    secret = fleet_secret(options)
    if options.node and not secret:
        advice = f"Give --fleet-secret-file FILE, or put the secret into {SECRET_VARIABLE}: openssl rand -hex 32"
        raise UsageFailure("the nodes of a fleet need a secret, by which they forward requests", advice=advice)
    agent.use_store(store)
    try:
        return application(agent, fleet_secret=secret, **common)
    except LocalProtocolError as error:
        raise UsageFailure(str(error)) from error


def _owners(options: argparse.Namespace, name: str) -> Path | None:
    """The file that keeps the principal of each session."""
    if options.token_file is None:
        return None
    from accord.stores import default_path  # noqa: PLC0415 - only here

    return default_path(name).with_name("session-owners.jsonl")


def _imported(text: str) -> Any:
    """The agent of MODULE:ATTRIBUTE; one of a framework is served by its adapter."""
    from accord.adapters.failures import recognised  # noqa: PLC0415 - not for a program
    from accord.adapters.late_agent import refusal_of, served_object  # noqa: PLC0415 - as above

    try:
        string = ImportString.parse(text)
        found = string.load()
        return found if callable(getattr(found, "serve", None)) else served_object(found, string)
    except Exception as error:
        known = refusal_of(error) or recognised(error)
        if known is None and not isinstance(error, ImportError | AttributeError | ValueError | LocalProtocolError):
            raise
        raise UsageFailure(f"{text}: {known or error}") from error


def _direct_log(*, quiet: bool) -> None:
    """The log of the server on stderr, also without `ACCORD_LOG`."""
    if os.environ.get("ACCORD_LOG"):
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(SafeFormatter(LINE))
    for name, level in (
        ("accord.serve", logging.WARNING if quiet else logging.INFO),
        ("uvicorn.error", logging.WARNING),
    ):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
