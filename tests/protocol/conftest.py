"""The official schemas, for the tests that need them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def schemas() -> Path:
    """The folder with the official schema files (`v1/schema.json` and so on)."""
    folder = os.environ.get("ACCORD_SCHEMAS")
    if not folder:
        pytest.skip(
            "the official schemas are missing: set ACCORD_SCHEMAS to a folder with v1/schema.json and the others"
        )
    return Path(folder)
