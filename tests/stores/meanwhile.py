"""Another process that makes a database in the middle of our first look at it: here a thread of its own."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def meanwhile(sql: str, act: Callable[[], object]) -> Iterator[None]:
    """While the first connection that is opened is about to run `sql` for the first time, somebody else acts.

    If they have to wait for us, they are not waited for before the end.
    """
    other = threading.Thread(target=act)
    connect = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *more: Any) -> sqlite3.Cursor:
            if statement == sql and other.ident is None:
                other.start()
                other.join(0.5)
            return super().execute(statement, *more)

    def connect_first(*arguments: Any, **options: Any) -> sqlite3.Connection:
        patch.undo()
        return connect(*arguments, factory=Watched, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_first)
        yield
    assert other.ident is not None, f"nobody ran {sql}"
    other.join(10)
    assert not other.is_alive()
