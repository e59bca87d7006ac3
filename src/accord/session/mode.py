"""Modes and models as config options; v1 agents may send them twice, or in older shapes only."""

import msgspec

from accord.protocol.model import Unknown
from accord.session.client_requests import SetMode, SetModel, SetOption
from accord.session.option import ConfigOption, Select, Toggle

__all__ = ["MADE_FROM", "mode_option", "setting_request", "with_made", "with_mode"]

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
    named = [option for option in options if not isinstance(option, Unknown)]
    ids, categories = {option.id for option in named}, {option.category for option in named}
    return options + [
        option
        for option in before
        if isinstance(option, Select)
        and MADE_FROM in (option.meta or {})
        and option.id not in ids
        and option.category not in categories
    ]


def setting_request(session_id: str, option: Select | Toggle, value: str | bool) -> SetOption | SetMode | SetModel:  # noqa: FBT001 - the value of a toggle
    """The request for another value of an option; an older one where the agent sent the option in an older shape."""
    match (option.meta or {}).get(MADE_FROM):
        case "modes":
            return SetMode(session_id, str(value))
        case "models":
            return SetModel(session_id, str(value))
        case _:
            return SetOption(session_id, option.id, value)
