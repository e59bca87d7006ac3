"""The two lines at the edges: who is spoken to in what settings, and what goes on, with usage and cost."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static

from accord.cli.chat.plain import MUTED, count, label, one_line
from accord.protocol.model import Unknown
from accord.session.event import Cost, UsageChanged
from accord.session.option import ConfigOption, Select

__all__ = ["StatusBar", "StatusFacts", "TitleBar", "settings_words", "usage_words"]

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SHOWN_CATEGORIES = ("mode", "model", "thought_level")


class TitleBar(Static):
    """The first line."""

    DEFAULT_CSS = """
    TitleBar {
        dock: top; height: 1; background: $primary 30%; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    def follow(self, agent: str, edition: str | None, title: str | None, settings: str) -> None:
        """Say who it is; the session's title gives way where there is no room."""
        who = label((one_line(agent, 40), "bold"), (f" · {edition}" if edition else "", MUTED))
        end = label((one_line(settings, 60), ""))
        room = max(self.size.width - 2 - who.cell_length - end.cell_length - 3, 0)
        name = label((one_line(title, max(room - 3, 1)), "italic")) if title and room > 8 else Content("")  # noqa: PLR2004
        middle = Content.assemble(" · ", name) if name else name
        gap = " " * max(1, self.size.width - 2 - who.cell_length - middle.cell_length - end.cell_length)
        self.update(Content.assemble(who, middle, gap, end))


def settings_words(options: list[ConfigOption]) -> str:
    """The values that people look for: mode, model."""
    words = []
    for category in SHOWN_CATEGORIES:
        for option in options:
            if isinstance(option, Select) and option.category == category:
                words.append(value_name(option))
                break
    return " · ".join(words)


def value_name(option: ConfigOption) -> str:
    """What an option's value is called."""
    if isinstance(option, Unknown):
        return "?"
    if isinstance(option, Select):
        choices = [*option.choices, *(choice for group in option.groups for choice in group.choices)]
        return next((choice.name for choice in choices if choice.value == option.value), option.value)
    return "on" if option.value else "off"


def usage_words(usage: UsageChanged | None) -> str:
    """How full the context is, and what it has cost."""
    if usage is None:
        return ""
    words = f"{count(usage.used)}/{count(usage.size)}"
    if usage.size > 0:
        words += f" {usage.used * 100 // usage.size}%"
    cost = usage.cost
    if isinstance(cost, Cost):
        amount = f"{cost.amount:.2f}" if cost.amount >= 0.1 or not cost.amount else f"{cost.amount:.4f}"  # noqa: PLR2004
        words += f" · ${amount}" if cost.currency == "USD" else f" · {amount} {one_line(cost.currency, 8)}"
    return words


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """What the last line says."""

    doing: str
    is_busy: bool = False
    seconds: float = 0.0
    queued: int = 0
    usage: str = ""
    hint: str = ""


class StatusBar(Static):
    """The last line."""

    DEFAULT_CSS = """
    StatusBar { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def follow(self, facts: StatusFacts) -> None:
        """Say what goes on."""
        mark = SPINNER[int(facts.seconds * 8) % len(SPINNER)] if facts.is_busy else "●"
        parts = [(f"{mark} ", "$warning" if facts.is_busy else "$success"), (facts.doing, "")]
        if facts.is_busy:
            parts.append((f" {facts.seconds:.0f} s", ""))
        if facts.queued:
            parts.append((f" · {facts.queued} queued", "$accent"))
        if facts.hint:
            parts.append((f" · {facts.hint}", ""))
        left, right = label(*parts), label((facts.usage, ""))
        gap = " " * max(1, self.size.width - 2 - left.cell_length - right.cell_length)
        self.update(Content.assemble(left, gap, right))
