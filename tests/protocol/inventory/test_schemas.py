"""Our tables say what the official schemas say: nothing is forgotten, nothing invented."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protocol.inventory.lookup import SCHEMAS
from tests.protocol.inventory.schema import read_schema
from tests.protocol.inventory.table import NAMES, load


@pytest.mark.parametrize("edition", NAMES)
def test_a_table_has_every_definition_of_its_schema_and_no_other(schemas: Path, edition: str) -> None:
    theirs = read_schema(schemas / SCHEMAS[edition]).definitions
    ours = load(edition).definitions
    assert sorted(ours) == sorted(theirs)
    different = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    assert different == {}


@pytest.mark.parametrize("edition", NAMES)
def test_a_table_has_every_method_of_its_schema_and_no_other(schemas: Path, edition: str) -> None:
    theirs = read_schema(schemas / SCHEMAS[edition]).methods
    assert sorted(load(edition).methods, key=repr) == sorted(theirs, key=repr)
