"""The transcript of a session at any message of a trace, by checkpoints.

A checkpoint is the session as it was after some message. The transcript at a message is made of the last checkpoint
before it and the messages since, so it costs at most as many messages as lie between two checkpoints.
"""

from __future__ import annotations

import pickle
from bisect import bisect_right
from weakref import WeakKeyDictionary

from accord.session.transcript import Transcript
from accord.trace.conversation import SessionConversation, TraceEditions, client_rows
from accord.trace.index import TraceIndex

__all__ = ["TraceTranscripts", "transcript_at"]

CHECKPOINT_MESSAGES = 1_000
MAX_CHECKPOINTS = 32
"""Beyond that every second one is dropped, and the distance doubles: memory stays bounded for any length."""


class _Checkpoints:
    """The checkpoints of one session."""

    def __init__(self) -> None:
        self.distance = CHECKPOINT_MESSAGES
        self._kept: dict[int, bytes] = {}

    def before(self, position: int) -> tuple[int, bytes | None]:
        """The last checkpoint at or before a number of messages; 0 and None where there is none."""
        best = max((each for each in self._kept if each <= position), default=0)
        return best, self._kept.get(best)

    def keep(self, position: int, session: SessionConversation) -> None:
        if position % self.distance or position in self._kept:
            return
        self._kept[position] = pickle.dumps(session, pickle.HIGHEST_PROTOCOL)
        if len(self._kept) > MAX_CHECKPOINTS:
            self.distance *= 2
            self._kept = {place: kept for place, kept in self._kept.items() if place % self.distance == 0}


class TraceTranscripts:
    """The transcripts of a trace's sessions at any message; remembers checkpoints between calls."""

    def __init__(self, index: TraceIndex) -> None:
        self._index = index
        self._editions = TraceEditions(index)
        self._checkpoints: dict[str, _Checkpoints] = {}
        self._rows: dict[str, tuple[int, list[int]]] = {}
        self.folded = 0
        """How many messages were folded by the last call."""

    def at(self, row: int, session: str, *, is_last: bool = False) -> Transcript:
        """The transcript of a session after the message of a row; empty for a session that is not there yet.

        With `is_last` no checkpoints are kept: they take more time than the messages, and no later call uses them.
        """
        rows = self._rows_of(session)
        position = bisect_right(rows, row)
        checkpoints = self._checkpoints.setdefault(session, _Checkpoints())
        start, kept = checkpoints.before(position)
        # Ours, made by this process above.
        found = SessionConversation(self._editions) if kept is None else pickle.loads(kept)  # noqa: S301
        found.attach(self._editions)
        for place in range(start, position):
            found.feed(self._index, rows[place])
            if not is_last:
                checkpoints.keep(place + 1, found)
        self.folded = position - start
        transcript: Transcript = found.transcript
        return transcript

    def _rows_of(self, session: str) -> list[int]:
        count, rows = self._rows.get(session, (0, []))
        if count != len(self._index):
            rows = client_rows(self._index, session)
            self._rows[session] = (len(self._index), rows)
        return rows


_TRANSCRIPTS: WeakKeyDictionary[TraceIndex, TraceTranscripts] = WeakKeyDictionary()


def transcript_at(trace: TraceIndex, message: int, session: str) -> Transcript:
    """The transcript of a session after a message of a trace, by its row.

    The first call folds all messages before it and keeps checkpoints; later calls begin at the last checkpoint.
    """
    if trace not in _TRANSCRIPTS:
        _TRANSCRIPTS[trace] = TraceTranscripts(trace)
    return _TRANSCRIPTS[trace].at(message, session)
