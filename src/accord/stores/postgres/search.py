"""The text search over sessions: their titles, and the words of their messages.

Messages are indexed when a search asks for them: an append costs nothing for it, and chunks that cut a word are joined
first. A row of `words` covers about `_ROW_BYTES` of text; the last row of a session is made again until it is full.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from accord.errors import StoreError
from accord.session.content import Text
from accord.session.event import Event, MessageChanged, MessageChunk
from accord.stores.interface import SessionPage
from accord.stores.postgres.encoding import escaped
from accord.stores.postgres.sessions import SessionTable
from accord.stores.text import decode_event

if TYPE_CHECKING:
    from accord.stores.postgres.connection import PostgresConnection

__all__ = ["find", "index_some"]

_ROW_BYTES = 64 * 1024
_SESSIONS_AT_ONCE = 50
# As much of a log is read for one row at most: the rest comes with the next step.
_READ_ROWS = 200


def index_some(connection: PostgresConnection, sessions: SessionTable, principal: str | None) -> bool:
    """Index the messages of some sessions that have new ones; whether there may be more to do."""
    schema = sessions.schema
    condition = "" if principal is None else "and s.principal = %(principal)s"
    values = {"principal": None if principal is None else escaped(principal)}
    sql = f"""select s.number, coalesce(w.last, 0) from {schema}.sessions s
        left join lateral (select max(last) as last from {schema}.words where session = s.number) w on true
        where s.head > coalesce(w.last, 0) {condition} limit {_SESSIONS_AT_ONCE}"""
    rows = connection.rows(sql, values)
    for number, last in rows:
        _index(connection, schema, number, last)
    return bool(rows)


def _index(connection: PostgresConnection, schema: str, number: int, indexed: int) -> None:
    """Make the last row of a session again with the events behind it, or begin a new one behind a full row."""
    with connection.transaction():
        sql = f"select last, bytes from {schema}.words where session = %s order by last desc limit 2 for update"
        rows = connection.rows(sql, [number])
        begin = indexed
        if rows and rows[0][1] < _ROW_BYTES:
            begin = rows[1][0] if len(rows) > 1 else 0
        sql = f"select last, count, texts from {schema}.events where session = %s and last > %s order by last limit %s"
        text, size, reached = _joined(connection.rows(sql, [number, begin, _READ_ROWS]), begin, indexed)
        if reached <= indexed:
            return
        connection.rows(f"delete from {schema}.words where session = %s and last > %s", [number, begin])
        row = "(%s, %s, %s, to_tsvector('simple', %s)) on conflict (session, last) do nothing"
        sql = f"insert into {schema}.words values {row}"
        connection.rows(sql, [number, reached, size, escaped(text)])


def _joined(rows: Iterable[tuple[Any, ...]], begin: int, indexed: int) -> tuple[str, int, int]:
    """The text of the messages in these rows, its size, and the last position; beyond `indexed` in any case."""
    parts: list[str] = []
    size, reached = 0, begin
    speaker: object = None
    for last, _, texts in rows:
        for line in bytes(texts).split(b"\n"):
            event = _event(line)
            if isinstance(event, MessageChunk | MessageChanged):
                if event.speaker != speaker or isinstance(event, MessageChanged):
                    parts.append("\n")
                speaker = event.speaker
                parts += _texts(event)
                size += len(line)
        reached = last
        if size >= _ROW_BYTES and reached > indexed:
            break
    # A vector has room for a megabyte of words; of longer messages the beginning is indexed.
    return "".join(parts)[: 8 * _ROW_BYTES], size, reached


def _event(line: bytes) -> Event | None:
    try:
        return decode_event(line)
    except StoreError:
        return None


def _texts(event: MessageChunk | MessageChanged) -> list[str]:
    blocks = [event.block] if isinstance(event, MessageChunk) else event.content
    return [block.text for block in blocks or () if isinstance(block, Text)] if isinstance(blocks, list) else []


def find(
    connection: PostgresConnection,
    sessions: SessionTable,
    text: str,
    principal: str | None,
    cursor: str | None,
    limit: int,
) -> SessionPage:
    """One page of the sessions that have all the words in their title, or in one part of their messages."""
    condition = (
        "(to_tsvector('simple', coalesce(s.title, '')) @@ websearch_to_tsquery('simple', %s) or s.number in "
        f"(select w.session from {sessions.schema}.words w where w.vector @@ websearch_to_tsquery('simple', %s)))"
    )
    words = escaped(text)
    return sessions.page(connection, [condition], [words, words], principal, cursor, limit)
