"""The log of a chat (the agent's stderr, the log of this program, the texts on the wire), and its pane."""

from __future__ import annotations

import codecs
import contextlib
import logging
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from rich.text import Text
from textual.containers import Vertical, VerticalScroll

from accord.cli.chat.lines import Lines
from accord.cli.chat.widgets import MUTED, StaticText, label, styled
from accord.cli.status import SafeFormatter
from accord.display import SafeText, clip, filled, own, prose_line

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


# --- the pane

SHOWN_LINES = 300
_STYLES: dict[Source, str] = {"stderr": "bold", "log": "italic", "wire": "dim"}


class LogPane(Vertical):
    """The lines, the newest in view."""

    DEFAULT_CSS = """
    LogPane { display: none; height: 40%; min-height: 5; border-top: solid $primary 40%; }
    LogPane.-shown { display: block; }
    LogPane > .log--title { height: 1; width: 1fr; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    LogPane VerticalScroll { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    def __init__(self, log: AgentLog) -> None:
        super().__init__()
        self._log = log
        self._source: Source | None = None
        self._shown_count = -1
        self._title = StaticText(classes="log--title")
        self._lines = Lines()
        self._scroll = VerticalScroll(self._lines)

    def compose(self) -> Iterator[StaticText | VerticalScroll]:
        """The sources, and their lines."""
        yield self._title
        yield self._scroll

    @property
    def is_shown(self) -> bool:
        return self.has_class("-shown")

    @property
    def text(self) -> str:
        """The lines that are shown."""
        return self._lines.text

    def toggle(self, source: Source | None = None) -> None:
        """Show the lines of a source, or of all; hide them where they are shown."""
        hides = self.is_shown and source in {None, self._source}
        self.set_class(not hides, "-shown")
        self._source, self._shown_count = source, -1
        self.follow()
        if not hides:
            self._scroll.anchor()

    def follow(self) -> None:
        """Show the new lines; does nothing while the pane is hidden."""
        if not self.is_shown or self._shown_count == self._log.count:
            return
        self._shown_count = self._log.count
        found = self._log.lines(self._source)
        parts = [(own("stderr, log and wire") if self._source is None else filled("{}", self._source), "bold")]
        parts.append((own("   F2 closes · /log stderr, /log log, /log wire show one of them"), MUTED))
        self._title.update(label(*parts))
        self._lines.show([_row(line) for line in found[-SHOWN_LINES:]] or [styled((own("(nothing yet)"), "dim"))])


def _row(line: LogLine) -> Text:
    head = filled("{} {:<6} ", time.strftime("%H:%M:%S", time.localtime(line.at)), line.source)
    return styled((head, _STYLES[line.source]), (clip(line.text, MAX_LINE_CHARS), ""))
