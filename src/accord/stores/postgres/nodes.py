"""Nodes, the processes of a fleet, and the statements about them: their leases, and the sessions that they own.

Leases are on the clock of the database. One that has ended can never be renewed, so "dead" is final. A claim locks the
row of the owner's node before it looks at the lease: a renewal that is just being committed is waited for and seen.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from accord.stores.postgres.encoding import escaped
from accord.stores.postgres.failures import name_taken
from accord.stores.postgres.schema import lock_number

if TYPE_CHECKING:
    from accord.stores.postgres.connection import PostgresConnection

__all__ = ["Fence", "NodeRecord", "NodeTable"]

# A node whose connection was cut makes a new one within this time; a dead one does not.
HINT_SECONDS = 0.1
# The rows of dead nodes are kept for a while, for inspection.
_KEEP_DEAD = "interval '1 hour'"

# A primary that was promoted goes on in a timeline of its own: the first part of the names of its log files.
_TIMELINE = "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)"

_COLUMNS = (
    "n.incarnation, n.name, n.address, n.version, extract(epoch from n.started_at)::float8, "
    "extract(epoch from n.until)::float8, n.draining, extract(epoch from n.until - clock_timestamp())::float8"
)


class NodeRecord(msgspec.Struct, frozen=True):
    """One incarnation of a node: a process that holds a lease, and the sessions that it owns.

    Times are seconds since 1970 by the clock of the database. `is_live` says whether the lease lasted when this was
    read. An incarnation whose lease has ended never lives again: its process takes a new one.
    """

    incarnation: str
    name: str
    address: str = ""
    version: str = ""
    started_at: float = 0.0
    until: float = 0.0
    draining: bool = False
    left_seconds: float = 0.0
    """The rest of its lease when this was read."""
    is_live: bool = True
    sessions: int = 0
    """The sessions that it owns; counted by `PostgresStore.counts` and 0 elsewhere."""
    is_gone: bool = False
    """Whether its process seems to be gone although its lease lasts; found by `PostgresStore.counts`."""


class Fence(NamedTuple):
    """The right to write to a session: the incarnation and the epoch of the claim; no epoch without a claim."""

    incarnation: str = ""
    epoch: int | None = None


class OwnedBy(Exception):
    """Another incarnation whose lease lasts owns the session."""

    def __init__(self, session_id: str, incarnation: str) -> None:
        super().__init__(incarnation)
        self.session_id = session_id
        self.incarnation = incarnation


class StaleLease(Exception):
    """The lease of this process is over."""


class StaleClaim(Exception):
    """The claim of this process on a session is over: another may own it."""

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id


class NodeTable:
    """The statements for one PostgreSQL schema."""

    def __init__(self, schema: str) -> None:
        self._schema = schema

    # --- leases

    def join(
        self, connection: PostgresConnection, record: NodeRecord, lock: int, seconds: float, previous: str = ""
    ) -> None:
        """Register a new incarnation with a lease, behind a previous one of the same process.

        Raises:
            StoreError: `name_taken`: another incarnation of the name is alive.
        """
        incarnation = record.incarnation
        self.end(connection, previous)
        while True:
            with connection.transaction():
                # Of two processes that join with one name at the same time the second sees the first.
                connection.rows("select pg_advisory_xact_lock(%s)", [lock_number(f"{self._schema} node {record.name}")])
                sql = f"select incarnation from {self._schema}.nodes where name = %s and until > clock_timestamp()"
                others = [row[0] for row in connection.rows(sql, [record.name]) if row[0] != incarnation]
                if not others:
                    self._insert(connection, record, lock, seconds)
                    return
            for other in others:
                if not self.end_if_dead(connection, other):
                    raise name_taken(record.name)

    def _insert(self, connection: PostgresConnection, record: NodeRecord, lock: int, seconds: float) -> None:
        schema = self._schema
        connection.rows(f"delete from {schema}.nodes where until < clock_timestamp() - {_KEEP_DEAD}")
        connection.rows(
            f"insert into {schema}.nodes "
            "(incarnation, name, address, version, lock, lease_seconds, until, draining, timeline) "
            f"values (%s, %s, %s, %s, %s, %s, clock_timestamp() + make_interval(secs => %s), %s, {_TIMELINE}) "
            f"on conflict (incarnation) do update set lock = greatest({schema}.nodes.lock, excluded.lock)",
            [record.incarnation, record.name, record.address, record.version, lock, seconds, seconds, record.draining],
        )

    def renew(self, connection: PostgresConnection, incarnation: str, seconds: float) -> bool:
        """Lengthen a lease; False where it is over, which is final."""
        sql = (
            f"update {self._schema}.nodes set until = clock_timestamp() + make_interval(secs => %s), "
            f"timeline = {_TIMELINE} where incarnation = %s and until > clock_timestamp() returning 1"
        )
        return connection.row(sql, [seconds, incarnation]) is not None

    def set_lock(self, connection: PostgresConnection, incarnation: str, lock: int) -> None:
        """Raise the number of the advisory lock, which the connection holds already; a late lower one does nothing."""
        sql = f"update {self._schema}.nodes set lock = greatest(lock, %s) where incarnation = %s"
        connection.rows(sql, [lock, incarnation])

    def end(self, connection: PostgresConnection, incarnation: str) -> None:
        """End a lease now."""
        ended = "set until = clock_timestamp() where incarnation = %s and until > clock_timestamp()"
        connection.rows(f"update {self._schema}.nodes {ended}", [incarnation])

    def set_draining(self, connection: PostgresConnection, incarnation: str) -> None:
        connection.rows(f"update {self._schema}.nodes set draining = true where incarnation = %s", [incarnation])

    def ask_to_drain(self, connection: PostgresConnection, name: str) -> bool:
        """Ask the live node of a name to drain; whether there is one."""
        sql = f"update {self._schema}.nodes set draining = true where name = %s and until > clock_timestamp()"
        return bool(connection.rows(f"{sql} returning 1", [name]))

    def end_if_dead(self, connection: PostgresConnection, incarnation: str) -> bool:
        """Whether the process of an incarnation is gone, by the hint of its advisory lock; if so its lease ends now.

        The hint may be wrong, when a living process has lost its connection alone: then that process loses its lease,
        and its statements are fenced like those of any other whose lease is over.
        """
        if not self._seems_dead(connection, incarnation):
            return False
        time.sleep(HINT_SECONDS)
        if not self._seems_dead(connection, incarnation):
            return False
        self.end(connection, incarnation)
        return True

    def _seems_dead(self, connection: PostgresConnection, incarnation: str) -> bool:
        # After a restart of the server, or the promotion of another one, a lock is missing until its node has come back
        # and renewed its lease. Code of an earlier version does not write the timeline.
        sql = f"""select not exists (
                select from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
                where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
                  and (l.classid::bigint << 32 | l.objid::bigint) = n.lock
            ) and n.until - make_interval(secs => n.lease_seconds) > pg_postmaster_start_time()
            and coalesce(n.timeline = {_TIMELINE}, true)
            from {self._schema}.nodes n where n.incarnation = %s and n.until > clock_timestamp()"""
        row = connection.row(sql, [incarnation])
        return row is None or bool(row[0])

    # --- owners

    def lock_session(
        self, connection: PostgresConnection, session_id: str, columns: str, fence: Fence
    ) -> tuple[Any, ...] | None:
        """Lock the row of a session for this transaction and return its columns, if the fence lets this process write.

        None where there is no such session. The lock is the fence: a claim of another process waits for its end.

        Raises:
            OwnedBy: Another process owns it.
            StaleClaim: The claim of this process is over.
        """
        schema = self._schema
        sql = f"select owner, epoch, number, {columns} from {schema}.sessions where id = %s for update"
        row = connection.row(sql, [escaped(session_id)])
        if row is None:
            return None
        owner, epoch, number, *rest = row
        if fence.epoch is not None:
            if owner != fence.incarnation or epoch != fence.epoch or not self.lasts(connection, owner):
                raise StaleClaim(session_id)
        elif owner is not None:
            if self.lasts(connection, owner):
                raise OwnedBy(session_id, owner)
            connection.rows(f"update {schema}.sessions set owner = null, epoch = epoch + 1 where number = %s", [number])
        return (number, *rest)

    def require(self, connection: PostgresConnection, incarnation: str) -> None:
        """Raise `StaleLease` where the lease of this process is over."""
        if not self.lasts(connection, incarnation):
            raise StaleLease

    def lasts(self, connection: PostgresConnection, incarnation: str) -> bool:
        """Whether a lease lasts; behind a renewal that is being committed, and before the next one."""
        sql = f"select until > clock_timestamp() from {self._schema}.nodes where incarnation = %s for share"
        row = connection.row(sql, [incarnation])
        return row is not None and bool(row[0])

    def claim(self, connection: PostgresConnection, session_id: str, fence: Fence) -> int | None:
        """Make an incarnation the owner; returns the epoch, a new one unless it is that of the fence.

        None: there is no such session. An incarnation that owns it with an epoch that it does not use any more gets a
        new one too: statements of the old one may still be on their way.

        Raises:
            OwnedBy: Another process owns it.
            StaleLease: The lease of the incarnation is over.
        """
        with connection.transaction():
            sql = f"select owner, epoch, number from {self._schema}.sessions where id = %s for update"
            row = connection.row(sql, [escaped(session_id)])
            if row is None:
                return None
            owner, epoch, number = row
            incarnation = fence.incarnation
            self.require(connection, incarnation)
            if (owner, epoch) == fence:
                return int(epoch)
            if owner not in {None, incarnation} and self.lasts(connection, owner):
                raise OwnedBy(session_id, owner)
            sql = f"update {self._schema}.sessions set epoch = epoch + 1, owner = %s where number = %s returning epoch"
            claimed = connection.rows(sql, [incarnation, number])
        return int(claimed[0][0])

    def release(self, connection: PostgresConnection, session_id: str, fence: Fence) -> None:
        sql = f"update {self._schema}.sessions set owner = null where id = %s and owner = %s and epoch = %s"
        connection.rows(sql, [escaped(session_id), fence.incarnation, fence.epoch])

    def release_all(self, connection: PostgresConnection, incarnation: str) -> None:
        connection.rows(f"update {self._schema}.sessions set owner = null where owner = %s", [incarnation])

    # --- reading

    def owner_of(self, connection: PostgresConnection, session_id: str) -> NodeRecord | None:
        sql = (
            f"select {_COLUMNS} from {self._schema}.sessions s join {self._schema}.nodes n on n.incarnation = s.owner "
            "where s.id = %s and n.until > clock_timestamp()"
        )
        row = connection.row(sql, [escaped(session_id)])
        return None if row is None else NodeRecord(*row)

    def epoch_of(self, connection: PostgresConnection, session_id: str, incarnation: str) -> int:
        sql = f"select epoch - (coalesce(owner, %s) <> %s)::int from {self._schema}.sessions where id = %s"
        row = connection.row(sql, [incarnation, incarnation, escaped(session_id)])
        return 0 if row is None else int(row[0])

    def end_of(self, connection: PostgresConnection, session_id: str, epoch: int) -> int:
        sql = (
            f"select e.last from {self._schema}.events e join {self._schema}.sessions s on s.number = e.session "
            "where s.id = %s and e.epoch <= %s order by e.last desc limit 1"
        )
        row = connection.row(sql, [escaped(session_id), epoch])
        return 0 if row is None else int(row[0])

    def live(self, connection: PostgresConnection) -> list[NodeRecord]:
        sql = f"select {_COLUMNS} from {self._schema}.nodes n where n.until > clock_timestamp() order by n.name"
        return [NodeRecord(*row) for row in connection.rows(sql)]

    def counted(self, connection: PostgresConnection) -> list[NodeRecord]:
        sql = (
            f"select {_COLUMNS}, true, (select count(*) from {self._schema}.sessions s where s.owner = n.incarnation) "
            f"from {self._schema}.nodes n where n.until > clock_timestamp() order by n.name"
        )
        nodes = [NodeRecord(*row) for row in connection.rows(sql)]
        return [msgspec.structs.replace(node, is_gone=self._seems_dead(connection, node.incarnation)) for node in nodes]
