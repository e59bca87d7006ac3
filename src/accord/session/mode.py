"""Modes as a config option: the one with the category `mode`. v1 tells it twice, the others once."""

import msgspec

from accord.session.option import ConfigOption, Select

__all__ = ["mode_option", "with_mode"]


def mode_option(options: list[ConfigOption]) -> Select | None:
    """The option that stands for the mode."""
    return next((option for option in options if isinstance(option, Select) and option.category == "mode"), None)


def with_mode(options: list[ConfigOption], mode: str) -> list[ConfigOption] | None:
    """The options with another mode; None where nothing changes, because it is that mode already or there is none."""
    stands = mode_option(options)
    if stands is None or stands.value == mode:
        return None
    return [msgspec.structs.replace(option, value=mode) if option is stands else option for option in options]
