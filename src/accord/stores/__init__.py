"""Stores, which keep sessions: their records, their event logs and their authors' state, in memory or in SQLite.

It knows nothing of the wire. Each store is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from accord.stores.interface import SessionPage, SessionRecord, Store

if TYPE_CHECKING:
    from accord.stores.check import StoreCheckFailed, check_store
    from accord.stores.folder import default_path
    from accord.stores.memory import MemoryStore
    from accord.stores.sqlite import SqliteStore

__all__ = [
    "MemoryStore",
    "SessionPage",
    "SessionRecord",
    "SqliteStore",
    "Store",
    "StoreCheckFailed",
    "check_store",
    "default_path",
]

_HOMES = {
    "MemoryStore": "memory",
    "SqliteStore": "sqlite",
    "StoreCheckFailed": "check",
    "check_store": "check",
    "default_path": "folder",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
