"""A world for every test that wants one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.make(tmp_path)
