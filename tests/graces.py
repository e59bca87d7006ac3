"""The setup of tests in which something never ends by itself."""

from __future__ import annotations

from typing import Any

import pytest

from accord.connection import Connection
from accord.transport import child
from accord.workspace import commands
from tests.limits import limit

__all__ = ["short_graces"]


@pytest.fixture
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long it is waited for is not the subject."""
    functions: tuple[Any, ...] = (Connection.__init__, child.spawn, commands.start_command)
    for function in functions:
        monkeypatch.setitem(function.__kwdefaults__, "grace_seconds", limit(0.1))
    monkeypatch.setattr(child, "TERMINATE_SECONDS", limit(0.1))
