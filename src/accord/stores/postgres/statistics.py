"""Counts of a store's commits and failures since its start, for the metrics of a server."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from accord.errors import StoreError

__all__ = ["StoreStatistics"]


@dataclass
class StoreStatistics:
    """Changed on the threads of the store, read on any."""

    commits: int = 0
    """Successful commits of events."""
    commit_seconds: float = 0.0
    """The time that they took in all."""
    errors: Counter[str] = field(default_factory=Counter)
    """Failed statements and refused writes, by the `reason` of their `StoreError`."""

    @contextlib.contextmanager
    def counting(self, *, commits: bool = False) -> Iterator[None]:
        """Count what happens in the block."""
        began = time.monotonic()
        try:
            yield
        except StoreError as error:
            self.errors[error.reason] += 1
            raise
        self.commits += commits
        self.commit_seconds += time.monotonic() - began if commits else 0.0
