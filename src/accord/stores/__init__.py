"""Stores, which keep sessions: their records, event logs and authors' state, in memory, SQLite or PostgreSQL.

The wire is not known here. Each store is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy import lazy_exports
from accord.stores.interface import (
    SessionPage as SessionPage,
    SessionRecord as SessionRecord,
    Store as Store,
    is_draft as is_draft,
)

if TYPE_CHECKING:
    from accord.stores.check import (
        StoreCheckFailed as StoreCheckFailed,
        check_store as check_store,
    )
    from accord.stores.folder import (
        default_path as default_path,
    )
    from accord.stores.memory import (
        MemoryStore as MemoryStore,
    )
    from accord.stores.postgres.nodes import (
        NodeRecord as NodeRecord,
    )
    from accord.stores.postgres.store import (
        PostgresStore as PostgresStore,
    )
    from accord.stores.sqlite import (
        SqliteStore as SqliteStore,
    )
    from accord.stores.transfer import (
        copy_sessions as copy_sessions,
    )

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "accord.stores.check": "StoreCheckFailed check_store",
            "accord.stores.folder": "default_path",
            "accord.stores.memory": "MemoryStore",
            "accord.stores.postgres.nodes": "NodeRecord",
            "accord.stores.postgres.store": "PostgresStore",
            "accord.stores.sqlite": "SqliteStore",
            "accord.stores.transfer": "copy_sessions",
        },
        eager=("SessionPage", "SessionRecord", "Store", "is_draft"),
    )
