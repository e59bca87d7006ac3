from __future__ import annotations

from tests.forked_interpreters import forked_interpreters

__all__ = ["forked_interpreters"]
