"""The judges of clients; importing a room registers them."""

from __future__ import annotations

from accord.check.client.judges import asking, files, lines, opening, prompting, terminals, tolerance

__all__ = ["asking", "files", "lines", "opening", "prompting", "terminals", "tolerance"]
