from __future__ import annotations

from pathlib import Path

import pytest

from tests.forked_interpreters import forked_interpreters

__all__ = ["forked_interpreters"]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal of a check lies in a folder of the test: tests check the same agents at the same time."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-of-the-check"))
