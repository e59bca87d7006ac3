"""What there is to choose from, as lines to pick one of: options, their values, modes, sessions, ways to log in."""

from __future__ import annotations

from collections.abc import Sequence

from accord.cli.chat.bars import value_name
from accord.cli.chat.dialogs.picker import Item
from accord.display import exact, filled
from accord.protocol.model import Unknown
from accord.session.ask import SessionSummary
from accord.session.capability import AuthMethod
from accord.session.mode import mode_option
from accord.session.option import ConfigOption, Select

__all__ = ["choice_items", "login_items", "next_mode", "option_items", "session_items"]


def option_items(options: Sequence[ConfigOption]) -> list[Item]:
    """The options with their values."""
    return [
        Item(option.id, filled("{}: {}", option.name, value_name(option)), option.description or "")
        for option in options
        if not isinstance(option, Unknown)
    ]


def choice_items(option: Select | object) -> list[Item]:
    """The values of an option, under their headings."""
    if not isinstance(option, Select):
        return []
    items = [Item(choice.value, exact(choice.name), choice.description or "") for choice in option.choices]
    for group in option.groups:
        items += [
            Item(each.value, filled("{} / {}", group.name, each.name), each.description or "") for each in group.choices
        ]
    return items


def next_mode(options: list[ConfigOption]) -> tuple[str, str] | None:
    """The option of the mode, and the value after the present one."""
    option = mode_option(options)
    values = [] if option is None else option.values()
    if option is None or len(values) < 2:  # noqa: PLR2004 - one mode is none to choose
        return None
    at = values.index(option.value) if option.value in values else -1
    return option.id, values[(at + 1) % len(values)]


def session_items(sessions: Sequence[SessionSummary]) -> list[Item]:
    """The sessions by title and time."""
    return [
        Item(each.id, exact(each.title or each.id), _when(each.updated_at) if each.updated_at else "")
        for each in sessions
    ]


def _when(moment: str) -> str:
    """`2026-01-31T12:00:00Z` as people read it; whatever else stands there, as it is."""
    return moment[:16].replace("T", " ") if len(moment) > 16 else moment  # noqa: PLR2004 - up to the minutes


def login_items(methods: Sequence[AuthMethod]) -> list[Item]:
    """The ways to log in."""
    places = {"terminal": "in this terminal"}
    return [
        Item(each.id, exact(each.name), " · ".join(part for part in (places.get(each.type), each.description) if part))
        for each in methods
    ]
