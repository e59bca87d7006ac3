from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile import meter


@pytest.fixture(scope="session", autouse=True)
def meter_ends() -> Iterator[None]:
    """The process that runs the command ends with the tests."""
    yield
    meter.close()
