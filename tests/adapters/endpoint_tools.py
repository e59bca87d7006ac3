"""The tools of the agents behind AG-UI endpoints, as plain functions: a server knows nothing of an editor's turn."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tests.adapters.adapter_contract import BEGUN

__all__ = ["FOLDER", "delete_file", "read_file", "sleep"]

FOLDER = "ACCORD_ENDPOINT_FOLDER"
"""The variable that names the folder of the tools."""


def _place(path: str) -> Path:
    return Path(os.environ[FOLDER], path)


async def delete_file(path: str) -> str:
    """Delete a file.

    Args:
        path: The file.
    """
    _place(path).unlink(missing_ok=True)  # the checker asks for it several times
    return "removed"


async def read_file(path: str) -> str:
    """Read a file.

    Args:
        path: The file.
    """
    return _place(path).read_text(encoding="utf-8")


async def sleep() -> str:
    """Sleep for an hour."""
    _place(BEGUN).touch()
    await asyncio.sleep(3600)
    return "slept"
