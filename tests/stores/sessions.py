"""Records and events for the tests of this room."""

from __future__ import annotations

from accord.session.content import Text
from accord.session.event import Event, MessageChunk
from accord.stores import SessionRecord


def record(name: str = "a", time: float = 1.0, cwd: str = "/work") -> SessionRecord:
    return SessionRecord(name, cwd, time, time)


def words(count: int, start: int = 0, name: str = "word") -> list[Event]:
    return [MessageChunk("agent", Text(f"{name} {number}")) for number in range(start, start + count)]
