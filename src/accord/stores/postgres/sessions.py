"""The statements about sessions: their records, states and lists."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import msgspec

from accord.protocol.model import UNSET, Maybe, Omittable
from accord.stores.errors import session_exists, unknown_session
from accord.stores.interface import IS_DRAFT, SessionPage, SessionRecord, clamped_time, is_draft
from accord.stores.postgres.encoding import escaped, unescaped
from accord.stores.postgres.nodes import Fence, NodeTable
from accord.stores.text import decode_cursor, decode_page, decode_record, encode_cursor

if TYPE_CHECKING:
    from accord.stores.postgres.connection import PostgresConnection

__all__ = ["SessionTable"]

_COLUMNS = "s.id, s.cwd, s.roots, s.title, s.created_at, s.updated_at, s.head, s.principal"
# A session whose owner is dead counts as free for pruning a while later: its lease is looked at without a lock.
_MARGIN = "interval '1 minute'"
_PRUNED_AT_ONCE = 500


class SessionTable:
    """The statements for one PostgreSQL schema."""

    def __init__(self, schema: str, nodes: NodeTable) -> None:
        self.schema = schema
        self.nodes = nodes

    def create(
        self,
        connection: PostgresConnection,
        record: SessionRecord,
        made_by: uuid.UUID,
        incarnation: str | None = None,
        source: str | None = None,
    ) -> None:
        """Keep a new session, owned by an incarnation with epoch 1 where one is given, or a copy of another one.

        `made_by` recognises a creation that is repeated because its answer was lost.
        """
        schema = self.schema
        with connection.transaction():
            head, prompted, number = 0, False, None
            if source is not None:
                sql = f"select head, prompted, number from {schema}.sessions where id = %s for share"
                found = connection.row(sql, [escaped(source)])
                if found is None:
                    raise unknown_session(source)
                head, prompted, number = found
            if incarnation is not None:
                self.nodes.require(connection, incarnation)
            values = {
                "id": escaped(record.id),
                "principal": escaped(record.principal),
                "cwd": escaped(record.cwd),
                "roots": json.dumps(record.roots),
                "title": None if record.title is None else escaped(record.title),
                "created_at": float(record.created_at),
                "updated_at": float(record.updated_at),
                "head": head,
                "epoch": 0 if incarnation is None else 1,
                "owner": incarnation,
                "prompted": prompted,
                "made_by": made_by,
            }
            names = ", ".join(values)
            places = ", ".join(f"%({name})s" for name in values)
            once = "on conflict (id) do nothing returning number"
            made = connection.row(f"insert into {schema}.sessions ({names}) values ({places}) {once}", values)
            if made is None:
                sql = f"select made_by from {schema}.sessions where id = %s"
                other = connection.row(sql, [escaped(record.id)])
                if other is not None and other[0] == made_by:
                    return
                raise session_exists(record.id)
            if number is not None:
                copied = (made[0], number)
                connection.rows(
                    f"insert into {schema}.events (session, last, count, epoch, append_id, texts) "
                    f"select %s, last, count, 0, append_id, texts from {schema}.events where session = %s",
                    copied,
                )
                connection.rows(
                    f"insert into {schema}.states select %s, state from {schema}.states where session = %s", copied
                )

    def undo_create(self, connection: PostgresConnection, session_id: str, made_by: uuid.UUID) -> None:
        """Forget a session that was just made for an owner whose lease ended meanwhile, unless another has it now."""
        with connection.transaction():
            sql = f"select number from {self.schema}.sessions where id = %s and made_by = %s and epoch = 1 for update"
            row = connection.row(sql, [escaped(session_id), made_by])
            if row is not None:
                self._erase(connection, [row[0]])

    def get(self, connection: PostgresConnection, session_id: str) -> SessionRecord | None:
        if is_draft(session_id):
            return None
        row = connection.row(f"select {_COLUMNS} from {self.schema}.sessions s where id = %s", [escaped(session_id)])
        return None if row is None else decode_record(row, unescaped)

    def state(self, connection: PostgresConnection, session_id: str) -> bytes | None:
        sql = (
            f"select state from {self.schema}.sessions s left join {self.schema}.states on session = number "
            "where s.id = %s"
        )
        row = connection.row(sql, [escaped(session_id)])
        if row is None:
            raise unknown_session(session_id)
        return None if row[0] is None else bytes(row[0])

    def patch(
        self,
        connection: PostgresConnection,
        session_id: str,
        fence: Fence,
        title: Maybe[str],
        updated_at: Omittable[float],
        state: Maybe[bytes],
    ) -> None:
        """Change the fields that are not UNSET."""
        schema = self.schema
        with connection.transaction():
            row = self.nodes.lock_session(connection, session_id, "head", fence)
            if row is None:
                raise unknown_session(session_id)
            number = row[0]
            if title is not UNSET:
                text = None if title is None else escaped(title)
                connection.rows(f"update {schema}.sessions set title = %s where number = %s", [text, number])
            if updated_at is not UNSET:
                values = [clamped_time(updated_at), number]
                connection.rows(f"update {schema}.sessions set updated_at = %s where number = %s", values)
            if state is None:
                connection.rows(f"delete from {schema}.states where session = %s", [number])
            elif state is not UNSET:
                sql = (
                    f"insert into {schema}.states values (%s, %s) on conflict (session) do update set "
                    "state = excluded.state"
                )
                connection.rows(sql, [number, state])

    def publish(self, connection: PostgresConnection, draft_id: str, session_id: str, fence: Fence) -> None:
        """Give a draft its own id, and no owner."""
        with connection.transaction():
            row = self.nodes.lock_session(connection, draft_id, "head", fence)
            # Also where the answer to an earlier try was lost.
            if connection.row(f"select 1 from {self.schema}.sessions where id = %s", [escaped(session_id)]) is not None:
                raise session_exists(session_id)
            if row is None:
                raise unknown_session(draft_id)
            sql = f"update {self.schema}.sessions set id = %s, owner = null where number = %s"
            connection.rows(sql, [escaped(session_id), row[0]])

    def delete(self, connection: PostgresConnection, session_id: str, fence: Fence) -> None:
        """Forget a session, if it is there."""
        with connection.transaction():
            row = self.nodes.lock_session(connection, session_id, "head", fence)
            if row is not None:
                self._erase(connection, [row[0]])

    def _erase(self, connection: PostgresConnection, numbers: list[int]) -> None:
        for table in ("events", "states", "words"):
            connection.rows(f"delete from {self.schema}.{table} where session = any(%s)", [numbers])
        connection.rows(f"delete from {self.schema}.sessions where number = any(%s)", [numbers])

    def prune_unprompted(self, connection: PostgresConnection, before: float) -> list[str]:
        """Delete the sessions that were never prompted, were last updated earlier, and that no process owns."""
        return self._prune(connection, f"(not s.prompted and s.updated_at < %s or {IS_DRAFT})", before)

    def prune_older(self, connection: PostgresConnection, before: float) -> list[str]:
        """Delete the sessions that were last updated earlier and that no process owns."""
        return self._prune(connection, "s.updated_at < %s", before)

    def _prune(self, connection: PostgresConnection, condition: str, before: float) -> list[str]:
        sql = (
            f"select s.number, s.id from {self.schema}.sessions s where {condition} and (s.owner is null or not exists "
            f"(select from {self.schema}.nodes n where n.incarnation = s.owner and "
            f"n.until > clock_timestamp() - {_MARGIN})) order by s.updated_at limit {_PRUNED_AT_ONCE} "
            "for update of s skip locked"
        )
        gone: list[str] = []
        while True:
            with connection.transaction():
                rows = connection.rows(sql, [before])
                self._erase(connection, [number for number, _ in rows])
            gone += [name for name in (unescaped(session_id) for _, session_id in rows) if not is_draft(name)]
            if len(rows) < _PRUNED_AT_ONCE:
                return gone

    def list_sessions(
        self,
        connection: PostgresConnection,
        cwd: str | None,
        cursor: str | None,
        limit: int,
        *,
        unprompted: bool = True,
        principal: str | None = None,
    ) -> SessionPage:
        """One page, the last updated first; without `unprompted` those that were prompted or that a process owns."""
        conditions: list[str] = []
        values: list[object] = []
        if cwd is not None:
            conditions.append("s.cwd = %s")
            values.append(escaped(cwd))
        if not unprompted:
            conditions.append(
                f"(s.prompted or exists (select from {self.schema}.nodes n where n.incarnation = s.owner and "
                "n.until > clock_timestamp()))"
            )
        return self.page(connection, conditions, values, principal, cursor, limit)

    def page(
        self,
        connection: PostgresConnection,
        conditions: list[str],
        values: list[object],
        principal: str | None,
        cursor: str | None,
        limit: int,
    ) -> SessionPage:
        """One page of the sessions `s` for which all conditions hold."""
        limit = min(max(limit, 1), 2**31)
        conditions = [f"not {IS_DRAFT}", *conditions]
        if principal is not None:
            conditions.append("s.principal = %s")
            values.append(escaped(principal))
        if cursor is not None:
            updated_at, session_id = decode_cursor(cursor)
            conditions.append('(s.updated_at, s.id) < (%s, %s collate "C")')
            values += [updated_at, escaped(session_id)]
        where = " and ".join(conditions)
        order = "order by s.updated_at desc, s.id desc"
        sql = f"select {_COLUMNS} from {self.schema}.sessions s where {where} {order} limit %s"
        rows = connection.rows(sql, [*values, limit + 1])
        page = decode_page(rows[:limit], limit, unescaped)
        last = rows[limit - 1] if len(rows) > limit else None
        return msgspec.structs.replace(page, next_cursor=last and encode_cursor(last[5], unescaped(last[0])))
