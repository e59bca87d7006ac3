"""The log of a chat beside its conversation: the agent's stderr, the log of this program, and the texts on the wire.

Kept while the chat runs, the last lines of each, in a form that a screen may show.
"""

from __future__ import annotations

import codecs
import contextlib
import logging
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from accord.cli.status import SafeFormatter
from accord.display import SafeText, prose_line

Source: TypeAlias = Literal["stderr", "log", "wire"]
SOURCES: tuple[Source, ...] = get_args(Source)
MAX_LINES = 1_000
MAX_LINE_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line, and when it came, in seconds since 1970."""

    number: int
    source: Source
    at: float
    text: SafeText


class AgentLog:
    """The last lines of every source. They are sanitized when they are shown: most of them never are."""

    def __init__(self) -> None:
        self._lines: dict[Source, deque[tuple[int, float, str | bytes]]] = {
            source: deque(maxlen=MAX_LINES) for source in SOURCES
        }
        self._wire = self._lines["wire"]
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self.count = 0
        """How many lines there were."""

    def add(self, source: Source, text: str) -> None:
        self.count += 1
        self._lines[source].append((self.count, time.time(), text[:MAX_LINE_CHARS]))

    def add_stderr(self, data: bytes) -> None:
        """Add bytes; a line is added when it is complete, or when it exceeds the limit."""
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            self.add("stderr", line)
        if len(self._rest) > MAX_LINE_CHARS:
            self.add("stderr", self._rest)
            self._rest = ""

    def add_wire(self, direction: str, text: bytes | bytearray) -> None:
        """Add one text; called for every message, so it only stores it."""
        self.count += 1
        mark = b"\xe2\x86\x92 " if direction == "out" else b"\xe2\x86\x90 "
        self._wire.append((self.count, time.time(), mark + text[:MAX_LINE_CHARS]))

    def lines(self, source: Source | None = None) -> list[LogLine]:
        """Those of one source, or all in their order."""
        found = [
            LogLine(number, each, at, _safe(text))
            for each in (SOURCES if source is None else (source,))
            for number, at, text in self._lines[each]
        ]
        return sorted(found, key=lambda line: line.number)

    def stderr_since(self, number: int) -> list[SafeText]:
        """The agent's stderr after so many lines, with the incomplete last line."""
        texts = [_safe(text) for each, _, text in self._lines["stderr"] if each > number]
        return [*texts, _safe(self._rest)] if self._rest else texts

    @contextlib.contextmanager
    def capturing(self) -> Iterator[None]:
        """Capture the log of this program, which would otherwise be written across the screen."""
        root, ours = logging.getLogger(), logging.getLogger("accord")
        before, level = root.handlers[:], ours.level
        root.handlers = [_Handler(self)]
        if ours.getEffectiveLevel() > logging.INFO:
            ours.setLevel(logging.INFO)
        try:
            yield
        finally:
            root.handlers = before
            ours.setLevel(level)


def _safe(text: str | bytes) -> SafeText:
    return prose_line(text if isinstance(text, str) else text.decode("utf-8", "replace"), MAX_LINE_CHARS)


class _Handler(logging.Handler):
    def __init__(self, log: AgentLog) -> None:
        super().__init__()
        self._log = log
        self.setFormatter(SafeFormatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """One line per line of the record."""
        try:
            for line in self.format(record).split("\n"):
                self._log.add("log", line)
        except Exception:  # noqa: BLE001 - as every handler does
            self.handleError(record)
