"""The check of clients: an agent that we play, what it does with them, and who judges what came of it."""

from __future__ import annotations

from accord.check.client.check import check_client

__all__ = ["check_client"]
