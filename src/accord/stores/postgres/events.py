"""The statements about events: the append that carries the fence, and the reading of a log.

An append is one statement, and so one transaction: it locks the row of each session where the epoch is still the
caller's, counts the positions from that row, writes the events and sends one notification, which PostgreSQL delivers
when the transaction is committed. Events of one session that need several rows have a transaction of their own. A
connection that is lost before the answer leaves open whether it was: the next try locks the rows, behind the lost
transaction, looks for the append id and raises the epoch, so that the lost statement does nothing when it arrives late.
"""

from __future__ import annotations

import functools
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from accord.errors import StoreError
from accord.session.event import Event
from accord.stores.errors import in_use, not_owned, unknown_session
from accord.stores.interface import PAGE_BYTES, PAGE_EVENTS
from accord.stores.postgres.encoding import (
    FrequentStatement,
    array_of_bytes,
    array_of_numbers,
    array_of_texts,
    array_of_truths,
    escaped,
)
from accord.stores.postgres.nodes import Fence, OwnedBy, StaleClaim
from accord.stores.postgres.sessions import SessionTable
from accord.stores.rounds import QueuedEvents
from accord.stores.schema import MAX_ROW_BYTES, rows_of
from accord.stores.text import decode_event, has_prompt

if TYPE_CHECKING:
    from accord.stores.postgres.connection import PersistentConnection, PostgresConnection

__all__ = ["EventTable", "SessionAppend"]

# The notification of one statement names them all, in less than 8000 bytes.
_SESSIONS_AT_ONCE = 150
# Where the time of a batch is over, the first of its sessions still gets a try.
MIN_TRY_SECONDS = 0.25


class SessionAppend:
    """The events of one session in one batch."""

    def __init__(self, session_id: str, fence: Fence) -> None:
        self.session_id = session_id
        self.fence = fence
        self.raised: Fence | None = None
        """The fence with the epoch that a repeated try has left."""
        self.is_unsure = False
        """Whether it failed, and a statement of it may still arrive at the server."""
        self.queued: list[QueuedEvents] = []

    @functools.cached_property
    def lines(self) -> bytes:
        """The events, a line for each; of all that is queued by then."""
        return b"\n".join([queued.lines for queued in self.queued if queued.count])

    @property
    def count(self) -> int:
        return sum([queued.count for queued in self.queued])

    def settle(self, head: int) -> None:
        """Set the positions, from that of the last event."""
        for queued in reversed(self.queued):
            queued.position = head
            head -= queued.count


class EventTable:
    """The statements for one PostgreSQL schema."""

    def __init__(self, schema: str, sessions: SessionTable) -> None:
        self._schema = schema
        self._channel = schema.strip('"')
        self._sessions = sessions
        append = f"""
            with given as (
                select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::boolean[], $5::bytea[])
                    with ordinality as given(id, epoch, count, prompted, texts, place)
            ), moved as (
                update {schema}.sessions s
                set head = s.head + given.count, prompted = s.prompted or given.prompted
                from given
                where s.id = given.id and case
                    when given.epoch is null then s.owner is null
                    else s.epoch = given.epoch and s.owner = $6::text and exists (
                        select from {schema}.nodes n where n.incarnation = $6::text and n.until > clock_timestamp())
                    end
                returning s.number, s.epoch, s.head, given.count, given.texts, given.place
            ), kept as (
                insert into {schema}.events (session, last, count, epoch, append_id, texts)
                select number, head, count, epoch, $7::uuid, texts from moved where count > 0
            ), notified as (
                select pg_notify($8::text, string_agg(number || ' ' || head, ' ')) from moved having count(*) > 0
            )
            select place, head, (select count(*) from notified) from moved"""
        self._append = FrequentStatement("append", append)

    # --- appending

    def append(
        self,
        writing: PersistentConnection,
        appends: list[SessionAppend],
        is_dead: Callable[[PostgresConnection, OwnedBy], bool],
    ) -> dict[str, StoreError]:
        """Keep the events of each session, or none of them; returns the errors by session.

        `is_dead` checks whether the process of the present owner is gone.

        Raises:
            StoreError: The database failed: of this call, nothing is known to be kept.
        """
        errors: dict[str, StoreError] = {}
        for start in range(0, len(appends), _SESSIONS_AT_ONCE):
            errors |= self._append_some(writing, appends[start : start + _SESSIONS_AT_ONCE], is_dead)
        return errors

    def _append_some(
        self,
        writing: PersistentConnection,
        appends: list[SessionAppend],
        is_dead: Callable[[PostgresConnection, OwnedBy], bool],
    ) -> dict[str, StoreError]:
        append_id = uuid.uuid4()
        errors: dict[str, StoreError] = {}
        end = time.monotonic() + writing.patience_seconds
        try:
            left, repeated = writing.run(
                lambda connection, again: self._try(connection, appends, append_id, again=again)
            )
        except StoreError as error:
            for each in appends:
                each.is_unsure = writing.connection is None
            return {each.session_id: error for each in appends}
        outage: StoreError | None = None
        for append in left:

            def append_one(connection: PostgresConnection, again: bool, append: SessionAppend = append) -> None:  # noqa: FBT001
                self._append_one(connection, append, append_id, is_dead, repeated=repeated or again)

            seconds = end - time.monotonic()
            if outage is not None and seconds <= 0:
                # All of them have waited together.
                append.is_unsure, errors[append.session_id] = repeated, outage
                continue
            try:
                writing.run(append_one, patience_seconds=max(seconds, MIN_TRY_SECONDS))
            except StoreError as error:
                is_lost = writing.connection is None
                append.is_unsure, errors[append.session_id] = repeated or is_lost, error
                outage = error if is_lost else outage
        return errors

    def _try(
        self, connection: PostgresConnection, appends: list[SessionAppend], append_id: uuid.UUID, *, again: bool
    ) -> tuple[list[SessionAppend], bool]:
        """Append to all sessions whose fence holds; returns the others, and whether an earlier try may have landed."""
        if again:
            return appends, True
        together = [each for each in appends if len(each.lines) < MAX_ROW_BYTES]
        left = [each for each in appends if len(each.lines) >= MAX_ROW_BYTES]
        if not together:
            return left, False
        found = connection.rows_frequent(self._append, self._values(together, append_id))
        heads = {int(place or 0): int(head or 0) for place, head, _ in found}
        for place, each in enumerate(together, 1):
            if place in heads:
                each.settle(heads[place])
            else:
                left.append(each)
        return left, False

    def _values(self, appends: list[SessionAppend], append_id: uuid.UUID) -> list[bytes | None]:
        lines = [each.lines for each in appends]
        return [
            array_of_texts([escaped(each.session_id) for each in appends]),
            array_of_numbers([each.fence.epoch for each in appends]),
            array_of_numbers([each.count for each in appends]),
            array_of_truths(list(map(has_prompt, lines))),
            array_of_bytes(lines),
            appends[0].fence.incarnation.encode(),
            append_id.bytes,
            self._channel.encode(),
        ]

    def _append_one(
        self,
        connection: PostgresConnection,
        append: SessionAppend,
        append_id: uuid.UUID,
        is_dead: Callable[[PostgresConnection, OwnedBy], bool],
        *,
        repeated: bool,
    ) -> None:
        """Append to one session in a transaction that locks it first; finds a lost commit, or why it is refused."""
        session_id, fence = append.session_id, append.fence
        head: int | None = None
        epoch: int | None = None
        try:
            with connection.transaction():
                if repeated:
                    # Behind the lock of the lost connection: its writes are committed by now, or never will be.
                    connection.rows(
                        f"select from {self._schema}.sessions where id = %s for update", [escaped(session_id)]
                    )
                    head, epoch = self._found(connection, append, append_id)
                if head is None:
                    row = self._sessions.nodes.lock_session(connection, session_id, "head, epoch", fence)
                    if row is None:
                        raise unknown_session(session_id)
                    epoch = int(row[2]) + (repeated and fence.epoch is not None)
                    head = self._insert(connection, append, append_id, (*row[:2], epoch))
        except StaleClaim:
            raise not_owned(session_id) from None
        except OwnedBy as owned:
            if not is_dead(connection, owned):
                raise in_use(session_id) from None
            self._append_one(connection, append, append_id, is_dead, repeated=repeated)
            return
        if repeated and fence.epoch is not None:
            append.raised = Fence(fence.incarnation, epoch)
        append.settle(head)

    def _found(
        self, connection: PostgresConnection, append: SessionAppend, append_id: uuid.UUID
    ) -> tuple[int | None, int | None]:
        """The last position of an append that was committed before, if it was, and the epoch that it left."""
        sql = (
            f"select max(e.last), max(e.epoch) from {self._schema}.sessions s "
            f"join {self._schema}.events e on e.session = s.number where s.id = %s and e.append_id = %s"
        )
        row = connection.row(sql, [escaped(append.session_id), append_id])
        return (None, None) if row is None or row[0] is None else (int(row[0]), int(row[1]))

    def _insert(
        self, connection: PostgresConnection, append: SessionAppend, append_id: uuid.UUID, row: tuple[Any, ...]
    ) -> int:
        number, head, epoch = row
        lines = append.lines
        for count, texts in rows_of(lines, append.count):
            head += count
            values = [number, head, count, epoch, append_id, texts]
            connection.rows(f"insert into {self._schema}.events values (%s, %s, %s, %s, %s, %s)", values)
        sql = f"update {self._schema}.sessions set head = %s, epoch = %s, prompted = prompted or %s where number = %s"
        connection.rows(sql, [head, epoch, has_prompt(lines), number])
        connection.rows("select pg_notify(%s, %s)", [self._channel, f"{number} {head}"])
        return int(head)

    # --- reading

    def read(self, connection: PostgresConnection, session_id: str, after: int, limit: int | None) -> list[Event]:
        """The events behind a position, in order."""
        after = max(after, 0)
        through = None if limit is None else after + max(limit, 0)
        sql = f"""select s.head, e.last, e.count, e.texts from {self._schema}.sessions s
            left join {self._schema}.events e
            on e.session = s.number and e.last > %s and (%s::bigint is null or e.last - e.count < %s)
            where s.id = %s order by e.last"""
        rows = connection.rows(sql, [after, through, through, escaped(session_id)])
        lines = _lines(session_id, rows, after, through)
        head = rows[0][0]
        expected = max((head if through is None else min(head, through)) - after, 0)
        if len(lines) != expected:
            raise _damaged(session_id)
        return _decoded(session_id, lines)

    def read_page(self, connection: PostgresConnection, session_id: str, after: int) -> list[Event]:
        """The next events behind a position, up to the limits of a page."""
        after = max(after, 0)
        # The sizes first: the texts of rows beyond the page are not even read.
        sql = f"""select s.head, e.last, e.count, e.texts from {self._schema}.sessions s
            left join lateral (
                select last, count, texts from (
                    select last, count, texts,
                        sum(octet_length(texts)) over (order by last) - octet_length(texts) as before
                    from (select last, count, texts from {self._schema}.events
                          where session = s.number and last > %s order by last limit {PAGE_EVENTS}) as near
                ) as sized where before < {PAGE_BYTES}
            ) e on true
            where s.id = %s order by e.last"""
        rows = connection.rows(sql, [after, escaped(session_id)])
        lines = _lines(session_id, rows, after, after + PAGE_EVENTS)
        page: list[bytes] = []
        size = 0
        for line in lines:
            size += len(line)
            if page and size > PAGE_BYTES:
                break
            page.append(line)
        if not page and after < rows[0][0]:
            raise _damaged(session_id)
        return _decoded(session_id, page)


def _lines(session_id: str, rows: list[tuple[Any, ...]], after: int, through: int | None) -> list[bytes]:
    """The texts of the events `after + 1` to `through`."""
    if not rows:
        raise unknown_session(session_id)
    found: list[bytes] = []
    reached = after
    for _, last, count, texts in rows:
        if last is None:
            break
        start = last - count
        if through is not None and start >= through:
            break
        lines = bytes(texts).split(b"\n")
        if len(lines) != count or start > reached:
            raise _damaged(session_id)
        stop = last if through is None else min(last, through)
        found += lines[reached - start : stop - start]
        reached = last
    return found


def _decoded(session_id: str, lines: list[bytes]) -> list[Event]:
    try:
        return [decode_event(line) for line in lines]
    except StoreError as error:
        raise StoreError(str(error), reason=error.reason, session_id=session_id) from error


def _damaged(session_id: str) -> StoreError:
    sentence = (
        "the log of this session has a hole or an overlap: its rows were changed by another program; restore the "
        "database from a backup, or delete the session"
    )
    return StoreError(sentence, reason="damaged", session_id=session_id)
