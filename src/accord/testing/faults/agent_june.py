"""The conforming agents of June's v2 by hand: one with no capability but sessions, and one with all."""

from __future__ import annotations

from accord.testing.faults.full_june import FullJune
from accord.testing.faults.plain_june import PlainJune

__all__ = ["FullJune", "PlainJune"]
