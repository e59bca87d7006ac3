"""The fixtures of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Accord


@pytest.fixture
def accord(tmp_path: Path) -> Accord:
    """The command, with nothing in its home."""
    return Accord(tmp_path)
