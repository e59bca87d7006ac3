"""The PostgreSQL schema of sessions: its tables, made and brought up to date step by step.

All tables are in one PostgreSQL schema, `accord` unless set, with the number of the last step in `format`. A change of
the tables is a new step. `usable_since` is the first code that may write the tables as they are: a step that older code
cannot live with raises it, any other leaves a fleet of mixed versions at work.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accord.errors import StoreError
from accord.stores.postgres.failures import newer

if TYPE_CHECKING:
    from accord.stores.postgres.connection import PostgresConnection

__all__ = ["SCHEMA_VERSION", "check_name", "lock_number", "set_up"]

SCHEMA_VERSION = 3

_STEPS: dict[int, tuple[str, ...]] = {
    1: (
        # `until` is the end of the lease by the clock of the database; `lock` the number of its advisory lock.
        """create table {schema}.nodes (
            incarnation text primary key,
            name text not null,
            address text not null,
            version text not null,
            lock bigint not null,
            lease_seconds double precision not null,
            started_at timestamptz not null default clock_timestamp(),
            until timestamptz not null,
            draining boolean not null default false
        )""",
        "create index nodes_by_name on {schema}.nodes (name)",
        # `head` is the position of the last event. `owner` is an incarnation of a node; each new owner raises
        # `epoch`. `made_by` distinguishes a repeated creation from a second session of the id.
        """create table {schema}.sessions (
            number bigint generated always as identity primary key,
            id text collate "C" not null unique,
            principal text collate "C" not null,
            cwd text collate "C" not null,
            roots text not null,
            title text,
            created_at double precision not null,
            updated_at double precision not null,
            head bigint not null default 0,
            epoch bigint not null default 0,
            owner text,
            prompted boolean not null default false,
            made_by uuid not null
        ) with (fillfactor = 80)""",
        "create index sessions_by_time on {schema}.sessions (updated_at, id)",
        "create index sessions_by_cwd on {schema}.sessions (cwd, updated_at, id)",
        "create index sessions_by_principal on {schema}.sessions (principal, updated_at, id)",
        "create index sessions_by_owner on {schema}.sessions (owner) where owner is not null",
        "create index sessions_unprompted on {schema}.sessions (updated_at) where not prompted",
        # `texts` are the events `last - count + 1` to `last`, one per line. `epoch` is that of the owner who wrote
        # them, `append_id` the one of their commit.
        """create table {schema}.events (
            session bigint not null,
            last bigint not null,
            count integer not null,
            epoch bigint not null,
            append_id uuid not null,
            texts bytea not null,
            primary key (session, last)
        )""",
        "create table {schema}.states (session bigint primary key, state bytea not null)",
    ),
    2: (
        # `vector` has the words of the messages up to the event `last`, behind those of the row before: of so many
        # bytes of text.
        """create table {schema}.words (
            session bigint not null,
            last bigint not null,
            bytes integer not null,
            vector tsvector not null,
            primary key (session, last)
        )""",
        "create index words_by_vector on {schema}.words using gin (vector)",
    ),
    # The timeline of the primary that the lease was last renewed on: another one after a promotion.
    3: ("alter table {schema}.nodes add column timeline text",),
}

# The first code that may use the tables after each step.
_USABLE_SINCE = {1: 1, 2: 1, 3: 1}

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,30}")


def check_name(name: str) -> str:
    """The name of a PostgreSQL schema in quotes, as it may stand in a statement.

    Raises:
        ValueError: It has other characters than an ordinary name.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"schema: expected lower-case letters, digits and underscores, not {name!r}")
    return f'"{name}"'


def set_up(connection: PostgresConnection, schema: str) -> None:
    """Make the tables, or bring those of an earlier step up to this one, in one transaction.

    Raises:
        StoreError: `newer`: a later version has made them, and this one may not use them. `foreign`: they are not ours.
    """
    if _version(connection, schema) >= SCHEMA_VERSION:
        return
    with connection.transaction():
        # Of several processes that start at once one makes them, and the others find them.
        connection.rows("select pg_advisory_xact_lock(%s)", [lock_number(f"schema {schema}")])
        version = _version(connection, schema)
        if version == 0:
            connection.rows(f"create schema if not exists {schema}")
            connection.rows(f"create table {schema}.format (version integer not null, usable_since integer not null)")
            connection.rows(f"insert into {schema}.format values (0, 1)")
        for step in range(version + 1, SCHEMA_VERSION + 1):
            for sql in _STEPS[step]:
                connection.rows(sql.format(schema=schema))
            values = [step, _USABLE_SINCE[step]]
            connection.rows(f"update {schema}.format set version = %s, usable_since = %s", values)


def _version(connection: PostgresConnection, schema: str) -> int:
    """The last step of the tables as they are; 0 where there are none."""
    # From the catalogue and not by `to_regclass`, which may answer from before the wait for another process.
    sql = "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s"
    tables = {row[0] for row in connection.rows(sql, [schema.strip('"')])}
    if "format" not in tables:
        if "sessions" in tables:
            sentence = f"the schema {schema} of this database belongs to another program: give Accord one of its own"
            raise StoreError(sentence, reason="foreign")
        return 0
    found = connection.row(f"select version, usable_since from {schema}.format")
    version, usable_since = found or (0, 1)
    if usable_since > SCHEMA_VERSION:
        raise newer(version, SCHEMA_VERSION)
    return int(version)


def lock_number(text: str) -> int:
    """The number of the advisory lock for a text: the same in every process."""
    import hashlib  # noqa: PLC0415 - once per start

    digest = hashlib.sha256(f"accord {text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
