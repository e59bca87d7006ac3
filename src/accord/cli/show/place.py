"""Paths as somebody in a directory calls them."""

from __future__ import annotations

from pathlib import PurePath

__all__ = ["place_of"]


def place_of(path: str, cwd: str) -> str:
    """The path from the directory on, if it is below that; otherwise as it is."""
    place = PurePath(path)
    if cwd and place.is_absolute() and place.is_relative_to(cwd):
        return str(place.relative_to(cwd)) or "."
    return path
