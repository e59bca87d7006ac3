"""Knows the byte order mark that some writers put before their first text."""

from __future__ import annotations

from codecs import BOM_UTF8 as BOM

__all__ = ["BOM", "strip_bom"]


def strip_bom(opening: bytes) -> bytes | None:
    """The opening of a stream without its mark, or None while it is too short to tell."""
    if len(opening) < len(BOM) and BOM.startswith(opening):
        return None
    return opening.removeprefix(BOM)
