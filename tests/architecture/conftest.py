from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.sources import sources


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """The parsed modules go with the last test of this folder: every fork of the process would copy their pages."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        sources.cache_clear()
