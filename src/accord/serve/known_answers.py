"""Answers to `initialize` that an agent gave a moment ago: a further client with the same words gets the same at once.

So a connection that is opened and not used has no agent behind it. Whether an answer is still right is not known, so it
is kept for seconds only: the client gets the answer of a client that came a little earlier.
"""

from __future__ import annotations

import json
import time
from typing import Any

from accord.time_scale import scaled

__all__ = ["KnownAnswers", "key_of"]

KEPT_SECONDS = scaled(10.0)
MAX_ANSWERS = 64
MAX_KEY_CHARACTERS = 8192


class KnownAnswers:
    """Answers by the params of `initialize`."""

    def __init__(self) -> None:
        self._answers: dict[str, tuple[float, bytes]] = {}

    def find(self, key: str) -> bytes | None:
        """The answer, under whatever id; None if it is not known, or too old."""
        given_at, answer = self._answers.get(key, (0.0, b""))
        return answer if answer and time.monotonic() - given_at < KEPT_SECONDS else None

    def note(self, key: str, answer: bytes) -> None:
        """The agent has just given this answer."""
        if len(key) > MAX_KEY_CHARACTERS:
            return
        self._answers.pop(key, None)
        if len(self._answers) >= MAX_ANSWERS:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = time.monotonic(), answer


def key_of(params: dict[str, Any]) -> str:
    """The key of the params of an `initialize`."""
    return json.dumps(params)
