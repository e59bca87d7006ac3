"""How records and events stand in the rows of a database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from accord.stores.interface import SessionRecord

__all__ = ["COLUMNS", "as_record", "as_stored", "event_rows"]

# A group of events that is larger becomes several rows: whoever reads a few events should not load them all.
_MAX_ROW_BYTES = 256 * 1024

COLUMNS = "id, cwd, roots, title, created_at, updated_at, events"


def event_rows(texts: list[bytes]) -> Iterator[list[bytes]]:
    """The events of one group, cut into rows."""
    row: list[bytes] = []
    size = 0
    for text in texts:
        row.append(text)
        size += len(text)
        if size >= _MAX_ROW_BYTES:
            yield row
            row, size = [], 0
    if row:
        yield row


def as_stored(text: str) -> str | bytes:
    """How SQLite is told a text: as bytes where UTF-8 has no words for it.

    That is half an emoji in a title, or a path that is no UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def as_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def as_record(row: Sequence[Any]) -> SessionRecord:
    """The record that stands in the `COLUMNS` of a row."""
    session_id, cwd, roots, title, created_at, updated_at, events = row
    return SessionRecord(
        id=as_text(session_id),
        cwd=as_text(cwd),
        created_at=created_at,
        updated_at=updated_at,
        title=None if title is None else as_text(title),
        roots=tuple(json.loads(roots)),
        events=events,
    )
