"""What agents do with clients; importing a room registers its parts."""

from __future__ import annotations

from accord.check.client.parts import asking, cancelling, files, terminals, tolerance, unoffered

__all__ = ["asking", "cancelling", "files", "terminals", "tolerance", "unoffered"]
