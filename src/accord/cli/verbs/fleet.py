"""`accord fleet`: the nodes of a fleet and their sessions, as its database knows them."""

from __future__ import annotations

import argparse
import asyncio
import functools
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from accord.cli.fleet_options import (
    SECRET_VARIABLE,
    STORE_VARIABLE,
    add_secret_option,
    add_store_option,
    ask_to_move,
    fleet_secret,
    store_failure,
    store_of,
)
from accord.cli.options import Parser, count_of, named_action
from accord.cli.show.line import ago, table_lines
from accord.cli.show.screen import Progress, put, put_json, stdout_screen
from accord.cli.status import CommandFailure, Status, UsageFailure, remark
from accord.display import exact, filled, own
from accord.errors import StoreError

if TYPE_CHECKING:
    from accord.stores import NodeRecord, PostgresStore
    from accord.stores.interface import SessionRecord

USAGE = """accord fleet ls [--watch] [--json]
       accord fleet sessions [--search TEXT] [--principal NAME] [--limit N] [--json]
       accord fleet drain NODE
       accord fleet move SESSION NODE [--fleet-secret-file FILE]
       accord fleet export FILE
       accord fleet import FILE [--principal NAME]"""
EXAMPLES = """\
  accord fleet ls --store-file store.conninfo
  accord fleet sessions --search "failing test" --principal ada
  accord fleet drain node-2
  accord fleet move session-6f1c node-2 --fleet-secret-file fleet.secret
  accord fleet export sessions.db

The database is that of --store-file, or of ACCORD_STORE. `drain` asks a node to end: it takes no new connections, lets
open turns come to their end, and hands its sessions over. `move` hands one session over, when its turn is over, and
waits for that; its clients follow. FILE is a session database in SQLite.
"""
# So many sessions that were copied in the middle of a turn are named.
_NAMED = 5
WATCH_SECONDS = 1.0
MOVE_POLL_SECONDS = 0.2
MOVE_SECONDS = 10.0
_NAMES = {
    "drain": "one node",
    "export": "one file",
    "import": "one file",
    "move": "one session and the node that is to have it",
}
NODE_HEADS = (own("node"), own("sessions"), own("state"), own("lease"), own("version"), own("started"), own("address"))
SESSION_HEADS = (own("session"), own("principal"), own("node"), own("used"), own("events"), own("title"))


def _parser() -> Parser:
    parser = Parser("fleet", USAGE, "The nodes of a fleet, and their sessions.", EXAMPLES)
    names = functools.partial(named_action, "fleet", known=sorted(_ACTIONS))
    parser.add_argument("action", type=names, metavar="VERB", help=", ".join(sorted(_ACTIONS)))
    parser.add_argument("name", nargs="?", metavar="NODE|FILE|SESSION", help="of drain, export, import and move")
    parser.add_argument("node", nargs="?", metavar="NODE", help="of move: the node that is to have the session")
    add_store_option(parser)
    add_secret_option(parser)
    parser.add_argument("--search", metavar="TEXT", help="sessions whose title or messages have these words")
    parser.add_argument("--principal", metavar="NAME", help="only its sessions; import: it gets the sessions")
    parser.add_argument("--limit", type=count_of, default=50, metavar="N", help="at most this many; 50 unless given")
    parser.add_argument("--watch", action="store_true", help="ls: again every second, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="one JSON value; one per line with --watch")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    needed = _NAMES.get(options.action)
    if (needed is not None) != (options.name is not None) or (options.action == "move") != (options.node is not None):
        raise UsageFailure(f"name {needed}" if needed else f"{options.action} takes no name")
    if options.action == "import" and not Path(options.name).is_file():
        raise UsageFailure(f"{options.name}: there is no such file")
    conninfo = store_of(options)
    if not conninfo:
        advice = f"Give --store-file FILE, or put the connection string into {STORE_VARIABLE}"
        raise UsageFailure("the database of the fleet is not named", advice=advice)
    try:
        return asyncio.run(_with_store(conninfo, options))
    except StoreError as error:
        raise store_failure(error, "session") from error


async def _with_store(conninfo: str, options: argparse.Namespace) -> int:
    from accord.stores import PostgresStore  # noqa: PLC0415 - only here

    store = PostgresStore(conninfo)
    try:
        return await _ACTIONS[options.action](store, options)
    finally:
        await store.close()


async def _nodes(store: PostgresStore, options: argparse.Namespace) -> int:
    while True:
        await _show_nodes(store, options)
        if not options.watch:
            return Status.DONE
        await asyncio.sleep(WATCH_SECONDS)


async def _show_nodes(store: PostgresStore, options: argparse.Namespace) -> None:
    now, nodes = time.time(), await store.counts()
    if options.json:
        put_json([_node_value(node) for node in nodes])
    elif not nodes:
        put(own("there are no nodes"))
    else:
        cells = [
            [
                exact(node.name),
                filled("{}", node.sessions),
                exact(_state_of(node)),
                # By the clock of the database: that of this machine may differ.
                filled("{:.1f} s", max(node.left_seconds, 0.0)),
                exact(node.version),
                ago(node.started_at, now),
                exact(node.address),
            ]
            for node in nodes
        ]
        screen = stdout_screen(Progress(sys.stderr, shown=False))
        screen.lines(table_lines(NODE_HEADS, cells))
        screen.flush()


def _state_of(node: NodeRecord) -> Literal["draining", "gone", "ready"]:
    return "gone" if node.is_gone else "draining" if node.draining else "ready"


def _node_value(node: NodeRecord) -> dict[str, Any]:
    return {
        "node": node.name,
        "address": node.address,
        "version": node.version,
        "sessions": node.sessions,
        "draining": node.draining,
        "state": _state_of(node),
        "startedAt": node.started_at,
        "leaseUntil": node.until,
        "incarnation": node.incarnation,
    }


async def _sessions(store: PostgresStore, options: argparse.Namespace) -> int:
    records = await _found(store, options)
    owners = {record.id: await store.owner_of(record.id) for record in records}
    if options.json:
        put_json([_session_value(record, owners[record.id]) for record in records])
    elif not records:
        put(own("there are no sessions"))
    else:
        now = time.time()
        cells = [
            [
                exact(record.id),
                exact(record.principal),
                exact("" if (owner := owners[record.id]) is None else owner.name),
                ago(record.updated_at, now),
                filled("{}", record.events),
                exact(record.title or ""),
            ]
            for record in records
        ]
        screen = stdout_screen(Progress(sys.stderr, shown=False))
        screen.lines(table_lines(SESSION_HEADS, cells))
        screen.flush()
    return Status.DONE


async def _found(store: PostgresStore, options: argparse.Namespace) -> list[SessionRecord]:
    records: list[SessionRecord] = []
    cursor: str | None = None
    while len(records) < options.limit:
        limit = min(options.limit - len(records), 50)
        if options.search:
            page = await store.search_sessions(options.search, principal=options.principal, cursor=cursor, limit=limit)
        else:
            page = await store.list_sessions(principal=options.principal, cursor=cursor, limit=limit)
        records += page.records
        for each in page.left_out:
            remark(filled("left out, as its record is damaged: {}", each))
        cursor = page.next_cursor
        if cursor is None:
            break
    return records


def _session_value(record: SessionRecord, owner: NodeRecord | None) -> dict[str, Any]:
    return {
        "sessionId": record.id,
        "principal": record.principal,
        "node": None if owner is None else owner.name,
        "cwd": record.cwd,
        "title": record.title,
        "events": record.events,
        "createdAt": record.created_at,
        "updatedAt": record.updated_at,
    }


async def _drain(store: PostgresStore, options: argparse.Namespace) -> int:
    if not await store.ask_to_drain(options.name):
        names = ", ".join(node.name for node in await store.nodes()) or "none"
        raise CommandFailure(Status.FAILED, "session", f"there is no node {options.name}; there are: {names}")
    put(filled("{} was asked to drain; see: accord fleet ls", exact(options.name)))
    return Status.DONE


async def _move(store: PostgresStore, options: argparse.Namespace) -> int:
    session_id, wanted = options.name, options.node
    secret = fleet_secret(options)
    if not secret:
        raise UsageFailure("a move needs the secret of the fleet", advice=f"Give it with {SECRET_VARIABLE}")
    nodes = {node.name: node for node in await store.nodes()}
    if wanted not in nodes or nodes[wanted].draining:
        raise CommandFailure(Status.FAILED, "session", f"there is no node {wanted} that takes sessions")
    if await store.get(session_id) is None:
        raise CommandFailure(Status.FAILED, "session", f"there is no session {session_id}")
    progress, asked = Progress(sys.stderr, shown=True), ""
    free_until = time.monotonic() + MOVE_SECONDS
    try:
        while (owner := await store.owner_of(session_id)) is None or owner.name != wanted:
            if owner is not None and owner.incarnation != asked:
                await asyncio.to_thread(ask_to_move, owner, secret, session_id, wanted)
                asked = owner.incarnation
            if owner is not None:
                free_until = time.monotonic() + MOVE_SECONDS
            elif not asked or time.monotonic() > free_until:
                put(filled("{} is open nowhere: the node of its next client has it", exact(session_id)))
                return Status.DONE
            progress.show(filled("waiting for the end of the turn of {}", exact(session_id)))
            await asyncio.sleep(MOVE_POLL_SECONDS)
    finally:
        progress.stop()
    put(filled("{} is at {}", exact(session_id), exact(wanted)))
    return Status.DONE


async def _export(store: PostgresStore, options: argparse.Namespace) -> int:
    return await _copied(store, options, outward=True)


async def _import(store: PostgresStore, options: argparse.Namespace) -> int:
    return await _copied(store, options, outward=False)


async def _copied(store: PostgresStore, options: argparse.Namespace, *, outward: bool) -> int:
    from accord.stores import SqliteStore, copy_sessions  # noqa: PLC0415 - only here

    progress, copied = Progress(sys.stderr, shown=True), 0

    def show_session(count: int, _: str) -> None:
        nonlocal copied
        copied = count

    def show_events(done: int, count: int) -> None:
        progress.show(filled("{} sessions, and {} of {} events of the next", copied, done, count))

    cut: list[str] = []
    file = SqliteStore(options.name)
    copy = functools.partial(
        copy_sessions, progress=show_session, event_progress=show_events, extend=outward, on_cut=cut.append
    )
    try:
        if outward:
            count = await copy(store, file, principal=options.principal)
        else:
            count = await copy(file, store, target_principal=options.principal)
    finally:
        progress.stop()
        await file.close()
    put(filled("{} sessions were copied", count))
    if cut:
        some = ", ".join(cut[:_NAMED])
        remark(filled("{} of them in the middle of a turn, which the copy has in part: {}", len(cut), some))
    return Status.DONE


_ACTIONS: dict[str, Callable[[PostgresStore, argparse.Namespace], Awaitable[int]]] = {
    "drain": _drain,
    "export": _export,
    "import": _import,
    "ls": _nodes,
    "move": _move,
    "sessions": _sessions,
}
