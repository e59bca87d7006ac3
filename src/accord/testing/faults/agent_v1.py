"""The conforming agents of v1 by hand: one with no capability, and one with all."""

from __future__ import annotations

from accord.testing.faults.full_v1 import FullV1
from accord.testing.faults.plain_v1 import PlainV1

__all__ = ["FullV1", "PlainV1"]
