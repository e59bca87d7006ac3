"""The pane below the conversation with the agent's stderr, the log and the wire."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.text import Text
from textual.containers import Vertical, VerticalScroll

from accord.cli.chat.agent_log import MAX_LINE_CHARS, AgentLog, LogLine, Source
from accord.cli.chat.lines import Lines
from accord.cli.chat.widgets import MUTED, StaticText, label, styled
from accord.display import clip, filled, own

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
