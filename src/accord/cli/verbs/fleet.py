"""`accord fleet`: the nodes of a fleet and their sessions, as its database knows them."""

from __future__ import annotations

import argparse
import asyncio
import functools
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.cli.fleet_options import STORE_VARIABLE, add_store_option, store_failure, store_of
from accord.cli.options import Parser, count_of, named_action
from accord.cli.show.line import ago, table_lines
from accord.cli.show.screen import Progress, put, put_json, stdout_screen
from accord.cli.status import CommandFailure, Status, UsageFailure, remark
from accord.display import exact, filled, own
from accord.errors import StoreError

if TYPE_CHECKING:
    from accord.stores import NodeRecord, PostgresStore
    from accord.stores.interface import SessionRecord

USAGE = """accord fleet ls [--json]
       accord fleet sessions [--search TEXT] [--principal NAME] [--limit N] [--json]
       accord fleet drain NODE
       accord fleet export FILE
       accord fleet import FILE [--principal NAME]"""
EXAMPLES = """\
  accord fleet ls --store-file store.conninfo
  accord fleet sessions --search "failing test" --principal ada
  accord fleet drain node-2
  accord fleet export sessions.db

The database is that of --store-file, or of ACCORD_STORE. `drain` asks a node to end: it takes no new connections, lets
open turns come to their end, and hands its sessions over. FILE is a session database in SQLite.
"""
# So many sessions that were copied in the middle of a turn are named.
_NAMED = 5
NODE_HEADS = (own("node"), own("sessions"), own("state"), own("lease"), own("version"), own("started"), own("address"))
SESSION_HEADS = (own("session"), own("principal"), own("node"), own("used"), own("events"), own("title"))


def _parser() -> Parser:
    parser = Parser("fleet", USAGE, "The nodes of a fleet, and their sessions.", EXAMPLES)
    names = functools.partial(named_action, "fleet", known=sorted(_ACTIONS))
    parser.add_argument("action", type=names, metavar="VERB", help=", ".join(sorted(_ACTIONS)))
    parser.add_argument("name", nargs="?", metavar="NODE|FILE", help="of drain, export and import")
    add_store_option(parser)
    parser.add_argument("--search", metavar="TEXT", help="sessions whose title or messages have these words")
    parser.add_argument("--principal", metavar="NAME", help="only its sessions; import: it gets the sessions")
    parser.add_argument("--limit", type=count_of, default=50, metavar="N", help="at most this many; 50 unless given")
    parser.add_argument("--json", action="store_true", help="one JSON value")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    needs_name = options.action in {"drain", "export", "import"}
    if needs_name != (options.name is not None):
        what = "name one node" if options.action == "drain" else "name one file"
        raise UsageFailure(what if needs_name else f"{options.action} takes no name")
    if options.action == "import" and not Path(options.name).is_file():
        raise UsageFailure(f"{options.name}: there is no such file")
    conninfo = store_of(options)
    if not conninfo:
        advice = f"Give --store-file FILE, or put the connection string into {STORE_VARIABLE}"
        raise UsageFailure("the database of the fleet is not named", advice=advice)
    try:
        return asyncio.run(_with_store(conninfo, options))
    except StoreError as error:
        raise store_failure(error) from error


async def _with_store(conninfo: str, options: argparse.Namespace) -> int:
    from accord.stores import PostgresStore  # noqa: PLC0415 - only here

    store = PostgresStore(conninfo)
    try:
        return await _ACTIONS[options.action](store, options)
    finally:
        await store.close()


async def _nodes(store: PostgresStore, options: argparse.Namespace) -> int:
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
                own("draining" if node.draining else "ready"),
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
    return Status.DONE


def _node_value(node: NodeRecord) -> dict[str, Any]:
    return {
        "node": node.name,
        "address": node.address,
        "version": node.version,
        "sessions": node.sessions,
        "draining": node.draining,
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
    "sessions": _sessions,
}
