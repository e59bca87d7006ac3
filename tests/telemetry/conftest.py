"""The providers of a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.telemetry.rig import Telemetry, provided


@pytest.fixture
def telemetry(tmp_path: Path) -> Iterator[Telemetry]:
    with provided(tmp_path) as recorded:
        yield recorded
