"""JSON Patch: the operations of RFC 6902, and patches that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from accord.adapters.ag_ui_messages import PatchFailed, patched
from tests.tables import rows


@rows(
    ("document", "operation", "expected"),
    [
        ({}, {"op": "add", "path": "/a", "value": 1}, {"a": 1}),
        ([1, 3], {"op": "add", "path": "/1", "value": 2}, [1, 2, 3]),
        ([1], {"op": "add", "path": "/-", "value": 2}, [1, 2]),
        ([1], {"op": "add", "path": "/1", "value": 2}, [1, 2]),
        ({"a": 1}, {"op": "replace", "path": "/a", "value": None}, {"a": None}),
        ({"a": 1}, {"op": "replace", "path": "", "value": [2]}, [2]),
        ({"a": {"b": 1}, "c": 2}, {"op": "remove", "path": "/a/b"}, {"a": {}, "c": 2}),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/b"}, {"b": 1}),
        ({"a": [1]}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": [1], "b": [1]}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 1}, {"a": 1}),
        ({"a/b": {"m~n": 1}}, {"op": "replace", "path": "/a~1b/m~0n", "value": 2}, {"a/b": {"m~n": 2}}),
    ],
)
def test_an_operation_changes_a_copy(document: Any, operation: dict[str, Any], expected: Any) -> None:
    before = repr(document)
    assert patched(document, [operation]) == expected
    assert repr(document) == before


@rows(
    "operation",
    [
        {"op": "remove", "path": "/b"},
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "add", "path": "/list/2", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "remove", "path": "/list/-1"},
        {"op": "add", "path": "/a/b/c", "value": 1},
        {"op": "test", "path": "/a", "value": 2},
        {"op": "add", "path": "a", "value": 1},
        {"op": "unknown", "path": "/a"},
        {"path": "/a"},
    ],
)
def test_a_patch_that_does_not_fit_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(PatchFailed):
        patched({"a": 1, "list": [1]}, [operation])
