"""Modes as a config option: the one with the category `mode`. v1 writes it twice, the others once."""

import msgspec

from accord.protocol.model import Unknown
from accord.session.option import ConfigOption, Select

__all__ = ["MADE_FROM", "mode_option", "with_made", "with_mode"]

MADE_FROM = "accord/made-from"
"""A key in the metadata of an option that its agent sent only in v1's older shapes: `modes`, `models`."""


def mode_option(options: list[ConfigOption]) -> Select | None:
    """The option that stands for the mode."""
    return next((option for option in options if isinstance(option, Select) and option.category == "mode"), None)


def with_mode(options: list[ConfigOption], mode: str) -> list[ConfigOption] | None:
    """The options with another mode; None where nothing changes, because it is that mode already or there is none."""
    stands = mode_option(options)
    if stands is None or stands.value == mode:
        return None
    return [msgspec.structs.replace(option, value=mode) if option is stands else option for option in options]


def with_made(options: list[ConfigOption], before: list[ConfigOption]) -> list[ConfigOption]:
    """New options, with those that were made before: an agent that does not know them cannot repeat them."""
    told = [option for option in options if not isinstance(option, Unknown)]
    ids, categories = {option.id for option in told}, {option.category for option in told}
    return options + [
        option
        for option in before
        if isinstance(option, Select)
        and MADE_FROM in (option.meta or {})
        and option.id not in ids
        and option.category not in categories
    ]
