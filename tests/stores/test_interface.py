"""The exports of the package, and the properties of each of its stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord import stores
from tests.tables import rows


def test_both_stores_are_stores(tmp_path: Path) -> None:
    assert isinstance(stores.MemoryStore(), stores.Store)
    assert isinstance(stores.SqliteStore(tmp_path / "x"), stores.Store)


@rows("name", stores.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(stores, name).__name__ == name


def test_no_other_name_is() -> None:
    with pytest.raises(AttributeError):
        _ = stores.nothing  # type: ignore[attr-defined]


def test_a_record_cannot_be_changed_in_place() -> None:
    record = stores.SessionRecord("a", "/work", 1.0, 1.0)
    with pytest.raises(AttributeError):
        record.title = "x"  # type: ignore[misc]
