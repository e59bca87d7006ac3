"""Knows how a place in the list of sessions is said in one opaque word."""

from __future__ import annotations

import base64
import json

from accord.errors import StoreError

__all__ = ["decode_cursor", "encode_cursor"]


def encode_cursor(updated_at: float, session_id: str) -> str:
    """The cursor for what comes behind that session."""
    return base64.urlsafe_b64encode(json.dumps([updated_at, session_id]).encode("ascii")).decode("ascii")


def decode_cursor(cursor: str) -> tuple[float, str]:
    """The last session of the page before: when it was updated, and its id.

    Raises:
        StoreError: `bad_cursor`: nobody was ever given this one.
    """
    try:
        updated_at, session_id = json.loads(base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True))
        # Only the very words that `encode_cursor` would say again are ours: no other types, no further blanks.
        genuine = encode_cursor(float(updated_at), session_id) == cursor and isinstance(session_id, str)
    except (ValueError, TypeError, RecursionError):
        genuine = False
    if not genuine:
        raise StoreError("the cursor is not one that this list has given", reason="bad_cursor")
    return float(updated_at), session_id
