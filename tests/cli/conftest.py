"""The fixtures of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Accord
from tests.graces import short_graces

__all__ = ["accord", "short_graces"]


@pytest.fixture
def accord(tmp_path: Path) -> Accord:
    """The command, with nothing in its home."""
    return Accord(tmp_path)
