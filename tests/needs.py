"""What some tests need and a machine may not have: of all that need a missing thing one is left, and is skipped.

`needs(is_there, what)` is the mark for it, of a test or of a row. A fixture that needs something is in `_FIXTURES`:
whoever uses it, needs it too.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

__all__ = ["is_of_typescript", "leave_one_of_those_in_want", "needs_package", "needs_pyright", "needs_typescript"]

PEERS = Path(__file__).parents[1] / ".peers"
SCHEMAS = "the official schemas are missing: set ACCORD_SCHEMAS to a folder with v1/schema.json and the others"
PYRIGHT = "pyright is missing: install node and npm, then run scripts/peers"
TYPESCRIPT = "the official TypeScript SDK is missing: install node and npm, then run scripts/peers"


def _typescript() -> str | None:
    is_there = shutil.which("node") is not None and (PEERS / "ts" / "node_modules").exists()
    return None if is_there else TYPESCRIPT


def _python(name: str) -> Callable[[], str | None]:
    is_there = (PEERS / name / "bin" / "python").exists()
    return lambda: None if is_there else f"the official Python SDK in .peers/{name} is missing: run scripts/peers"


_FIXTURES: dict[str, Callable[[], str | None]] = {
    "schemas": lambda: None if os.environ.get("ACCORD_SCHEMAS") else SCHEMAS,
    "typescript_peer": _typescript,
    "python_peer_v1": _python("py-v1"),
    "python_peer_v2": _python("py-v2"),
    "oldest_python_peer": _python("py-oldest"),
}


def needs_typescript() -> pytest.MarkDecorator:
    """The mark of a row whose fixture asks for the TypeScript SDK only when it runs."""
    return pytest.mark.needs(_typescript() is None, TYPESCRIPT)


def needs_pyright() -> pytest.MarkDecorator:
    """The mark of a test that runs pyright, which scripts/peers installs beside the TypeScript SDK."""
    is_there = shutil.which("node") is not None and (PEERS / "ts/node_modules/.bin/pyright").exists()
    return pytest.mark.needs(is_there, PYRIGHT)


def is_of_typescript(item: pytest.Item) -> bool:
    """Whether a test needs the TypeScript SDK, be it there or not."""
    marks = item.iter_markers("needs")
    return "typescript_peer" in getattr(item, "fixturenames", ()) or any(mark.args[1] == TYPESCRIPT for mark in marks)


def needs_package(name: str, how: str) -> pytest.MarkDecorator:
    """The mark of a test whose programs import a package: `importorskip` would import it here, too."""
    return pytest.mark.needs(importlib.util.find_spec(name) is not None, how)


def leave_one_of_those_in_want(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of the tests that need the same missing thing, skip one; returns the others, which are left out.

    They are marked with what they want, so that the last lines of the run count them (`tests/untested.py`).
    """
    in_want: dict[str, list[pytest.Item]] = {}
    for item in items:
        for reason in _wants(item):
            in_want.setdefault(reason, []).append(item)
            break
    left_out: list[pytest.Item] = []
    for reason, (first, *others) in in_want.items():
        first.add_marker(pytest.mark.skip(reason=reason))
        for item in others:
            item.add_marker(pytest.mark.in_want(reason))
        left_out += others
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]
    return left_out


def _wants(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("needs"):
        is_there, what = mark.args
        if not is_there:
            yield what
    for name in getattr(item, "fixturenames", ()):
        reason = _FIXTURES[name]() if name in _FIXTURES else None
        if reason is not None:
            yield reason
