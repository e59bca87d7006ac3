"""The config options of a session: their choices and current values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from accord.errors import InvalidParams
from accord.session.option import ConfigOption, Select, Toggle, mode_option

__all__ = ["OptionValue", "Settings"]

OptionValue: TypeAlias = str | bool
"""One of a select's values, or on and off."""


class Settings:
    def __init__(self, options: Iterable[ConfigOption]) -> None:
        self.options: list[ConfigOption] = list(options)

    def get(self, option_id: str) -> OptionValue:
        """The value of an option.

        Raises:
            KeyError: There is no such option.
        """
        for option in self.options:
            if isinstance(option, Select | Toggle) and option.id == option_id:
                return option.value
        raise KeyError(option_id)

    def check(self, option_id: str, value: OptionValue) -> None:
        """Check that an option can have a value.

        Raises:
            InvalidParams: There is no such option, or no such value; the message lists those that exist.
        """
        known = [option for option in self.options if isinstance(option, Select | Toggle)]
        option = next((each for each in known if each.id == option_id), None)
        if option is None:
            names = ", ".join(each.id for each in known)
            expected = f"one of {names}" if names else "none: this agent has no options"
            raise InvalidParams("There is no such option", {"field": "configId", "expected": expected})
        if isinstance(option, Toggle):
            if not isinstance(value, bool):
                raise InvalidParams("This option is on or off", {"field": "value", "expected": "true or false"})
        elif value not in option.values():
            expected = f"one of {', '.join(option.values())}"
            raise InvalidParams("This option has no such value", {"field": "value", "expected": expected})

    def set(self, option_id: str, value: OptionValue) -> bool:
        """Give an option a value that was checked; whether that changed anything."""
        for place, option in enumerate(self.options):
            if isinstance(option, Select | Toggle) and option.id == option_id:
                if option.value == value:
                    return False
                self.options[place] = msgspec.structs.replace(option, value=value)
                return True
        return False

    def restore(self, kept: Iterable[ConfigOption]) -> None:
        """Take over the values of an earlier run, as far as they are still possible."""
        for option in kept:
            if isinstance(option, Select | Toggle):
                try:
                    self.check(option.id, option.value)
                except InvalidParams:
                    continue
                self.set(option.id, option.value)

    @property
    def mode(self) -> Select | None:
        return mode_option(self.options)

    @property
    def model(self) -> Select | None:
        return next((each for each in self.options if isinstance(each, Select) and each.category == "model"), None)
